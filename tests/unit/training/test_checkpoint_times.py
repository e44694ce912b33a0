"""A run is saved by steps, by the clock and before it is stopped; a second signal does not wait."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from sfumato.accounting.ledger import Ledger
from sfumato.core.randomness import Randomness
from sfumato.training import checkpoints, loop
from sfumato.training.checkpoints import Saving, StepsLost
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.loop import Progress, fit
from sfumato.training.methods.interleaved_steps import InterleavedRun
from sfumato.training.settings import Course
from unit.training.methods.test_interleaved_runs import documents, request
from unit.training.runs import (
    Killed,
    charged_in,
    kept_in,
    new_folder,
    same,
    small_model,
    small_plan,
    some_records,
    weights,
)

STEPS = 8
SELDOM = Course(checkpoint_every=1000)
Step = Callable[..., Any]


class Stopped(BaseException):
    """What a signal does in these tests, unless it is held back."""


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Both signals raise ``Stopped``; afterwards they do what they did before."""

    def stop(number: int, frame: object) -> None:
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in checkpoints.SIGNALS}
    yield
    found = {number: signal.getsignal(number) for number in checkpoints.SIGNALS}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert set(found.values()) == {stop}, "a run has not put the handlers back"


def run(folder: RunFolder | None, *, watch: Any = None) -> Any:
    model = small_model()
    plan, randomness = small_plan(steps=STEPS), Randomness.reproducible(11)
    fit(model, some_records(), plan, SELDOM, randomness=randomness, folder=folder, watch=watch)
    return weights(model)


def signalled(step: Step, at: int, *signals: int) -> Step:
    """A step in the middle of which signals come, if it is the so-manyeth."""
    taken = 0

    def stepping(*arguments: Any) -> Any:
        nonlocal taken
        taken += 1
        if taken == at:
            for number in signals:
                signal.raise_signal(number)
        return step(*arguments)

    return stepping


# --- signals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", checkpoints.SIGNALS)
def test_a_signal_waits_for_the_step_which_is_paid_for_and_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    folder = new_folder(tmp_path / "run")
    with monkeypatch.context() as armed:
        armed.setattr(loop, "_one_step", signalled(loop._one_step, 3, number))
        with pytest.raises(Stopped, match=str(int(number))):
            run(folder)
    assert kept_in(folder) == charged_in(folder) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepsLost)
        resumed = run(folder)
    assert charged_in(folder) == STEPS
    assert same(resumed, run(None))


def test_the_twin_that_does_not_wait_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Saving, "hold", lambda _: None)
    monkeypatch.setattr(loop, "_one_step", signalled(loop._one_step, 3, signal.SIGTERM))
    folder = new_folder(tmp_path / "run")
    with pytest.raises(Stopped):
        run(folder)
    assert kept_in(folder) == charged_in(folder) == 0


def test_interleaved_runs_wait_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train_model(request(course=SELDOM), documents(), RunFolder(tmp_path / "whole"))
    folder, honest = RunFolder(tmp_path / "run"), InterleavedRun.take
    with monkeypatch.context() as armed:
        armed.setattr(InterleavedRun, "take", signalled(honest, 5, signal.SIGTERM))
        with pytest.raises(Stopped):
            train_model(request(course=SELDOM), documents(), folder)
    assert kept_in(folder) == charged_in(folder) == 5
    trained = train_model(request(course=SELDOM), documents(), folder, resume=True)
    assert same(weights(trained.model), weights(whole.model))


def test_a_second_signal_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = (signal.SIGINT, signal.SIGTERM)
    monkeypatch.setattr(loop, "_one_step", signalled(loop._one_step, 3, *twice))
    folder = new_folder(tmp_path / "run")
    with pytest.raises(Stopped, match=str(int(signal.SIGTERM))):
        run(folder)
    assert kept_in(folder) == charged_in(folder) == 0


def test_a_signal_between_two_steps_is_not_lost(tmp_path: Path) -> None:
    def watch(now: Progress) -> None:
        if now.step in {3, STEPS}:
            signal.raise_signal(signal.SIGTERM)

    folder = new_folder(tmp_path / "run")
    for kept in (4, STEPS):
        with pytest.raises(Stopped):
            run(folder, watch=watch)
        assert kept_in(folder) == charged_in(folder) == kept


def test_where_nothing_is_kept_nothing_waits() -> None:
    seen: list[int] = []

    def watch(now: Progress) -> None:
        seen.append(now.step)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(Stopped):
        run(None, watch=watch)
    assert seen == [1]


def test_a_run_that_fails_puts_the_handlers_back(tmp_path: Path) -> None:
    def watch(_: Progress) -> None:
        raise Killed

    with pytest.raises(Killed):
        run(new_folder(tmp_path / "run"), watch=watch)  # the fixture looks


def test_ignored_signals_stay_ignored_and_threads_leave_them_alone(tmp_path: Path) -> None:
    ours = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as under nohup
    try:
        run(new_folder(tmp_path / "run"), watch=lambda _: signal.raise_signal(signal.SIGINT))
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, ours)
    folder = new_folder(tmp_path / "thread")
    thread = Thread(target=run, args=(folder,))
    thread.start()
    thread.join()
    assert charged_in(folder) == STEPS


# --- the clock -----------------------------------------------------------------------------------


def saved_after(monkeypatch: pytest.MonkeyPatch, folder: RunFolder, minutes: float) -> list[int]:
    """After which steps a run is saved whose steps take so many minutes each."""
    now, found = 0.0, []
    honest, charge = loop._one_step, Ledger.charge

    def slowly(*arguments: Any) -> Any:
        nonlocal now
        now += 60 * minutes
        return honest(*arguments)

    def noted(self: Ledger, steps: int = 1) -> int:
        found.append(charge(self, steps))
        return found[-1]

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "monotonic", lambda: now)
        patched.setattr(loop, "_one_step", slowly)
        patched.setattr(Ledger, "charge", noted)
        run(folder)
    assert kept_in(folder) == STEPS
    return found


def test_slow_steps_are_saved_by_the_clock_and_the_ledger_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledgers = set()
    for minutes, wanted in ((0.0, [8]), (2.0, [3, 6, 8]), (6.0, [*range(1, 9)]), (0.7, [8])):
        folder = new_folder(tmp_path / f"{minutes}")
        assert saved_after(monkeypatch, folder, minutes) == wanted
        ledgers.add(folder.ledger.read_bytes())
    assert len(ledgers) == 1


def test_the_twin_without_a_clock_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MINUTES", float("inf"))
    assert saved_after(monkeypatch, new_folder(tmp_path / "run"), 2.0) == [8]


def test_steps_count_since_the_last_time() -> None:
    course = Saving(every=3, steps=10)
    course.saved()
    found = []
    for step in range(10):
        course.unsaved += 1
        if course.due(step):
            found.append(step)
            course.saved()
    assert found == [2, 5, 8, 9]
