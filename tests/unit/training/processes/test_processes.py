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
from sfumato.cli import main
from sfumato.core.errors import InvalidArgument, ProcessLost
from sfumato.training.folder import RunFolder
from sfumato.training.loop import Progress, fit
from sfumato.training.processes import group
from sfumato.training.processes.launch import rank_told, refuse_together, started_together
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
    with pytest.raises(InvalidArgument, match="is for one process") as refused:
        refuse_together("a search")
    assert refused.value.said_elsewhere
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert not started_together()
    monkeypatch.setenv("RANK", "first")
    with pytest.raises(ValueError, match="RANK and WORLD_SIZE must be whole numbers"):
        started_together()


def test_what_another_process_says_is_not_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    error = InvalidArgument("what is wrong")
    assert main._failed(error) == 2
    assert "what is wrong" in capsys.readouterr().err
    error.said_elsewhere = True
    assert main._failed(error) == 2
    assert capsys.readouterr().err == ""
