"""The files that ``sfumato train`` reads: private text, text to measure on, public text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.corpora.documents import Document
    from sfumato.corpora.source import Source
    from sfumato.tokenizers.tokenizer import Tokenizer


def read_documents(source: Source) -> list[Document]:
    """All documents of a file, with a bar."""
    from sfumato.core.progress import progress

    with progress("reading", source.size) as advance, source.opened() as (chunks, place):
        documents = []
        for chunk in chunks:
            documents += chunk.documents()
            advance(place())
    return documents


def valid_documents(
    path: str, private: Source, file_format: str | None, classes: tuple[str, ...]
) -> list[Document]:
    """What is measured on at the end; not the private corpus, for the figures are written down."""
    from dataclasses import replace

    from sfumato.core.errors import BadInput, InvalidArgument
    from sfumato.corpora.source import Source

    source = Source.of(path, replace(private.layout, author_field=None), file_format=file_format)
    paths = [one.path for one in (source, private) if one.path is not None and one.path.exists()]
    if len(paths) == 2 and paths[0].samefile(paths[1]):
        raise InvalidArgument(
            f"--valid={path} is the private corpus itself, and what is measured is written to the "
            "folder of the run; 'sfumato evaluate' shows it to you alone"
        )
    documents = read_documents(source)
    if not any(document.text for document in documents):
        raise BadInput(f"--valid={path} holds no text")
    for number, document in enumerate(documents, start=1):
        if classes and (not document.labels or document.labels[0] not in classes):
            raise BadInput(f"document {number} of --valid={path} has none of the classes")
    return documents


def chosen_tokenizer(
    folder: str | None, public: str | None, private: Source, documents: list[Document]
) -> str | Tokenizer | None:
    """A tokenizer's folder, or a tokenizer learned from public text, if either is asked for."""
    from dataclasses import replace

    from sfumato.core.errors import InvalidArgument
    from sfumato.corpora.source import Source
    from sfumato.tokenizers.publicity import refuse_same_file, train_on_public

    if public is None:
        return folder
    if folder is not None:
        raise InvalidArgument("give --tokenizer or --tokenizer-corpus, not both")
    source = Source.of(public, replace(private.layout, author_field=None, label_field=None))
    if source.path is not None and private.path is not None:
        refuse_same_file(source.path, private.path)
    return train_on_public(source.documents(), private=documents)
