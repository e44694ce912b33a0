"""Real processes, forked off the test, over gloo: they train together, and die alone.

A process that is killed never leaves a checkpoint ahead of the ledger, whichever it is and whenever
that happens; the others end with an error, and the run goes on, with as many as one likes.
"""

from __future__ import annotations

import os
import random
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from forked import in_a_child
from sfumato.core.errors import ProcessLost
from sfumato.training.folder import RunFolder
from sfumato.training.loop import Progress, fit
from sfumato.training.processes import group
from sfumato.training.processes.launch import rank_told, started_together
from sfumato.training.settings import Course
from unit.training.runs import charged_in, kept_in, small_model, small_plan, some_records

STEPS = 7
DONE, LOST = 0, 7


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def start(size: int, folder: RunFolder, dying: tuple[int, int] | None = None) -> list[int]:
    """Processes that train a model; ``dying`` is a rank and the step after which it is killed."""
    port = str(free_port())
    small_model()  # what is imported now is not imported by each of them

    def work(rank: int) -> Callable[[], int]:
        def train() -> int:
            told = {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1"}
            os.environ.update({name: str(one) for name, one in told.items()}, MASTER_PORT=port)

            def watch(now: Progress) -> None:
                if dying == (rank, now.step):
                    os.kill(os.getpid(), signal.SIGKILL)

            try:
                with group.joined() as team:
                    fit(
                        small_model(),
                        some_records(),
                        small_plan(steps=STEPS),
                        Course(checkpoint_every=2),
                        folder=folder if team.rank == 0 else None,
                        watch=watch,
                    )
            except ProcessLost:
                return LOST
            return DONE

        return train

    return [in_a_child(work(rank)) for rank in range(size)]


def ended(children: list[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def test_a_killed_process_leaves_no_checkpoint_ahead_of_the_ledger(tmp_path: Path) -> None:
    choose = random.Random(5)
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    for size in (2, 3, 2):
        rank = choose.randrange(size)
        step = charged_in(folder) + 1 + choose.randrange(2)
        codes = ended(start(size, folder, (rank, step)))
        assert codes[rank] == -signal.SIGKILL
        assert {code for one, code in enumerate(codes) if one != rank} == {LOST}
        assert kept_in(folder) <= charged_in(folder) < STEPS
    assert ended(start(2, folder)) == [DONE, DONE]
    assert charged_in(folder) == kept_in(folder) == STEPS


def test_who_was_started_together(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert not started_together()
    monkeypatch.setenv("WORLD_SIZE", "2")  # by itself it says nothing
    assert rank_told() == 0
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert rank_told() == 1
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert not started_together()
    monkeypatch.setenv("RANK", "first")
    with pytest.raises(ValueError, match="RANK and WORLD_SIZE must be whole numbers"):
        started_together()
