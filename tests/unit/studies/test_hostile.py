from __future__ import annotations

import json
import math
import os
import pickle
import signal
import subprocess
import sys
from io import BytesIO, StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from sfumato.cli.main import main
from sfumato.cli.output import cell
from sfumato.core.errors import BadInput, InvalidArgument, SfumatoError, StorageFailed
from sfumato.reports.samples import sample_texts
from sfumato.studies import runner
from sfumato.studies.compare import ComparedFigure, Difference, Value
from sfumato.studies.folder import StudyFolder
from sfumato.studies.grid import list_cells
from sfumato.studies.locks import holder_since
from sfumato.studies.parsing import read_spec
from sfumato.studies.runner import StudyOutcome, run_study
from sfumato.studies.spec import LARGEST_SEED
from sfumato.studies.worker import Work
from small_study import SMALL, small_study

pytestmark = pytest.mark.usefixtures("small_vectors")

MASKS = """
[[methods]]
name = "masks"
mechanism = "redact"
policy = "digits"
"""
ONE = '[corpus]\nkind = "customersim"\ncount = 4\n' + MASKS
TEXT = "[measures.text]\n"
FILE = '[corpus]\npath = "x.jsonl"\n'


def _grid(text: str, folder: Path = Path()) -> None:
    list_cells(small_study(folder, text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("methods = 5\n" + ONE.partition("[[")[0], "list of tables"),
        ("methods = {}\n" + ONE.partition("[[")[0], "list of tables"),
        (ONE + "[attacks]\nexposure = 5\n", "table of tables"),
        (ONE + "[measures]\ntext = 5\n", "table of tables"),
        (ONE + "[measures.text]\nword = 5\n", "unknown key"),
        (ONE + "[measures.deniability]\nword = 5\n", "'words'"),
        (ONE + "[measures.deniability]\nwords = -5\n", "at least 1"),
        (ONE + "settings = 5\n", "must be a table"),
        (ONE + "settings = {a = 2020-01-01}\n", "date"),
        (ONE + "settings = {fill = 1}\n", "masks.*unknown setting"),
        (ONE + "epsilon = [1, 2]\n", "masks.*takes no epsilon"),
        (ONE + "training = 5\n", "name or a table"),
        (ONE + "seeds = []\n", "different whole numbers"),
        (ONE + "seeds = [-3]\n", "between 0"),
        ("seeds = [-1]\n" + ONE, "between 0"),
        (f"seeds = [{LARGEST_SEED + 1}]\n" + ONE, "between 0"),
        (ONE.replace("count = 4", "count = 4\nseed = -1"), "between 0"),
        (ONE.replace('"digits"', '"digts"'), "masks.*'digits'"),
        (ONE.replace('"digits"', "[]"), "masks.*at least one policy"),
        (ONE.replace('"redact"', '"redakt"'), "masks.*'redact'"),
        (ONE.replace('"redact"', "5"), "masks.*must be a name"),
        (ONE.replace('"redact"', '"laplace"'), "masks.*needs an epsilon"),
        (ONE.replace('"redact"', '"laplace"\nepsilon = -1'), "masks.*greater than 0"),
        (ONE.replace('"redact"', '"laplace"\nepsilon = nan'), "masks.*finite"),
        (ONE.replace('"redact"', '"laplace"\nepsilon = 1' + "0" * 400), "must be a number"),
        (ONE.replace('"redact"', '"laplace"\nepsilon = 1\nunknown = "kep"'), "masks.*'keep'"),
        (ONE.replace('"redact"', '"laplace"\nepsilon = 1\nvectors = 5'), "path of a file"),
        (ONE.replace('"redact"', '"laplace"\nepsilonn = 1'), "masks.*'epsilon'"),
        (ONE.replace('"masks"', '""'), "name of method 1"),
        (ONE.replace('"masks"', '"two\\nlines"'), "name of method 1"),
        (ONE.partition("[[")[0], "nothing to compute"),
        (ONE + "[policies.p]\nfind = 'digits'\nsettings = 5\n", "table of settings"),
        (ONE + "[policies.p]\nfound = 'digits'\n", "find, except"),
        (ONE.replace('"digits"', '"p"\nexcept = "pii"') + "[policies.p]\nfind='pii'\n", "except"),
        (ONE + '[canaries]\ntemplate = "none"\n', "exactly once"),
        (ONE + '[canaries]\nsecrets = ["1", "2", "3"]\nrepetitions = [1, 2]\n', "3 secrets"),
        (ONE + "[canaries]\nrepetitions = []\n", "empty list"),
        (ONE + '[coins]\ncount = -1\n[model]\nname = "lstm"\n', "at least 1"),
        (ONE + '[model]\nname = "lstm"\nlong = "spilt"\n', "'split'"),
        ('groups = "author"\n' + ONE, "one field"),
        ('groups = ""\n' + ONE, "name of a field"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_before_anything_is_computed(text: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        _grid(text)


@pytest.mark.parametrize("text", ["a = 1" + "0" * 5000, "a = " + "[" * 5000 + "]" * 5000])
def test_a_file_that_no_reader_stands_is_no_toml(text: str) -> None:
    with pytest.raises(BadInput, match="not valid TOML"):
        _grid(text)


@pytest.mark.parametrize("levels", [100, 3000])
def test_tables_in_tables_without_end_are_bad_input(tmp_path: Path, levels: int) -> None:
    file = tmp_path / "s.toml"
    file.write_text(ONE + f"[policies.{'.'.join('a' * levels)}]\nb = 1\n")
    assert main(["study", "run", str(file)]) == 3
    assert main(["study", "check", str(file)]) == 3


MANY = ", ".join(map(str, range(1, 1001)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            ONE.replace('"redact"', f'"laplace"\nepsilon = [{MANY}]\nsettings = [{MANY}]'),
            "1,000,000 points",
        ),
        (
            f"seeds = [{MANY}]\n" + ONE.replace('"redact"', f'"laplace"\nepsilon = [{MANY}]'),
            "1,000,000 points over all",
        ),
        (ONE.replace("count = 4", "count = 1000000000000000"), "count=.* at most 100,000,000"),
        (ONE.replace("count = 4", "count = " + "9" * 400), "more than 30 digits"),
        (ONE + "[canaries]\nrepetitions = [1000000000000000]\n", "repetitions=.* at most"),
        (ONE + "[canaries]\ndigits = 1000000000000000\n", "digits=.* at most 1,000"),
        (ONE + '[model]\nname = "lstm"\n[coins]\ncount = 1000000000000000\n', "count=.* at most"),
        (ONE + "[measures.deniability]\nwords = 1000000000000000\n", "words=.* at most"),
        (ONE + "[measures.deniability]\ndraws = 1000000000000000\n", "draws=.* at most"),
    ],
)
def test_what_nobody_would_wait_for_is_refused_before_it_is_begun(text: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        _grid(text)


def test_twin_without_the_limit_a_large_grid_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = ", ".join(map(str, range(1, 40)))
    text = ONE.replace('"redact"', f'"laplace"\nepsilon = [{levels}]')
    _grid(text)
    for module in ("points", "grid"):
        monkeypatch.setattr(f"sfumato.studies.{module}.MOST_POINTS", 38)
    with pytest.raises(InvalidArgument, match="39 points"):
        _grid(text)


@pytest.mark.parametrize(
    "arguments",
    [
        "data customersim -o OUT.jsonl --count 1000000000000000",
        "data canaries IN.jsonl -o OUT.jsonl --repetitions 1000000000000000",
        "data canaries IN.jsonl -o OUT.jsonl --repetitions 1 --digits 1000000000000000",
        "data coins IN.jsonl -o OUT.jsonl --count 1000000000000000",
        "data wikitext IN.jsonl -o OUT.jsonl --count 99999999999999999999",
        "privatize IN.jsonl --epsilon 5 -o OUT.jsonl --workers 99999999999",
        "study run s.toml --workers 99999999999",
        "scan IN.jsonl --show 99999999999999999999",
    ],
)
def test_a_number_that_is_too_large_is_a_mistake_in_typing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("IN.jsonl").write_text('{"text": "a 1"}\n')
    Path("s.toml").write_text(ONE)
    assert main(arguments.split(" ")) == 2
    assert not Path("OUT.jsonl").exists()


def test_a_mark_before_the_text_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_bytes(b"\xef\xbb\xbf" + ONE.encode())
    assert read_spec(tmp_path / "s.toml").methods[0].name == "masks"


def test_a_large_grid_is_looked_through_in_a_moment() -> None:
    levels = ", ".join(map(str, range(1, 20_001)))
    same = ONE.replace('"redact"', f'"laplace"\nepsilon = [{levels}, 1.0]')
    with pytest.raises(InvalidArgument, match="twice at 1:"):
        _grid(same)


def test_corpus_and_test_that_would_be_read_in_two_ways_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"body": "a 1"}\n')
    corpus = FILE + 'field = "body"\n' + MASKS
    with pytest.raises(InvalidArgument, match="same fields"):
        _grid(corpus + '[test]\nkind = "customersim"\ncount = 2\n', tmp_path)
    _grid(corpus + '[test]\npath = "x.jsonl"\nfield = "body"\n', tmp_path)


def test_a_study_of_masks_alone_has_both_ends(tmp_path: Path) -> None:
    attacked = ONE + TEXT + "[attacks.token-inference]\ncandidates = 20\n"
    found = run_study(small_study(tmp_path, attacked), tmp_path / "s", workers=0)
    assert found == StudyOutcome(10, 10, 0)
    methods = {row.method for row in StudyFolder(tmp_path / "s").rows()}
    assert methods == {"no privacy", "random output", "masks"}


def test_a_word_list_stands_beside_the_study_and_counts_as_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (here / "x.jsonl").write_text('{"text": "ask alice"}\n{"text": "ask bob"}\n')
    (here / "words.txt").write_text("alice\n")
    text = FILE + "public = true\n" + MASKS.replace("digits", "lexicon:words.txt") + TEXT
    study = small_study(here, text)
    assert run_study(study, tmp_path / "s", workers=0).complete
    after = {one.after for one in sample_texts(StudyFolder(tmp_path / "s"), 2)}
    assert "ask bob" in after
    assert "ask alice" not in after
    before = {one.key for one in list_cells(study).cells if one.method == "masks"}
    os.utime(here / "words.txt", ns=(1, 1))
    assert not before & {one.key for one in list_cells(study).cells if one.method == "masks"}
    (here / "words.txt").unlink()
    with pytest.raises(StorageFailed, match=r"words\.txt"):
        list_cells(study)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "no document"),
        ('{"text": "a 1", "label": "\\ud800"}\n', "document 1: .* half a character"),
    ],
)
@pytest.mark.parametrize("public", ["true", "false"])
def test_a_corpus_that_nothing_can_be_measured_on_fails_by_itself(
    tmp_path: Path, lines: str, said: str, public: str
) -> None:
    (tmp_path / "x.jsonl").write_text(lines)
    text = f'groups = "label"\n{FILE}public = {public}\n' + MASKS + TEXT
    found = run_study(small_study(tmp_path, text), tmp_path / "s", workers=0)
    assert (found.done, found.failed) == (0, 1)
    (error,) = (one.error for one in StudyFolder(tmp_path / "s").cells() if one.error)
    with pytest.raises(SfumatoError, match=said):
        raise SfumatoError(error["message"])


