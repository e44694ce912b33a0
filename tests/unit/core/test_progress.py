"""Progress off a terminal: a line every so often, with what is done and the time left."""

from __future__ import annotations

import io
import sys
from itertools import pairwise

import pytest

from sfumato.core import progress as room
from sfumato.core.progress import QUIET, Lines, progress


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a command has it; other tests switch lines off."""
    monkeypatch.setattr(room, "PATIENCE", 20.0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def lines(total: int | None, seconds: float, count: int, *, unit: str = "steps") -> list[str]:
    """What is said while ``count`` steps are done, each of so many seconds."""
    said: list[str] = []
    clock = Clock()
    shown = Lines("training", total, unit, clock=clock, say=said.append)
    for step in range(1, count + 1):
        clock.now += seconds
        shown.reach(step)
    return said


def test_short_work_says_nothing() -> None:
    assert lines(100, 0.1, 100) == []


def test_long_work_says_how_far_it_is_ever_more_rarely() -> None:
    estimate, *said = lines(400, 1.0, 400)
    # From the first report, after one second, to the second.
    assert estimate == "training: this takes about 7 minutes"
    assert said[0] == "training: 20 of 400 steps (5 %), about 7 minutes left"
    assert 4 <= len(said) <= 8
    done = [int(one.split()[1]) for one in said]
    gaps = [b - a for a, b in pairwise(done)]
    assert gaps == sorted(gaps)
    # The twin says a line at every step.
    assert len(said) < 400 / 20


def test_work_that_ends_soon_is_not_estimated() -> None:
    assert lines(15, 1.0, 15) == []


def test_without_a_total_the_time_so_far_is_said() -> None:
    assert lines(None, 5.0, 5, unit="")[0] == "training: 4, 20 seconds so far"


def test_what_was_done_before_takes_no_time() -> None:
    """A resumed run: 300 of 400 steps are there at once, the rest takes a second each."""
    said: list[str] = []
    clock = Clock()
    shown = Lines("training", 400, "steps", clock=clock, say=said.append)
    for step in range(300, 401):
        shown.reach(step)
        clock.now += 1.0
    assert said[0] == "training: this takes about 2 minutes"
    assert said[1] == "training: 320 of 400 steps (80 %), about 2 minutes left"


def test_what_came_before_the_first_report_is_not_taken_for_work() -> None:
    """A minute of loading, then a hundred steps of a tenth of a second each."""
    said: list[str] = []
    clock = Clock()
    shown = Lines("attacking", 100, clock=clock, say=said.append)
    clock.now += 60.0
    for step in range(101):
        shown.reach(step)
        clock.now += 0.1
    assert said == ["attacking: 0 of 100 (0 %), 1 minute so far"]


def test_lines_go_to_standard_error_unless_it_is_a_terminal_or_silence_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "PATIENCE", 0.0)
    for quiet, expected in ((False, "reading: 1 of 3 (33 %)"), (True, "")):
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        token = QUIET.set(quiet)
        try:
            with progress("reading", 3, unit_is_bytes=False) as advance:
                advance(1)
        finally:
            QUIET.reset(token)
        assert stream.getvalue().startswith(expected)
        assert bool(stream.getvalue()) == (not quiet)
