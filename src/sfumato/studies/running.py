"""Running a study: describe it, start workers, watch them, collect what they found."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from sfumato.core.checks import MOST_WORKERS, at_least
from sfumato.core.errors import OutputExists, StorageFailed
from sfumato.core.files import write_whole
from sfumato.studies.config import Study
from sfumato.studies.description import described
from sfumato.studies.folder import DONE, FAILED, StudyFolder
from sfumato.studies.grid import Grid, grid
from sfumato.studies.locking import held
from sfumato.studies.results import collect
from sfumato.studies.working import Work, forget_failures, work_on

TICK = 0.3
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """How many cells there are, and what became of them; ``lost`` workers were killed."""

    cells: int
    done: int
    failed: int
    lost: int = 0

    @property
    def complete(self) -> bool:
        """Whether every cell was computed."""
        return self.done == self.cells


Watch = Callable[[Work], None]
"""Told now and then to look how far the study is."""


def run_study(
    study: Study,
    output: Path,
    *,
    workers: int = 1,
    resume: bool = False,
    command: Sequence[str] = (),
    watch: Watch | None = None,
) -> Outcome:
    """Compute what is missing of a study, in processes of their own (0: in this one)."""
    at_least("workers", workers, 0, MOST_WORKERS)
    work = opened(study, output, resume=resume, command=command)
    forget_failures(work)
    lost = 0
    try:
        if workers == 0:
            work_on(work)
        else:
            lost = _watched(work, workers, watch)
    finally:
        collect(work.folder)
    return outcome(work, lost)


def opened(study: Study, output: Path, *, resume: bool, command: Sequence[str]) -> Work:
    """The folder of a study, described; everything that can be wrong in the file is said here."""
    wanted: Grid = grid(study)
    folder = StudyFolder(output)
    refuse_links(folder)
    if folder.description.exists() and not resume:
        raise OutputExists(f"{output} holds a study already; --resume goes on with it")
    if not folder.description.exists() and output.exists() and not _is_empty(output):
        raise OutputExists(f"{output} exists already and is no study; choose another folder")
    try:
        # What a study holds is its owner's, and so is the folder before anything is in it.
        output.parent.mkdir(parents=True, exist_ok=True)
        output.mkdir(mode=0o700, exist_ok=True)
        output.chmod(0o700)
        with held(folder.lock("study"), wait=True):
            content = described(study, wanted, list(command))
            write_whole(folder.description, (json.dumps(content, indent=1) + "\n").encode())
    except OSError as error:
        problem = error.strerror or "writing failed"
        raise StorageFailed(f"cannot write {output}: {problem}") from None
    return Work(study, wanted, folder)


def refuse_links(folder: StudyFolder) -> None:
    """Refuse a folder that somebody else has prepared, to have something written elsewhere."""
    cells = folder.path / "cells"
    inside = [one for one in cells.iterdir() if one.is_dir()] if cells.is_dir() else []
    for one in (cells, folder.path / "locks", *inside):
        if one.is_symlink():
            raise OutputExists(f"{one} is a link to another place; choose another folder")


def outcome(work: Work, lost: int = 0) -> Outcome:
    """What became of the cells."""
    states = [work.state(cell) for cell in work.grid.distinct]
    return Outcome(len(states), states.count(DONE), states.count(FAILED), lost)


def _is_empty(folder: Path) -> bool:
    # A lock is left behind by a process that was killed at the very start.
    return folder.is_dir() and all(one.name == "locks" for one in folder.iterdir())


def _watched(work: Work, workers: int, watch: Watch | None) -> int:
    """Start the workers and wait for them; how many of them were killed."""
    # More workers than cells would only wait.
    workers = min(workers, max(1, sum(work.state(cell) is None for cell in work.grid.distinct)))
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.extend(_start(work, workers) for _ in range(workers))
        while any(one.poll() is None for one in started):
            if watch is not None:
                watch(work)
            time.sleep(TICK)
        if watch is not None:
            watch(work)
    except BaseException:
        for one in started:
            one.terminate()
        for one in started:  # what they were computing is not written any more
            one.wait()
        raise
    finally:
        for one in started:
            _close(one)
    return sum(one.returncode != 0 for one in started)


def _threads(workers: int) -> dict[str, str]:
    """How many threads a worker's libraries take.

    Workers share the processors: more threads than those would keep each other waiting. Who set
    one library's number means all of them.
    """
    chosen = [os.environ[name] for name in THREADS if name in os.environ]
    each = chosen[0] if chosen else str(max(1, (os.cpu_count() or 1) // workers))
    return dict.fromkeys(THREADS, each)


def _start(work: Work, workers: int) -> subprocess.Popen[bytes]:
    """A worker; what it has to do comes through a pipe, and it says nothing.

    The pipe stays open: that it is closed is how a worker learns that this process has died.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato.studies.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A module of the user's, in the folder where the command is run, is none of ours.
        env=_threads(workers) | os.environ | {"PYTHONSAFEPATH": "1"},
    )
    pipe = cast("IO[bytes]", process.stdin)  # there is one, see above
    with suppress(BrokenPipeError):  # it was killed before it began, and is counted as lost
        pipe.write(pickle.dumps((work, os.getpid())))
        pipe.flush()
    return process


def _close(process: subprocess.Popen[bytes]) -> None:
    with suppress(BrokenPipeError):
        cast("IO[bytes]", process.stdin).close()