def test_a_document_without_a_label_is_in_no_group(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "a 1", "label": null}\n' * 3)
    text = 'groups = "label"\nanchors = false\n' + FILE + "public = true\n" + MASKS + TEXT
    assert run_study(small_study(tmp_path, text), tmp_path / "s", workers=0).complete
    assert {row.group for row in StudyFolder(tmp_path / "s").rows()} == {None}


@pytest.mark.parametrize("damage", ["{", "[]", "{}", '{"state": 5}'])
def test_a_damaged_record_is_computed_again(tmp_path: Path, damage: str) -> None:
    study = small_study(tmp_path, "anchors = false\n" + ONE)
    assert run_study(study, tmp_path / "s", workers=0).complete
    folder = StudyFolder(tmp_path / "s")
    last = folder.record(list_cells(study).cells[-1].key)
    last.write_text(damage)
    if damage in ("{", "[]"):
        with pytest.raises(BadInput, match="damaged"):
            folder.cells()
    assert run_study(study, tmp_path / "s", workers=0, resume=True).complete
    assert json.loads(last.read_bytes())["state"] == "done"


def test_a_damaged_description_is_said_to_be_one(tmp_path: Path) -> None:
    for content in ('{"schema": 1}', '{"schema": 1, "cells": [5]}'):
        (tmp_path / "study.json").write_text(content)
        with pytest.raises(BadInput, match="damaged"):
            StudyFolder(tmp_path).cells()


