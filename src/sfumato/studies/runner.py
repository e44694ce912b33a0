"""Running a study: describe it, start workers, watch them, collect the results.

``describe_study`` gives the content of ``study.json``: the file, the grid, the versions, the
machine. ``passages`` lists the files that a study will use, and computes nothing. It builds the
whole grid with doors that note each request and do not refuse it. Computing a cell asks for its
files by the same function, so a study cannot use a path that is not in the list.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

from sfumato.core.checks import MOST_WORKERS, at_least
from sfumato.core.errors import OutputExists, StorageFailed
from sfumato.core.files import write_whole
from sfumato.core.json import write_number
from sfumato.core.settings import WRITES
from sfumato.engines.engine import Engine
from sfumato.releases.payment import Payment
from sfumato.studies.doors import CodeNotAllowed, Passage
from sfumato.studies.elsewhere import compute_elsewhere, refuse_payment
from sfumato.studies.folder import DONE, FAILED, SCHEMA, StudyFolder, collect
from sfumato.studies.grid import Grid, list_cells
from sfumato.studies.locks import hold_lock
from sfumato.studies.payment import require_all
from sfumato.studies.points import points
from sfumato.studies.spec import GENERATED, WIKITEXT, CorpusSettings, StudySpec
from sfumato.studies.worker import Work, forget_failures, work_on
from sfumato.training.folder import versions


def describe_study(study: StudySpec, wanted: Grid, command: list[str]) -> dict[str, Any]:
    """The content of ``study.json``, without figures and texts."""
    return {
        "schema": SCHEMA,
        "name": study.name,
        "title": study.title or study.name,
        "file": study.text,
        "command": shlex.join(command),
        "versions": versions(),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processors": os.cpu_count(),
        },
        "public": all(one.corpus.copied for one in study.each.values()),
        "corpus": "; ".join(
            f"{name}: {_corpus(one)}" if name else _corpus(one) for name, one in study.each.items()
        ),
        "groups": study.groups,
        "methods": _methods(study),
        "cells": [cell.entry() for cell in wanted.cells],
    }


def _methods(study: StudySpec) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for point in (point for method in study.methods for point in points(method)):
        entry = found.setdefault(
            point.method,
            {
                "name": point.method,
                "kind": "text" if "mechanism" in point.settings else "training",
                "parameter": point.parameter,
                "levels": [],
                "settings": {
                    key: value for key, value in point.settings.items() if key != point.parameter
                },
            },
        )
        level = None if point.level is None else write_number(point.level)
        if level is not None and level not in entry["levels"]:
            entry["levels"].append(level)
    return list(found.values())


def _corpus(study: StudySpec) -> str:
    said = [_of(study.corpus)]
    if study.canaries is not None and study.canaries.manifest is None:
        times = " and ".join(map(str, sorted(set(study.canaries.repetitions))))
        said.append(f"with canaries planted {times} times")
    if study.coins is not None:
        said.append(f"with made-up documents by {study.coins.count:,} coins")
    if study.test is not None:
        said.append(f"measured on {_of(study.test)}")
    if study.others is not None:
        said.append(f"compared with {_of(study.others)} that no model was trained on")
    return ", ".join(said)


def _of(corpus: CorpusSettings) -> str:
    count = "all documents" if corpus.count is None else f"{corpus.count:,} documents"
    if corpus.kind == GENERATED:
        return f"{corpus.count:,} generated customer-service dialogues (seed {corpus.seed})"
    if corpus.kind == WIKITEXT:
        return f"{count} of WikiText, each a {corpus.record}"
    return f"{count} of a {'public' if corpus.public else 'private'} file"


TICK = 0.3
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class StudyOutcome:
    """The number of cells in all, done and failed; ``lost`` is how many workers were killed."""

    cells: int
    done: int
    failed: int
    lost: int = 0

    @property
    def complete(self) -> bool:
        """Whether every cell was computed."""
        return self.done == self.cells


WatchWork = Callable[[Work], None]
"""Called now and then to look at the progress of a study."""


def run_study(  # noqa: PLR0913  # two are needed, the others have defaults
    study: StudySpec,
    output: Path,
    *,
    workers: int = 1,
    resume: bool = False,
    command: Sequence[str] = (),
    watch: WatchWork | None = None,
    payment: Payment | None = None,
    until: float | None = None,
    engine: Engine | None = None,
    only: Sequence[str] = (),
) -> StudyOutcome:
    """Compute the missing cells of a study in worker processes (0: in this process).

    With an ``engine`` its workers compute them, wherever they are. With a ``payment`` what the
    study releases is paid for, cell by cell, if all of it fits. After ``until`` (seconds since
    1970) no cell is begun. ``only`` are patterns of the titles of cells, as ``Grid.narrowed`` has
    them: others are left.
    """
    at_least("workers", workers, 0, MOST_WORKERS)
    study = replace(study, charged=payment is not None)
    opened = open_study(study, output, resume=resume, command=command, only=only)
    work = replace(opened, payment=payment, until=until)
    if engine is not None:
        refuse_payment(work)
    forget_failures(work)
    require_all(work)
    lost = 0
    try:
        if engine is not None:
            for _ in compute_elsewhere(work, engine):
                if watch is not None:
                    watch(work)
        elif workers == 0:
            work_on(work)
        else:
            lost = _watch(work, workers, watch)
    finally:
        collect(work.folder)
    return outcome(work, lost)


def open_study(
    study: StudySpec,
    output: Path,
    *,
    resume: bool,
    command: Sequence[str],
    only: Sequence[str] = (),
) -> Work:
    """Make and describe the folder of a study; every error in the study's file is found here."""
    wanted: Grid = list_cells(study)
    narrowed = wanted.narrowed(only)
    folder = StudyFolder(output)
    refuse_links(folder)
    if folder.description.exists() and not resume:
        raise OutputExists(f"{output} holds a study already; `resume=True` continues it")
    if not folder.description.exists() and output.exists() and not _is_empty(output):
        raise OutputExists(f"{output} exists already and is not a study; choose another folder")
    try:
        # Only the owner may read a study, so the folder is private before anything is in it.
        output.parent.mkdir(parents=True, exist_ok=True)
        output.mkdir(mode=0o700, exist_ok=True)
        output.chmod(0o700)
        with hold_lock(folder.lock("study"), wait=True):
            content = describe_study(study, wanted, list(command))
            write_whole(folder.description, (json.dumps(content, indent=1) + "\n").encode())
    except OSError as error:
        problem = error.strerror or "writing failed"
        raise StorageFailed(f"cannot write {output}: {problem}") from None
    return Work(study, narrowed, folder)


