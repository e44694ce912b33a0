"""Columns that are not privatized: looked at, counted without private text, and decided about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.files.chunks import Left
from sfumato.policies.parsing import parse_policy
from sfumato.releases import columns as module
from sfumato.releases.columns import FURTHER, Columns
from sfumato.releases.release import Release

ROWS = [
    {"id": f"r{n}", "customer_name": name, "note": f"call {name} now", "n": n}
    for n, name in enumerate(["Tom Miller", "Ann Smith", "", "none"])
]


def table(folder: Path, suffix: str = "csv") -> Path:
    path = folder / f"in.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif suffix == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        between = {"csv": ",", "tsv": "\t"}[suffix]
        lines = [list(ROWS[0]), *(map(str, row.values()) for row in ROWS)]
        path.write_text("".join(between.join(line) + "\n" for line in lines))
    return path


def released(path: Path, **settings: Any) -> Release:
    output = path.with_name(f"out{path.suffix}")
    given: dict[str, Any] = {"field": "note", "mechanism": "redact", "overwrite": True} | settings
    return sfumato.privatize(path, output, **given)


FORMATS = ["csv", "tsv", "jsonl", "parquet"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_untouched_column_of_names_makes_the_file_not_releasable(
    tmp_path: Path, suffix: str
) -> None:
    release = released(table(tmp_path, suffix))
    assert release.summary["for_release"] is False
    assert release.guarantee.for_release is False
    assert release.undecided == ["id", "customer_name", "n"]
    left = {one["name"]: one for one in release.summary["columns"]["left"]}
    assert left["customer_name"] == {
        "name": "customer_name", "kept": False, "cells": 3, "found_in": 2,
    }  # fmt: skip
    *warnings, refusal = release.column_warnings
    (warning,) = (one for one in warnings if "column customer_name" in one)
    assert "column customer_name: the policy finds something in 67 % of its cells" in warning
    assert "left as they were: id, customer_name, n" in refusal
    assert "Tom" not in "".join(release.column_warnings)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    "decided",
    [
        {"drop": ["customer_name"], "keep": ["id", "n"]},
        {"keep": "*"},
        {"field": ["note", "customer_name"], "drop": ["id", "n"]},
        {"drop": ["id", "customer_name", "n"]},
    ],
)
def test_a_file_is_for_release_once_every_column_is_decided_about(
    tmp_path: Path, suffix: str, decided: dict[str, Any]
) -> None:
    release = released(table(tmp_path, suffix), **decided)
    assert release.summary["for_release"] is True
    assert release.undecided == release.column_warnings == []
    assert release.summary["columns"]["dropped"] == list(decided.get("drop", ()))
    content = release.path.read_bytes()
    if "customer_name" in decided.get("drop", ()):
        assert b"Tom Miller" not in content
        assert b"customer_name" not in content


def test_the_twin_that_does_not_look_would_release_the_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sabotage: other columns are not looked at. Then the very same file may be released."""
    monkeypatch.setattr("sfumato.files.chunks.TextChunk.left", lambda _: [])
    release = released(table(tmp_path))
    assert release.summary["for_release"] is True
    assert "Tom Miller" in release.path.read_text()
    with pytest.raises(AssertionError):
        test_an_untouched_column_of_names_makes_the_file_not_releasable(tmp_path, "csv")


def test_whole_records_leave_numbers_only(tmp_path: Path) -> None:
    release = released(table(tmp_path, "jsonl"), field="*")
    assert release.undecided == ["n"]
    assert "Tom" not in release.path.read_text()
    assert released(table(tmp_path, "csv"), field="*").undecided == []
    assert released(table(tmp_path, "parquet"), field="*").undecided == ["n"]


def test_a_name_that_is_nowhere_is_said_and_keeps_the_file_back(tmp_path: Path) -> None:
    release = released(table(tmp_path, "jsonl"), drop="custmer_name", keep="*")
    assert release.summary["for_release"] is False
    assert release.summary["columns"]["nowhere"] == ["custmer_name"]
    assert "nowhere in the file: custmer_name" in release.column_warnings[0]
    for suffix in ("csv", "parquet"):
        with pytest.raises(BadInput, match=r"did you mean 'customer_name'.*there are: id"):
            released(table(tmp_path, suffix), drop="custmer_name")


@pytest.mark.parametrize(
    "settings",
    [{"drop": "note"}, {"keep": "note"}, {"drop": "id", "keep": "id"}, {"drop": "*"}],
)
def test_a_column_has_one_fate(tmp_path: Path, settings: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument, match=r"choose one|leave nothing"):
        released(table(tmp_path), **settings)


def test_keys_that_are_data_are_not_written_down(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"note": "x", "seen": {"ann@example.org": {"n": 1}, "bob@example.org": 2}}\n')
    release = released(path)
    assert release.undecided == ["seen.*.n", "seen.*"]
    side = release.side
    assert side is not None
    assert "example.org" not in side.read_text()
    assert "example.org" not in "".join(release.lines)
    assert len(release.column_warnings) == 3
    assert released(path, keep="seen").summary["for_release"] is True
    table_ = tmp_path / "in.csv"
    table_.write_text("note,ann@example.org\nx,1\n")
    assert released(table_).undecided == ["column 2"]