def test_a_comparison_is_strict_json_where_a_level_is_infinite() -> None:
    value = Value(value=math.nan, low=-math.inf, high=math.inf, seeds=1)
    figure = ComparedFigure("m", "epsilon", math.inf, "a", "a", None)
    one = Difference(figure=figure, first=value, second=None).as_dict()
    assert json.loads(json.dumps(one, allow_nan=False)) == one
    assert (one["level"], one["first"]["value"]) == ("inf", "nan")


def test_brackets_in_a_name_are_no_markup() -> None:
    console = Console(width=80, record=True, file=StringIO())
    table = Table("name")
    table.add_row(cell("[/bold] [red]x \x1b[31m"))
    console.print(table)
    assert "[/bold] [red]x ␛[31m" in console.export_text()


@pytest.mark.parametrize("name", ["study", ".toml", "study.v1"])
def test_a_file_that_does_not_end_in_toml_needs_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / name).write_text(ONE)
    assert main(["study", "run", str(tmp_path / name)]) == 2
    assert "-o" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_the_commands_stand_odd_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = SMALL.replace('"SMDP"', '"[/b] <script>alert(1)</script>"').replace("[1, 2]", "[1]", 1)
    out = str(tmp_path / "[s]")
    assert run_study(small_study(tmp_path, odd), Path(out), workers=0).complete
    for command in (["study", "status", out], ["study", "compare", out, out], ["report", out]):
        assert main(command) == 0, command
    assert "[/b]" in capsys.readouterr().out
    assert "<script>alert" not in (tmp_path / "[s]" / "report.html").read_text()


