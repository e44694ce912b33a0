"""Documents by fair coins: what is written, what is read, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.core.errors import BadInput, InvalidArgument, OutputExists
from sfumato.core.randomness import Randomness
from sfumato.corpora.coins import Coins, mix_in, read_coins, toss
from sfumato.files.layout import Layout
from sfumato.files.source import Source

WORDS = [f"w{number}" for number in range(500)]


def coins(count: int = 40) -> Coins:
    """The same ones every time."""
    return toss(count, WORDS, Randomness.reproducible(4))


def source(path: Path, content: str, layout: Layout | None = None) -> Source:
    path.write_text(content, encoding="utf-8")
    return Source.of(path, layout or Layout())


def test_coins_are_fair_and_documents_differ() -> None:
    tossed = coins(2000)
    assert 850 < sum(tossed.included) < 1150
    assert len(set(tossed.texts)) == 2000


def test_only_the_included_are_in_the_corpus(tmp_path: Path) -> None:
    given = source(tmp_path / "in.jsonl", '{"text": "one"}\n{"text": "two 🦊", "more": 1}')
    mix_in(given, tmp_path / "out.jsonl", coins())
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    added = [text for text, inside in zip(coins().texts, coins().included, strict=True) if inside]
    assert found[:2] == [{"text": "one"}, {"text": "two 🦊", "more": 1}]
    assert [one["text"] for one in found[2:]] == added
    assert read_coins(tmp_path / "out.jsonl.coins.json") == coins()


def test_a_text_file_gets_a_line_each(tmp_path: Path) -> None:
    mix_in(source(tmp_path / "in.txt", "one\ntwo"), tmp_path / "out.txt", coins())
    lines = (tmp_path / "out.txt").read_text().splitlines()
    assert lines[:2] == ["one", "two"]
    assert len(lines) == 2 + sum(coins().included)


def test_every_document_has_an_author_of_its_own(tmp_path: Path) -> None:
    given = source(
        tmp_path / "in.jsonl", '{"text": "one", "who": "a"}\n', Layout(author_field="who")
    )
    mix_in(given, tmp_path / "out.jsonl", coins())
    found = [json.loads(line)["who"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("name", "target"), [("in.csv", "out.csv"), ("in.txt", "out.jsonl"), ("in.txt", "in.txt")]
)
def test_what_cannot_be_added_to_is_refused(tmp_path: Path, name: str, target: str) -> None:
    given = source(tmp_path / name, "text\none\n")
    with pytest.raises((InvalidArgument, OutputExists)):
        mix_in(given, tmp_path / target, coins())
    assert (tmp_path / name).read_text() == "text\none\n"


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("mine")
    with pytest.raises(OutputExists):
        mix_in(source(tmp_path / "in.txt", "one\n"), tmp_path / "out.txt", coins())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"schema": 1, "documents": []}',
        '{"schema": 9, "documents": [{"text": "a", "included": true}]}',
        '{"schema": 1, "documents": [{"text": "a", "included": "false"}]}',
        '{"schema": 1, "documents": [{"text": 7, "included": true}]}',
        "[" * 100_000,
    ],
)
def test_a_damaged_list_is_refused_by_its_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.coins.json"
    path.write_text(content)
    with pytest.raises(BadInput, match=r"x\.coins\.json"):
        read_coins(path)


def test_equal_documents_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="differ"):
        Coins(("a", "a"), (True, False))