def test_of_a_private_pattern_the_side_file_has_no_counts(tmp_path: Path) -> None:
    release = released(table(tmp_path), policy="regex:Miller|Smith")
    assert release.shares["customer_name"] == pytest.approx(2 / 3)
    assert release.summary["columns"]["left"] == [
        {"name": name, "kept": False} for name in ("id", "customer_name", "n")
    ]


def test_counts_go_through_json_and_damage_is_refused() -> None:
    cells = [Left(("a",), "Tom Miller"), Left(("b", 0, "c"), "7"), Left(("a",), "", kept="a")]
    columns = Columns.of(cells, {"gone"}, parse_policy("pii"))
    again = Columns.from_dict(json.loads(json.dumps(columns.as_dict())))
    assert again == columns
    assert "Tom" not in json.dumps(columns.as_dict())
    assert columns.undecided.keys() == {"a", "b[].c"}  # one cell that nobody kept is enough
    for wrong in ([1, 2, 0, 0], [-1, 0, 0, 0], [1, 0, 0], ["1", 0, 0, 0]):
        with pytest.raises(ValueError, match=r"count|unpack"):
            Columns.from_dict({"left": {"a": wrong}, "met": []})


def test_there_are_not_more_columns_than_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    cells = [Left((f"key{n}",), "x") for n in "123456"]
    columns = Columns.of(cells, (), parse_policy("pii"))
    assert list(columns.left) == ["key1", "key2", "key3", FURTHER]
    assert columns.left[FURTHER].cells == 3


def test_a_policy_that_finds_everything_does_not_hide_every_name() -> None:
    columns = Columns.of([Left(("note",), "x")], (), parse_policy("everything"))
    assert list(columns.left) == ["note"]


def test_half_a_character_in_another_column_is_a_finding_and_no_error(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"note": "x", "odd": "\\ud800"}\n')
    assert released(path).shares["odd"] == 1


@pytest.mark.parametrize("content", ["", "id,note\n", "\ufeffid;note\r\n"])
def test_an_empty_table_names_its_columns(tmp_path: Path, content: str) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(content.encode())
    release = released(path)
    assert release.path.read_bytes() == content.encode()
    assert release.undecided == (["id"] if content else [])


def test_plain_text_has_no_columns(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("call Tom Miller\n")
    release = released(path, field="text")
    assert release.summary["for_release"] is True
    assert "columns" not in release.summary
    with pytest.raises(InvalidArgument, match="txt has no fields"):
        released(path, field="text", drop="name")


@pytest.mark.parametrize(
    ("suffix", "content", "hidden"),
    [
        ("csv", "Tom Miller,open\nAnn Smith,shut\n", "column 1"),
        ("jsonl", '{"seen": {"ann@example.org": "yes"}}\n', "seen.*"),
    ],
)
def test_whole_records_do_not_publish_keys_that_are_data_without_a_word(
    tmp_path: Path, suffix: str, content: str, hidden: str
) -> None:
    """A first row that is data, or a key: neither is privatized, so the file is kept back."""
    path = tmp_path / f"in.{suffix}"
    path.write_text(content)
    release = released(path, field="*")
    assert release.undecided == [hidden]
    assert release.summary["for_release"] is False
    assert released(path, field="*", keep="*").summary["for_release"] is True
    if suffix == "csv":
        assert released(path, field="*", header=False).summary["for_release"] is True


def test_a_usual_name_is_no_data_whatever_a_policy_takes_it_for(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": 7, "lang": "de", "meta": {"lat": 1, "b": "Tom Miller"}, "lon": "x"}\n')
    release = released(path, field="*")
    assert release.undecided == ["id", "meta.lat"]
    assert released(path, field="*", keep=["id", "meta"]).summary["for_release"] is True


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_which_names_a_private_pattern_finds_is_not_written_down(
    tmp_path: Path, suffix: str
) -> None:
    """They stand in the output: whoever knew that one was found could test guesses."""
    path = tmp_path / f"in.{suffix}"
    path.write_text(
        "note,other thing\nx,1\n" if suffix == "csv" else '{"note": "x", "other thing": 1}\n'
    )
    patterns = "regex:thing", "regex:something else"
    found, missed = (released(path, policy=one, keep="*") for one in patterns)
    assert found.summary["columns"] == missed.summary["columns"]
    found, missed = (released(path, policy=one) for one in patterns)
    assert found.summary["columns"] == missed.summary["columns"]
    # The person who runs it hears of it all the same.
    assert [*found.shares.values()] == [1]
    assert [*missed.shares.values()] == [0]


def test_a_name_that_is_data_is_hidden_whatever_the_private_pattern(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("note,ann@example.org\nx,1\n")
    assert released(path, policy="regex:x").undecided == ["column 2"]
