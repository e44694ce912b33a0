"""A dry run: counts, a few examples for the owner's eyes, and nothing on the disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument, StorageFailed
from sfumato.releases.preview import FOR_YOUR_EYES, Preview
from sfumato.verbs.privatize import privatize

SECRET = "1455720"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    texts = [f"My ID is {SECRET}, room 7", *(f"row {n}" for n in range(40)), "nothing here"]
    lines = (json.dumps({"a": text, "b": "floor 3"}) + "\n" for text in texts)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def look(source: Path, **changes: object) -> Preview:
    given = {"field": ["a", "b"], "policy": "digits", "mechanism": "redact", "dry_run": True}
    found = privatize(source, **(given | changes))  # type: ignore[arg-type]
    assert isinstance(found, Preview)
    return found


def test_everything_is_counted_and_nothing_is_written(notes: Path) -> None:
    before = sorted(notes.parent.iterdir())
    found = look(notes)
    assert sorted(notes.parent.iterdir()) == before
    assert found.counts["documents"] == 42
    assert found.counts["privatized_words"] == 2 + 40 + 42
    assert found.counts["by_type"] == {"NUMBER": 84}
    assert len(found.examples) == 10
    assert all(one.after == "[NUMBER]" and one.label == "NUMBER" for one in found.examples)


def test_an_output_that_is_named_is_not_touched(notes: Path) -> None:
    target = notes.parent / "out.jsonl"
    target.write_text("kept")
    look(notes, output=target)
    assert target.read_text() == "kept"
    assert len(list(notes.parent.iterdir())) == 2


def test_fewer_places_than_examples_are_all_shown(tmp_path: Path) -> None:
    source = tmp_path / "few.txt"
    source.write_text(f"My ID is {SECRET}\nroom 7\nnone\n")
    found = look(source, field="text")
    assert {one.before for one in found.examples} == {SECRET, "7"}
    none = look(source, field="text", policy="regex:zanzibar")
    assert none.examples == ()
    assert none.counts["by_type"] == {}


def test_levels_and_words_are_looked_at_too(notes: Path) -> None:
    found = look(notes, policy=(), level=[(2, "digits"), (40, "regex:ID")], mechanism="laplace")
    assert found.counts["by_type"] == {"NUMBER": 84, "MATCH": 1}
    assert found.guarantee.stays is not None
    assert "stay as they are" in "".join(found.lines)


def test_originals_are_in_no_representation(tmp_path: Path) -> None:
    source = tmp_path / "one.txt"
    source.write_text(f"My ID is {SECRET}\n")
    found = look(source, field="text")
    assert found.examples[0].before == SECRET
    shown = repr(found) + repr(found.examples) + found._repr_html_() + "".join(found.lines)
    assert SECRET not in shown


def test_the_command_says_whose_eyes_it_is_for(
    notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["privatize", str(notes), "--field", "a", "-p", "digits", "-m", "redact", "--dry-run"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert FOR_YOUR_EYES in said
    assert "By type: NUMBER 42" in said
    assert said.count("→") == 10
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dry_run"] is True
    assert len(told["examples"]) == 10
    assert main([*words[:-1]]) == 2
    assert "--dry-run" in capsys.readouterr().err


def test_settings_are_shown_when_asked(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["privatize", str(notes), "--field", "a", "-p", f"regex:{SECRET}", "-m", "redact"]
    assert main([*words, "-o", str(notes.parent / "out.jsonl"), "-v"]) == 0
    said = capsys.readouterr()
    assert "mechanism: redact" in said.err
    assert "field: a" in said.err
    assert SECRET not in said.err + said.out


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed):
        look(tmp_path / "none.txt", field="text")
    with pytest.raises(InvalidArgument, match="where to write"):
        privatize(tmp_path / "none.txt", policy="digits", mechanism="redact")


def test_a_dry_run_tells_of_the_columns_that_would_be_left(
    notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = look(notes, field="a")
    assert found.undecided == ["b"]
    assert found.shares == {"b": 1}
    assert found.guarantee.for_release is False
    assert any("left as they were: b" in line for line in found.lines)
    assert look(notes, field="a", keep="b").column_warnings == []
    assert "nowhere in the file: c" in "\n".join(look(notes, keep="c").lines)
    given = ["privatize", str(notes), "--dry-run", "--field", "a", "-p", "digits", "-m", "redact"]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "column b: the policy finds something in 100 % of its cells" in said
    assert "--keep" in said
    assert main([*given, "--json"]) == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    assert columns["left"] == [{"name": "b", "kept": False, "cells": 42, "found_in": 42}]


@pytest.mark.parametrize("wrong", [{"delimiter": ";"}, {"follow": True}, {"sheet": "x"}])
def test_a_dry_run_refuses_what_the_run_would_refuse(notes: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        look(notes, **wrong)
