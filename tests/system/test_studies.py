"""Studies as processes: killed again and again, run by two at once, and from the command line."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import BadInput
from sfumato.studies import worker
from sfumato.studies.folder import StudyFolder
from sfumato.studies.kinds.context import CellResult, Context
from sfumato.studies.locks import hold_lock
from sfumato.studies.parsing import read_spec
from sfumato.studies.runner import open_study, run_study
from small_study import SMALL
from system import warm
from system.warm import WarmProcess

# How often a study is killed; each time costs a start.
KILLS = int(os.environ.get("SFUMATO_KILLS", "4"))
# Runs a study in this very process, and says which cells it computed.
RUN = """
import sys
from pathlib import Path
from sfumato.core.errors import BadInput
from sfumato.studies.kinds.context import Context, CellResult
from sfumato.studies.parsing import read_spec
from sfumato.studies.runner import open_study
from sfumato.studies.worker import work_on
from sfumato.studies.folder import collect
work = open_study(read_spec(Path(sys.argv[1])), Path(sys.argv[2]), resume=True, command=[])
print("begun", flush=True)
work_on(work, told=lambda cell, state, seconds: print(cell.key, state, flush=True))
collect(work.folder)
"""
# What every process of a study loads before it computes anything.
LOADED = (*warm.LIGHT, "torch", "sfumato.studies.worker")
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def study_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With word vectors of its own, of which every process loads few."""
    path = tmp_path_factory.mktemp("studies") / "small.toml"
    (path.parent / "numbers.txt").write_text("".join(f"{n} {n % 7} {n % 11}\n" for n in range(300)))
    path.write_text(SMALL.replace("epsilon =", 'vectors = "numbers.txt"\nepsilon ='))
    return path


@pytest.fixture(scope="module")
def whole(study_file: Path) -> dict[str, Any]:
    """The values of a run that nobody disturbed."""
    folder = study_file.parent / "whole"
    assert run_study(read_spec(study_file), folder, workers=0).complete
    return _values(folder)


def _values(folder: Path) -> dict[str, Any]:
    """Everything a study found, and what it made; not times and memory."""
    found: dict[str, Any] = {}
    for cell in StudyFolder(folder).cells():
        rows = [
            (row.by, row.metric, row.value, row.low, row.high, row.n, row.group, row.guarantee)
            for row in cell.rows
            if row.role != "cost"
        ]
        made = {
            path.name: path.read_bytes()
            for path in sorted(StudyFolder(folder).cell(cell.key).iterdir())
            if path.name != "cell.json" and "guarantee" not in path.name
        }
        found[cell.key] = (cell.state, rows, made, cell.sentence)
    return found


def _start(study_file: Path, folder: Path) -> WarmProcess:
    return warm.start(RUN, [str(study_file), str(folder)], modules=LOADED, env=ENVIRONMENT)


def test_kills_change_nothing(study_file: Path, whole: dict[str, Any]) -> None:
    folder = study_file.parent / "killed"
    moments, unfinished = random.Random(7), []
    for _ in range(KILLS):
        process = _start(study_file, folder)
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"begun"
        # In the middle of the first cell that is left, or of the second.
        if moments.random() < 0.5:
            process.stdout.readline()
        time.sleep(moments.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        unfinished.append(any(cell.state == "missing" for cell in StudyFolder(folder).cells()))
    assert any(unfinished)  # on a machine that is quick the last ones may find nothing to do
    last = _start(study_file, folder)
    _, said = last.communicate(timeout=1200)
    assert last.returncode == 0, said
    assert _values(folder) == whole
    results = (folder / "results.jsonl").read_text().splitlines()
    assert len(results) == len(StudyFolder(folder).rows())


def test_two_processes_share_the_work_and_never_do_it_twice(
    study_file: Path, whole: dict[str, Any]
) -> None:
    folder = study_file.parent / "shared"
    both = [_start(study_file, folder) for _ in range(2)]
    said = [process.communicate(timeout=1200)[0].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    computed = [line.split()[0] for one in said for line in one.splitlines() if " done" in line]
    assert sorted(computed) == sorted(whole)
    assert _values(folder) == whole


@pytest.mark.parametrize(("locked", "times"), [(True, 1), (False, 2)])
def test_without_locks_a_cell_is_computed_twice_and_the_test_sees_it(
    study_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locked: bool, times: int
) -> None:
    """Two workers meet in the first cell if nothing keeps one of them out."""
    work = open_study(read_spec(study_file), tmp_path / "met", resume=True, command=[])
    settled, computed = threading.Event(), []

    @contextlib.contextmanager
    def watched(path: Path) -> Iterator[bool]:
        with hold_lock(path) if locked else contextlib.nullcontext(True) as mine:
            if not mine:
                settled.set()
            yield mine

    def met(context: Context) -> CellResult:
        """Nobody leaves before the other has come in, or was kept out."""
        computed.append(context.cell.kind)
        if len(computed) == 2:
            settled.set()
        assert settled.wait(timeout=1200)
        raise BadInput("this is as far as it goes")

    monkeypatch.setattr(worker, "compute", met)
    monkeypatch.setattr(worker, "hold_lock", watched)

    def work_on() -> None:
        with contextlib.suppress(OSError):  # without locks they also write over each other
            worker.work_on(work)

    both = [threading.Thread(target=work_on) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert computed == ["corpus"] * times


def test_the_command_line_runs_shows_and_resumes(study_file: Path, whole: dict[str, Any]) -> None:
    folder = study_file.parent / "commanded"
    command = [sys.executable, "-m", "sfumato", "study"]
    run = [*command, "run", str(study_file), "-o", str(folder), "--workers", "2", "--json"]
    # The command is killed, and its workers end by themselves.
    started = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert started.stderr is not None
    started.stderr.readline()
    started.send_signal(signal.SIGKILL)
    started.communicate()
    again = subprocess.run(
        [*run, "--resume"], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert again.returncode == 0, again.stderr
    found = json.loads(again.stdout)
    assert (found["done"], found["failed"], found["missing"]) == (len(whole), 0, 0)
    assert "cells done" in again.stderr
    assert _values(folder) == whole
