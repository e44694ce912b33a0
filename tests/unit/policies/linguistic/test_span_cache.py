"""The store of spans: gives back what was put in, reads nothing twice, and holds no text."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties.texts import many_spans
from sfumato.core.errors import StorageFailed
from sfumato.policies.linguistic.entities import Entities
from sfumato.policies.linguistic.presidio import Presidio
from sfumato.policies.linguistic.span_cache import SpanCache, _from_line, _line
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

SECRET = "Ann hid the xyzzyplugh in Paris"


class Counted:
    """Finds the first character, and counts the texts it was asked about."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[Spans]:
        self.texts += texts
        return [Spans.of([Span(0, 1, "FIRST", "test", f"{len(text)}")]) for text in texts]


def test_nothing_is_read_twice(tmp_path: Path) -> None:
    compute = Counted()
    store = SpanCache(tmp_path / "cache")
    first = store.filled(("a", "1"), ["x", "yy", "x"], compute)
    assert compute.texts == ["x", "yy"]
    assert [span.reason for spans in first for span in spans] == ["1", "2", "1"]
    again = SpanCache(tmp_path / "cache").filled(("a", "1"), ["yy", "x", "zzz"], compute)
    assert compute.texts == ["x", "yy", "zzz"]
    assert again[:2] == [first[1], first[0]]


def test_another_policy_or_model_is_another_entry(tmp_path: Path) -> None:
    compute = Counted()
    store = SpanCache(tmp_path)
    for identity in (("a", "1"), ("a", "2"), ("b", "1"), ("a", "11"), ("a1", "")):
        store.filled(identity, ["1x"], compute)
    assert len(compute.texts) == 5


def test_no_text_and_no_plain_hash_of_it_is_kept(entity_pipeline: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        Entities(model=str(entity_pipeline), cache=str(folder)).find(Document(SECRET))
    contents = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    for content in contents:
        assert set(content) == {"README", "key", "spans.jsonl"}
        for word in ("Ann", "xyzzyplugh", "Paris"):
            assert word.encode() not in content["spans.jsonl"]
    # Under another key the same document has another name.
    assert contents[0]["key"] != contents[1]["key"]
    assert contents[0]["spans.jsonl"] != contents[1]["spans.jsonl"]


def test_only_the_owner_can_look(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    SpanCache(folder).filled(("a",), ["x"], Counted())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_a_damaged_line_counts_as_missing(tmp_path: Path) -> None:
    compute = Counted()
    SpanCache(tmp_path).filled(("a",), ["x", "yy"], compute)
    path = tmp_path / "spans.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    found = SpanCache(tmp_path).filled(("a",), ["x", "yy"], compute)
    assert compute.texts == ["x", "yy", "yy"]
    assert [len(spans) for spans in found] == [1, 1]
    assert SpanCache(tmp_path).filled(("a",), ["x", "yy"], compute) == found
    assert compute.texts == ["x", "yy", "yy"]


def test_processes_that_open_it_together_agree_on_the_key(tmp_path: Path) -> None:
    first, second = SpanCache(tmp_path), SpanCache(tmp_path)
    compute = Counted()
    first.filled(("a",), ["x"], compute)
    second.filled(("a",), ["yy"], compute)
    SpanCache(tmp_path).filled(("a",), ["x", "yy"], compute)
    assert compute.texts == ["x", "yy"]
    assert not list(tmp_path.glob("key.*"))


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="cannot use the cache"):
        SpanCache(tmp_path / "file")


@given(many_spans)
def test_a_line_gives_back_what_was_written(spans: Spans) -> None:
    assert _from_line(_line("name", spans).encode()) == ("name", spans)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_line_or_missing(line: bytes) -> None:
    assert _from_line(line) is None


def test_policies_find_the_same_with_and_without(entity_pipeline: Path, tmp_path: Path) -> None:
    documents = [Document(text) for text in (SECRET, "", "Zoë, Zoë! \u200d", SECRET)]
    model, cache = str(entity_pipeline), str(tmp_path)
    for _ in range(2):
        kept = Entities(model=model, cache=cache).find_many(documents)
        assert kept == Entities(model=model).find_many(documents)
        some = Entities(model=model, cache=cache, types=("GPE",)).find_many(documents)
        assert [[span.label for span in spans] for spans in some] == [["GPE"], [], [], ["GPE"]]
        other = Presidio(model=model, cache=cache, types=("PERSON",)).find(documents[0])
        assert [span.rule for span in other] == ["presidio"]
    assert (tmp_path / "spans.jsonl").read_text().count("document") == 4
