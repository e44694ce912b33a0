"""Byte-pair encoding is learned from public text only; a disguised private corpus is refused."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.models.bpe import (
    SMALLEST,
    assemble_tokenizer,
    learn_merges,
    refuse_same_file,
    train_bpe,
    train_on_public,
)
from sfumato.text.document import Document

TEXTS = ["the cat sat on the mat", "the hat of the cat", "14 cats and 15 hats"] * 5
PRIVATE = [
    f"Patient {number} was seen on the ward and discharged in good health." for number in range(9)
]
PUBLIC = [
    f"The {number}th chapter is about whales and how they were hunted then." for number in range(9)
]


def test_private_text_is_refused_with_a_reason() -> None:
    with pytest.raises(InvalidArgument, match="private text; a vocabulary shows which strings"):
        train_bpe(["SECRET"], public=False)


def test_frequent_words_become_one_token() -> None:
    tokenizer = train_bpe(TEXTS, public=True, size=300)
    assert len(tokenizer.encode(" the")) == 1
    assert len(tokenizer.encode(" zebra")) > 3
    assert tokenizer.size <= 300


def test_numbers_never_become_one_token_however_frequent() -> None:
    tokenizer = train_bpe(["call 555 555 555"] * 50, public=True, size=400)
    assert len(tokenizer.encode("555")) == 3


def test_merges_alone_define_the_tokenizer() -> None:
    backend = learn_merges(TEXTS, size=300)
    merges = [(left, right) for left, right in json.loads(backend.to_str())["model"]["merges"]]
    again = assemble_tokenizer(merges)
    assert again.get_vocab() == backend.get_vocab()
    for text in (*TEXTS, "something else, 77 😀"):
        assert again.encode(text).ids == backend.encode(text).ids


def test_learning_twice_gives_the_same() -> None:
    assert learn_merges(TEXTS, size=300).to_str() == learn_merges(TEXTS, size=300).to_str()


@pytest.mark.parametrize("size", [0, SMALLEST - 1, 2.5, "many"])
def test_a_vocabulary_without_room_for_all_bytes_is_refused(size: int) -> None:
    with pytest.raises(InvalidArgument, match="size="):
        train_bpe(TEXTS, public=True, size=size)


@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_no_text_is_no_tokenizer(texts: list[str]) -> None:
    with pytest.raises(BadInput, match="no text to train a tokenizer on"):
        train_bpe(texts, public=True)


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
