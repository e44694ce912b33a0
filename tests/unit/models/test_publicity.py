"""The private corpus is refused as text for a tokenizer, however it is disguised."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.models.public_text import refuse_same_file, train_on_public
from sfumato.text.document import Document

PRIVATE = [
    f"Patient {number} was seen on the ward and discharged in good health." for number in range(9)
]
PUBLIC = [
    f"The {number}th chapter is about whales and how they were hunted then." for number in range(9)
]


def documents(texts: list[str]) -> list[Document]:
    return [Document(text) for text in texts]


def test_other_text_is_accepted() -> None:
    tokenizer = train_on_public(documents(PUBLIC), private=documents(PRIVATE), size=300)
    assert len(tokenizer.encode(" whales")) < len(" whales")


@pytest.mark.parametrize("shared", [PRIVATE, [PRIVATE[4]], [f"  {PRIVATE[4]}\n"]])
def test_a_document_of_the_private_corpus_is_refused_by_its_number(shared: list[str]) -> None:
    with pytest.raises(InvalidArgument, match="also a document of the private corpus") as caught:
        train_on_public(documents([*PUBLIC, *shared]), private=documents(PRIVATE), size=300)
    assert "document 10 " in str(caught.value)
    assert "Patient" not in str(caught.value)


def test_a_copy_in_another_format_is_refused(tmp_path: Path) -> None:
    plain, packed = tmp_path / "private.txt", tmp_path / "public.txt.gz"
    plain.write_text("\n".join(PRIVATE), encoding="utf-8")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    sources = [Source.of(path, Layout()) for path in (packed, plain)]
    with pytest.raises(InvalidArgument, match="document 1 "):
        train_on_public(sources[0].documents(), private=sources[1].documents(), size=300)


def test_short_texts_may_occur_in_both() -> None:
    both = documents([*PUBLIC, "Thank you.", ""])
    assert train_on_public(both, private=documents([*PRIVATE, "Thank you.", ""]), size=300).size


def test_one_file_under_two_names_is_refused(tmp_path: Path) -> None:
    corpus, link, other = tmp_path / "corpus.txt", tmp_path / "link.txt", tmp_path / "other.txt"
    corpus.write_text("x")
    other.write_text("x")
    link.symlink_to(corpus)
    os.link(corpus, tmp_path / "hard.txt")
    for name in ("corpus.txt", "link.txt", "hard.txt"):
        with pytest.raises(InvalidArgument, match="is the private corpus itself"):
            refuse_same_file(tmp_path / name, corpus)
    refuse_same_file(other, corpus)
    refuse_same_file(tmp_path / "missing.txt", corpus)