def refuse_links(folder: StudyFolder) -> None:
    """Refuse links in the folder, by which somebody could redirect what is written."""
    cells = folder.path / "cells"
    inside = [one for one in cells.iterdir() if one.is_dir()] if cells.is_dir() else []
    for one in (cells, folder.path / "locks", *inside):
        if one.is_symlink():
            raise OutputExists(f"{one} is a link to another place; choose another folder")


def outcome(work: Work, lost: int = 0) -> StudyOutcome:
    """Count the cells by state."""
    states = [work.state(cell) for cell in work.grid.distinct]
    return StudyOutcome(len(states), states.count(DONE), states.count(FAILED), lost)


def _is_empty(folder: Path) -> bool:
    # A process that is killed at the very start leaves a lock behind.
    return folder.is_dir() and all(one.name == "locks" for one in folder.iterdir())


def _watch(work: Work, workers: int, watch: WatchWork | None) -> int:
    """Start the workers, wait for them, and count those that were killed."""
    # More workers than cells would be idle.
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
        for one in started:  # afterwards they write nothing
            one.wait()
        raise
    finally:
        for one in started:
            _close(one)
    return sum(one.returncode != 0 for one in started)


def _threads(workers: int) -> dict[str, str]:
    """The number of threads for the libraries of a worker.

    Workers share the processors, and more threads than processors slow each other down. A number
    that the user has set for one library is used for all.
    """
    chosen = [os.environ[name] for name in THREADS if name in os.environ]
    each = chosen[0] if chosen else str(max(1, (os.cpu_count() or 1) // workers))
    return dict.fromkeys(THREADS, each)


def _start(work: Work, workers: int) -> subprocess.Popen[bytes]:
    """Start a worker, which reads its work from a pipe and prints nothing.

    The pipe stays open: when it closes, the worker knows that this process has ended.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato.studies.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Modules in the working folder must not be imported in place of installed ones.
        env=_threads(workers) | os.environ | {"PYTHONSAFEPATH": "1"},
    )
    pipe = cast("IO[bytes]", process.stdin)  # there is one, see above
    with suppress(BrokenPipeError):  # killed before it began; counted as lost
        pipe.write(pickle.dumps((work, os.getpid())))
        pipe.flush()
    return process


def _close(process: subprocess.Popen[bytes]) -> None:
    with suppress(BrokenPipeError):
        cast("IO[bytes]", process.stdin).close()


def passages(study: StudySpec, output: Path) -> list[Passage]:
    """Everything that a study with listing doors asks for; what it reads comes first."""
    # Code that is not allowed ends the list: what it asks for is unknown until it may run.
    with suppress(CodeNotAllowed):
        list_cells(study)
    study.doors.pass_through(output.resolve().parent, output, WRITES)
    return sorted(study.doors.asked.values(), key=lambda one: (one.purpose, one.path))
