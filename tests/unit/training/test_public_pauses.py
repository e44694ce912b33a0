"""Public training before and between private steps is saved and stopped after any of its steps."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import CannotResume, UndefinedGradient
from sfumato.models.load import LoadedModel
from sfumato.training import checkpoints, loop
from sfumato.training.checkpoints import Checkpoint, StepsLost
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import build_method
from sfumato.training.methods.streams import PublicSteps
from sfumato.training.processes.meetings import agree_to_pause
from sfumato.training.settings import Course
from unit.training.methods.test_methods import TINY, documents, request
from unit.training.runs import charged_in, kept_in, same, weights

# All but one of the public steps come before the first private one.
PUBLIC, PRIVATE = 10, 8
PRIVATE_STEP, PAUSE = "private step", "pause"
SELDOM = Course(checkpoint_every=1000)


class Stopped(BaseException):
    """What a signal does in these tests, unless it is held back."""


@pytest.fixture(autouse=True)
def stopping() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise Stopped(number)

    before = signal.signal(signal.SIGTERM, stop)
    yield
    signal.signal(signal.SIGTERM, before)


def train(
    folder: RunFolder, lead: float = 0.9, *, resume: bool = False, dropout: float = 0.0
) -> LoadedModel:
    method = build_method("selective", {"public_epochs": 4, "public_batch_size": 2, "lead": lead})
    settings = {**TINY, "dropout": dropout}
    wanted = replace(request("selective", course=SELDOM, settings=settings), method=method)
    return train_model(wanted, documents(), folder, resume=resume).model


def stop_in(patched: pytest.MonkeyPatch, at: int) -> list[int]:
    """A signal comes in this public step; how many were taken is counted."""
    taken: list[int] = []
    honest = PublicSteps._step

    def step(self: PublicSteps, members: Any) -> None:
        taken.append(self.taken)
        if len(taken) == at:
            signal.raise_signal(signal.SIGTERM)
        honest(self, members)

    patched.setattr(PublicSteps, "_step", step)
    return taken


def stopped(folder: RunFolder, at: int) -> Checkpoint:
    """What a run keeps that a signal stops in this public step."""
    with pytest.MonkeyPatch.context() as patched:
        stop_in(patched, at)
        with pytest.raises(Stopped):
            train(folder)
    return Checkpoint.load(folder.checkpoint)


def count_private(patched: pytest.MonkeyPatch) -> list[None]:
    """One item for every private step that is taken from now on."""
    taken: list[None] = []
    honest = loop._one_step

    def step(*given: Any) -> Any:
        taken.append(None)
        return honest(*given)

    patched.setattr(loop, "_one_step", step)
    return taken


def public_of(folder: RunFolder) -> int:
    return int(Checkpoint.load(folder.checkpoint).between["taken"])


def test_a_signal_in_a_public_start_does_not_wait_for_a_private_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    with monkeypatch.context() as patched:
        stop_in(patched, 3)
        with pytest.raises(Stopped):
            train(folder)
    assert charged_in(folder) == kept_in(folder) == 0
    assert public_of(folder) == 3
    # What was taken is not taken again, and nothing was lost.
    with monkeypatch.context() as patched, warnings.catch_warnings():
        warnings.simplefilter("error", StepsLost)
        taken = stop_in(patched, at=1000)
        train(folder, resume=True)
    assert taken == [*range(3, PUBLIC)]
    assert charged_in(folder) == PRIVATE


@pytest.mark.parametrize(("lead", "dropout"), [(0.0, 0.0), (0.9, 0.0), (0.5, 0.3)])
def test_a_run_that_is_stopped_again_and_again_is_the_run_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lead: float, dropout: float
) -> None:
    whole = weights(train(RunFolder(tmp_path / "whole"), lead, dropout=dropout))
    folder, read = RunFolder(tmp_path / "run"), []
    honest = PublicSteps._step

    def noted(self: PublicSteps, members: Any) -> None:
        read.append(members.tolist())
        honest(self, members)

    resume = False
    while True:
        with monkeypatch.context() as patched:
            patched.setattr(PublicSteps, "_step", noted)
            stop_in(patched, 2)
            try:
                trained = train(folder, lead, resume=resume, dropout=dropout)
            except Stopped:
                resume = True
            else:
                break
    assert resume
    assert same(weights(trained), whole)
    # Four passes of five records, in batches of two.
    every = [one for some in read for one in some]
    passes = [sorted(every[start : start + 5]) for start in range(0, 20, 5)]
    assert passes == 4 * [[0, 1, 2, 3, 4]]


def test_the_twin_that_forgets_the_order_reads_records_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = weights(train(RunFolder(tmp_path / "whole")))
    honest = PublicSteps.restore

    def forgetful(self: PublicSteps, state: Any) -> None:
        honest(self, {**state, "waiting": [], "passes": 0})

    folder = RunFolder(tmp_path / "run")
    with monkeypatch.context() as patched:
        stop_in(patched, 2)
        with pytest.raises(Stopped):
            train(folder)
    monkeypatch.setattr(PublicSteps, "restore", forgetful)
    assert not same(weights(train(folder, resume=True)), whole)


@pytest.mark.parametrize("damaged", [{"waiting": [5]}, {"waiting": None}, {"passes": "1"}])
def test_a_state_of_other_records_is_refused(tmp_path: Path, damaged: dict[str, Any]) -> None:
    folder = RunFolder(tmp_path / "run")
    kept = stopped(folder, 2)
    replace(kept, between={**kept.between, **damaged}).save(folder.checkpoint)
    with pytest.raises(CannotResume, match="belongs to another method"):
        train(folder, resume=True)


def test_a_signal_after_the_last_chance_to_save_waits_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No public step is lost because nobody counted it."""
    honest, met = agree_to_pause, 0

    def late(*given: Any) -> bool:
        nonlocal met
        found, met = honest(*given), met + 1
        if met == 3:
            signal.raise_signal(signal.SIGTERM)
        return found

    monkeypatch.setattr("sfumato.training.loop.agree_to_pause", late)
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(Stopped):
        train(folder)
    assert public_of(folder) == 4