def test_a_note_of_a_dead_process_is_nobodys_even_if_its_number_lives(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(json.dumps({"process": os.getpid(), "since": 1.0}))
    assert holder_since(tmp_path / "a") is None


def _work(tmp_path: Path) -> Work:
    study = small_study(tmp_path, "anchors = false\n" + ONE)
    return runner.open_study(study, tmp_path / "s", resume=False, command=[])


def test_no_more_workers_than_cells_are_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def start(work: Work, workers: int) -> Any:
        started.append(workers)
        return SimpleNamespace(poll=lambda: 0, returncode=0, stdin=BytesIO())

    monkeypatch.setattr(runner, "_start", start)
    runner._watch(_work(tmp_path), 1000, None)
    assert started == [2, 2]


def test_a_worker_reads_no_module_of_the_folder_and_ends_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    work = _work(tmp_path)
    assert run_study(work.study, tmp_path / "s", workers=1, resume=True) == StudyOutcome(2, 2, 0)
    # One that computes for ever, and whose pipe is closed.
    waiting = "import time\nfrom sfumato.studies import worker\n"
    waiting += "worker.work_on = lambda *_, **__: time.sleep(6000)\nworker.main()\n"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", waiting], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdin is not None
        process.stdin.write(pickle.dumps((work, os.getpid())))
        process.stdin.close()
        assert process.wait(timeout=600) == 1
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
