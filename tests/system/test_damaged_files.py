"""Damaged files of a run, a release and a study end in the documented codes, never in ours."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.main import main

DOCUMENTED = {0, 1, 2, 3, 4, 5}
WHOLE = [b"", b"{", b"null", b"[]", b"3", b"[" * 100_000, b"\xff\xfe", b"9" * 10_000]
VALUES: list[Any] = [None, -1, "x", [[1]], {"a": 1}, float("nan"), 10**400]
# So many values of each file are changed.
MOST = 6
STUDY = """
[corpus]
kind = "customersim"
count = 4
[[methods]]
name = "S"
mechanism = "exponential"
policy = "digits"
epsilon = [2, 9]
[measures.text]
"""
# A file, and the commands that read it.
READ = {
    "run/config.json": ["report run -o page.html --overwrite", "generate run", "audit run"],
    "run/guarantee.json": ["report run -o page.html --overwrite"],
    "run/results.jsonl": ["report run -o page.html --overwrite"],
    "soft.jsonl.guarantee.json": [
        "report soft.jsonl --overwrite",
        "attack token-inference soft.jsonl --originals notes.jsonl --set attacker=nearest",
        "privatize notes.jsonl --policy digits --epsilon 5 --seed 1 -o soft.jsonl --resume",
    ],
    "study/study.json": ["study status study", "study compare study study", "report study"],
    "study/cells/MEASURE/cell.json": ["study status study", "study compare study study"],
}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("there")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("notes.jsonl").write_text('{"text": "Room 12 and 13"}\n{"text": "Ann has 7"}\n')
        privatize = "privatize notes.jsonl --policy digits --epsilon 5 --seed 1 -o soft.jsonl"
        assert main(privatize.split(" ")) == 0
        Path("study.toml").write_text(STUDY)
        from sfumato.studies.parsing import read_spec
        from sfumato.studies.runner import run_study

        assert run_study(read_spec(Path("study.toml")), Path("study"), workers=0).complete
        Path("run/model").mkdir(parents=True)
        settings = {"kind": "causal", "model": "lstm", "policy": None}
        written = {"schema": 1, "settings": settings, "versions": {"python": "3"}}
        Path("run/config.json").write_text(json.dumps(written))
        beside = json.loads(Path("soft.jsonl.guarantee.json").read_text())["guarantee"]
        stated = {"schema": 1, "sentence": "s", "guarantee": beside, "plan": {"steps": 1}}
        Path("run/guarantee.json").write_text(json.dumps(stated))
        row = {"metric": "perplexity", "value": 3.0, "low": 2.0, "high": 4.0, "n": 5, "corpus": "t"}
        Path("run/results.jsonl").write_text(json.dumps(row) + "\n")
        assert main(["report", "run", "-o", "page.html"]) == 0  # it is sound before it is damaged
    return folder


@pytest.mark.parametrize("file", READ)
def test_no_damage_is_taken_for_a_mistake_of_ours(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    shutil.copytree(there, tmp_path / "there")
    monkeypatch.chdir(tmp_path / "there")
    path = next(iter(Path().glob(file.replace("MEASURE", "measure-*"))))
    content = path.read_bytes()
    for place, damaged in enumerate((*WHOLE, *_changed(json.loads(content)))):
        path.write_bytes(damaged)
        commands = READ[file]
        arguments = commands[place % len(commands)].split(" ")
        assert main(arguments) in DOCUMENTED, (arguments, damaged[:300])


def _changed(content: Any) -> Iterator[bytes]:
    """Values of the file, in turn, as something else."""
    places = list(_places(content))
    for number, (holder, key) in enumerate(places[:: 1 + len(places) // MOST]):
        before = holder[key]
        holder[key] = VALUES[number % len(VALUES)]
        yield json.dumps(content).encode()
        holder[key] = before


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(content) if isinstance(content, dict) else range(min(2, len(content)))
    for key in keys:
        yield content, key
        if isinstance(content[key], dict | list):
            yield from _places(content[key])


def test_twin_without_the_reader_damage_is_an_internal_error(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import nullcontext

    shutil.copytree(there, tmp_path / "there")
    monkeypatch.chdir(tmp_path / "there")
    Path("run/results.jsonl").write_text(json.dumps({"metric": "m", "value": "much"}))
    report = ["report", "run", "-o", "page.html", "--overwrite"]
    assert main(report) == 0  # every part of a page looks at what it reads
    monkeypatch.setattr("sfumato.reports.run.as_number", float)
    assert main(report) == 3  # and where one did not, the page as a whole does
    monkeypatch.setattr("sfumato.reports.write.reading", lambda *_: nullcontext())
    assert main(report) == 70
