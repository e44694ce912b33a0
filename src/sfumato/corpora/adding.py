"""Adding made-up documents to the end of a corpus, all else byte for byte as it was."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sfumato.core.errors import InvalidArgument
from sfumato.corpora.documents import Document
from sfumato.corpora.edits import Edited
from sfumato.corpora.formats.choose import of_path
from sfumato.corpora.source import Source
from sfumato.corpora.writing import written

FORMATS = ("txt", "jsonl")


def add_documents(
    source: Source, target: Path, documents: Iterable[Document], *, overwrite: bool = False
) -> None:
    """Write the corpus with more documents at its end.

    Where a document stands means nothing in training, which draws its records at random. Author and
    label go into the fields that the layout names.
    """
    last = b"\n"
    with source.opened() as (chunks, _), written(target, overwrite=overwrite) as output:
        for chunk in chunks:
            content = chunk.rewritten([Edited(one.text) for one in chunk.documents()])
            output.write(content)
            last = content[-1:] or last
        output.write(b"" if last == b"\n" else b"\n")
        for document in documents:
            output.write(_line(document, source))


def refuse_adding(source: Source, target: Path) -> None:
    """Say no, before anything is written, where a line cannot simply be added."""
    if source.path is None or source.format.name not in FORMATS or source.layout.whole_file:
        raise InvalidArgument(
            "documents are added to jsonl, or to a text file with a document per line, on disk"
        )
    if source.layout.encoding.lower().replace("_", "-") not in {"utf-8", "utf8", "utf-8-sig"}:
        raise InvalidArgument("documents are added to files in utf-8 only")
    wanted = of_path(target)
    if wanted is None or wanted.name != source.format.name:
        raise InvalidArgument(f"the input is {source.format.name} but {target.name} is not")
    if target.exists() and target.samefile(source.path):
        raise InvalidArgument(f"{target} is the input; write to another file")


def _line(document: Document, source: Source) -> bytes:
    if source.format.name == "txt":
        return f"{document.text}\n".encode()
    layout = source.layout
    record = {layout.field: document.text}
    if layout.author_field is not None and document.author is not None:
        record[layout.author_field] = document.author
    if layout.label_field is not None and document.labels:
        record[layout.label_field] = document.labels[0]
    return (json.dumps(record, ensure_ascii=False) + "\n").encode()