def test_private_steps_are_charged_once_if_public_ones_diverge_after_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saved in one public pause, and not charged again in the next, which finds a bad weight."""
    folder = RunFolder(tmp_path / "run")
    honest, met = loop._one_step, ["beginning"]

    def stepped(*given: Any) -> Any:
        met.append(PRIVATE_STEP)
        return honest(*given)

    def always(*_: Any) -> bool:
        met.append(PAUSE)
        return True

    def diverged(_: Any) -> None:
        # In the second pause after private steps, of which the first has saved these.
        if PRIVATE_STEP in met and met[-2:] == [PAUSE, PAUSE]:
            raise UndefinedGradient("a weight is not a finite number")

    monkeypatch.setattr("sfumato.training.loop.agree_to_pause", always)
    monkeypatch.setattr(loop, "_one_step", stepped)
    monkeypatch.setattr(loop, "refuse_diverged", diverged)
    with pytest.raises(UndefinedGradient):
        train(folder, lead=0.0)
    assert met.count(PRIVATE_STEP) == charged_in(folder) == kept_in(folder) > 0


def test_private_steps_before_a_pause_are_charged_if_it_finds_a_bad_weight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first pause after a private step, which nothing has charged before."""
    folder, taken = RunFolder(tmp_path / "run"), count_private(monkeypatch)

    def diverged(_: Any) -> None:
        if taken:
            raise UndefinedGradient("a weight is not a finite number")

    monkeypatch.setattr("sfumato.training.loop.agree_to_pause", lambda *_: True)
    monkeypatch.setattr(loop, "refuse_diverged", diverged)
    with pytest.raises(UndefinedGradient):
        train(folder, lead=0.0)
    assert len(taken) == charged_in(folder) > 0


@pytest.mark.parametrize("pauses", [False, True])
def test_private_steps_are_charged_once_if_a_public_one_ends_in_an_error_of_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pauses: bool
) -> None:
    """Whether to stop may depend on weights that they have made."""
    folder, taken = RunFolder(tmp_path / "run"), count_private(monkeypatch)
    honest = PublicSteps._step

    def failing(self: PublicSteps, members: Any) -> None:
        if self.taken == 6:
            raise UndefinedGradient("a gradient is not a finite number")
        honest(self, members)

    monkeypatch.setattr("sfumato.training.loop.agree_to_pause", lambda *_: pauses)
    monkeypatch.setattr(PublicSteps, "_step", failing)
    with pytest.raises(UndefinedGradient):
        train(folder, lead=0.0)
    assert len(taken) == charged_in(folder) > 1


def test_public_training_of_others_may_be_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = PublicSteps.reach

    def whole(self: PublicSteps, step: int, of: int) -> None:
        list(honest(self, step, of))

    monkeypatch.setattr(PublicSteps, "reach", whole)
    folder = RunFolder(tmp_path / "run")
    train(folder)
    assert charged_in(folder) == PRIVATE


def test_a_checkpoint_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    """It does not say what its pass had left, so that records of it may be read again."""
    folder = RunFolder(tmp_path / "run")
    kept = stopped(folder, 3)
    old = {key: kept.between[key] for key in ("taken", "optimizer")}
    replace(kept, between=old).save(folder.checkpoint)
    with pytest.MonkeyPatch.context() as patched:
        taken = stop_in(patched, at=1000)
        train(folder, resume=True)
    assert taken == [*range(3, PUBLIC)]
    assert charged_in(folder) == PRIVATE


def test_the_twin_whose_public_steps_are_one_piece_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = PublicSteps.reach
    monkeypatch.setattr(
        PublicSteps, "reach", lambda self, step, of: iter(list(honest(self, step, of))[:0])
    )
    stop_in(monkeypatch, 3)
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(Stopped):
        train(folder)
    assert charged_in(folder) == 1
    assert public_of(folder) > 3


def test_private_steps_before_it_are_charged_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    with monkeypatch.context() as patched:
        taken = stop_in(patched, 6)
        with pytest.raises(Stopped):
            train(folder, lead=0.0)
    assert len(taken) == public_of(folder) == 6
    assert 0 < charged_in(folder) == kept_in(folder) < PRIVATE
    train(folder, lead=0.0, resume=True)
    assert charged_in(folder) == PRIVATE


def test_a_long_public_start_is_saved_by_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, saved = 0.0, []
    honest, keep = PublicSteps._step, loop._save

    def slowly(self: PublicSteps, members: Any) -> None:
        nonlocal now
        now += 60 * 2.0
        honest(self, members)

    def noted(run: Any, *rest: Any) -> None:
        keep(run, *rest)
        saved.append(run.between.taken)

    monkeypatch.setattr(checkpoints, "monotonic", lambda: now)
    monkeypatch.setattr(PublicSteps, "_step", slowly)
    monkeypatch.setattr(loop, "_save", noted)
    train(RunFolder(tmp_path / "run"))
    # Steps of two minutes each: after three of them five minutes are over.
    assert saved[:3] == [3, 6, 9]
