"""A run that is killed at any moment goes on to the same guarantee, and takes no step for free."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from low_costs import FIRST_BATCHES
from sfumato.accounting.ledger import Ledger
from sfumato.core.errors import BudgetExceeded, CannotResume
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.training import loop
from sfumato.training.checkpoints import Checkpoint, StepsLost
from sfumato.training.clipping import release, row_checks
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.clipping.release import GaussianRelease, add_noise
from sfumato.training.folder import RunFolder
from sfumato.training.loop import Progress, fit
from sfumato.training.plan import LogicalBatch, Plan
from sfumato.training.sampling import Shuffled
from sfumato.training.settings import Course
from sfumato.training.steps import PrivateStep
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

EVERY = 3
PLAN = small_plan(steps=8)
SEED = 11

RECORD = PLAN.as_dict() | {"seed": SEED}
Arm = Callable[[pytest.MonkeyPatch, int], None]


@pytest.fixture(autouse=True)
def seldom_compared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are compared at the beginning of the seeded runs with SGD, and not of the others.

    Comparisons take half of the time. That they change nothing, also where a run goes on, is what
    the seeded runs show; ``test_row_checks.py`` shows it of a single step.
    """
    if "[sgd-" in request.node.name:
        monkeypatch.setattr(row_checks, "FIRST", FIRST_BATCHES)


def run(
    folder: RunFolder | None,
    plan: Plan = PLAN,
    *,
    seed: int | None = SEED,
    course: Course | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> tuple[dict[str, Tensor], Guarantee]:
    """A run, or what is left of it, in a process that knows nothing of the one before."""
    model = small_model(settings={"dropout": 0.2})
    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    course = course or Course(checkpoint_every=EVERY)
    guarantee = fit(
        model, some_records(), plan, course, randomness=randomness, folder=folder, watch=watch
    )
    return weights(model), guarantee


def killed_after(step: int) -> Callable[[Progress], None]:
    def watch(now: Progress) -> None:
        if now.step == step:
            raise Killed

    return watch


# --- moments at which a run can be killed ------------------------------------------------------


def _on_call(patch: pytest.MonkeyPatch, owner: Any, name: str, call: int, *, before: bool) -> None:
    """Kill just before, or just after, the so-manyeth call of a method."""
    honest = getattr(owner, name)
    calls = 0

    def deadly(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if before and calls == call:
            raise Killed
        result = honest(*arguments, **options)
        if calls == call:
            raise Killed
        return result

    patch.setattr(owner, name, deadly)


MOMENTS: dict[str, Arm] = {
    "before a charge": lambda patch, call: _on_call(patch, Ledger, "charge", call, before=True),
    "after a charge": lambda patch, call: _on_call(patch, Ledger, "charge", call, before=False),
    "before a checkpoint": lambda patch, call: _on_call(
        patch, Checkpoint, "save", call, before=True
    ),
    "within a checkpoint": lambda patch, call: _on_call(patch, torch, "save", call, before=False),
    "after a checkpoint": lambda patch, call: _on_call(
        patch, Checkpoint, "save", call, before=False
    ),
}


class Found(AssertionError):
    """Something about a killed run that must not be."""


def killed_and_resumed(
    folder: RunFolder, arm: Arm, patch: pytest.MonkeyPatch
) -> tuple[int, Guarantee]:
    """Kill a run at its second such moment, go on; how many steps both took, and the promise."""
    taken = 0

    def count(_: Progress) -> None:
        nonlocal taken
        taken += 1

    with patch.context() as armed:
        arm(armed, 2)
        with pytest.raises(Killed):
            run(folder, watch=count)
    if kept_in(folder) > charged_in(folder):
        raise Found("weights on the disk that nobody has paid for")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepsLost)
        _, guarantee = run(folder, watch=count)
    if charged_in(folder) != PLAN.steps:
        raise Found("the ledger does not hold all steps")
    return taken, guarantee


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_any_moment_the_run_goes_on_to_the_same_guarantee(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_folder(tmp_path / "run")
    taken, guarantee = killed_and_resumed(folder, MOMENTS[moment], monkeypatch)
    assert guarantee == run(None)[1]
    assert guarantee.epsilon == PLAN.epsilon()
    # Five steps were watched before the kill at the sixth; of the eight that are paid for none is
    # taken after it was charged.
    assert taken <= 5 + (PLAN.steps - EVERY)
    with (
        pytest.raises(BudgetExceeded),
        Ledger.opened(
            folder.ledger, allowed=PLAN.steps, record=RECORD, saved={}, resume=True
        ) as ledger,
    ):
        ledger.charge()


def test_saving_before_paying_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(run: Any, ledger: Ledger, folder: RunFolder, steps: int) -> None:
        reached = ledger.charged + steps
        Checkpoint.of(reached, run.model.network, run.optimizer, run.clip_norm).save(
            folder.checkpoint
        )
        ledger.charge(steps)

    monkeypatch.setattr(loop, "_save", careless)
    folder = new_folder(tmp_path / "run")
    with pytest.raises(Found, match="nobody has paid for"):
        killed_and_resumed(folder, MOMENTS["before a charge"], monkeypatch)
    with pytest.raises(CannotResume, match="ahead of the ledger"):
        run(folder)


def test_taking_a_charged_step_again_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Plan.batches

    def forgetful(
        self: Plan, randomness: Randomness, saved: dict[str, int], *, first: int = 0
    ) -> Iterable[LogicalBatch]:
        return honest(self, randomness, saved, first=max(0, first - 1))

    monkeypatch.setattr(Plan, "batches", forgetful)
    with pytest.raises(BudgetExceeded):
        killed_and_resumed(new_folder(tmp_path / "run"), MOMENTS["after a charge"], monkeypatch)


# --- what comes out ----------------------------------------------------------------------------

PLANS: dict[str, Plan] = {
    "poisson": PLAN,
    "shuffled": small_plan(steps=8, sampling=Shuffled()),
    "adaptive": small_plan(steps=8, clipping=Clipping(kind="adaptive", norm=0.5, count_noise=1.0)),
    "automatic": small_plan(steps=8, clipping=Clipping(kind="automatic", norm=0.5)),
    "no privacy": small_plan(steps=8, noise=0.0),
}


def differs(folder: RunFolder, plan: Plan, course: Course, seed: int | None = SEED) -> bool:
    """Whether a run that was killed where nothing charged is lost ends up elsewhere."""
    whole, promise = run(None, plan, course=course)
    for step in (2, 5):  # once before the first checkpoint, once between two
        with pytest.raises(Killed):
            run(folder, plan, course=course, seed=seed, watch=killed_after(step))
    resumed, guarantee = run(folder, plan, course=course, seed=seed)
    assert charged_in(folder) == plan.steps
    assert (guarantee == promise) == (seed is not None)
    return not same(whole, resumed)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adam-bc"])
def test_with_a_seed_a_killed_run_ends_where_it_would_have(
    tmp_path: Path, plan: str, optimizer: str
) -> None:
    course = Course(
        optimizer=optimizer, checkpoint_every=EVERY, schedule="cosine", learning_rate=0.01
    )
    assert not differs(new_folder(tmp_path / "run"), PLANS[plan], course)


def test_without_a_seed_a_killed_run_draws_afresh(tmp_path: Path) -> None:
    course = Course(checkpoint_every=EVERY)
    assert differs(new_folder(tmp_path / "run"), PLAN, course, seed=None)


def test_a_forgotten_part_of_a_checkpoint_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = Course(checkpoint_every=EVERY)
    adaptive = PLANS["adaptive"]

    def at_the_first_norm(self: GaussianRelease, sensitivity: float) -> None:
        """Forget what the norm was."""

    def without_optimizer(
        self: Checkpoint, model: torch.nn.Module, optimizer: torch.optim.Optimizer
    ) -> None:
        model.load_state_dict(self.weights)

    with monkeypatch.context() as twin:
        twin.setattr(GaussianRelease, "restore", at_the_first_norm)
        assert differs(new_folder(tmp_path / "norm"), adaptive, course)
    with monkeypatch.context() as twin:
        twin.setattr(Checkpoint, "restore", without_optimizer)
        assert differs(new_folder(tmp_path / "optimizer"), PLAN, course)


def test_the_adapted_norm_is_in_the_checkpoint(tmp_path: Path) -> None:
    folder = new_folder(tmp_path / "run")
    with pytest.raises(Killed):
        run(folder, PLANS["adaptive"], watch=killed_after(EVERY))
    norm = Checkpoint.load(folder.checkpoint).clip_norm
    assert norm != 0.5
    seen: list[float] = []
    honest = PrivateStep.step

    def step(self: PrivateStep, **options: Any) -> None:
        seen.append(self.release.sensitivity)
        honest(self, **options)

    with pytest.MonkeyPatch.context() as spy:
        spy.setattr(PrivateStep, "step", step)
        run(folder, PLANS["adaptive"])
    assert seen[0] == norm
    assert len(seen) == 8 - EVERY


# --- noise -------------------------------------------------------------------------------------


def repeated_noise(folder: RunFolder, patch: pytest.MonkeyPatch) -> int:
    """How often a resumed run, of which charged steps are lost, draws noise it has drawn before."""
    drawn: list[tuple[float, ...]] = []
    honest = add_noise

    def spy(totals: Any, deviation: float, randomness: Randomness, *team: Any) -> torch.Tensor:
        peek = Randomness.reproducible(SEED)
        peek.path = randomness.stream(0).path
        drawn.append(tuple(peek.normal(1, 4)[0]))
        return honest(totals, deviation, randomness, *team)

    with patch.context() as spying:
        spying.setattr(release, "add_noise", spy)
        killed_and_resumed(folder, MOMENTS["after a charge"], patch)
    assert len(drawn) == PLAN.steps, "a step with no noise, or one that was taken twice"
    return len(drawn) - len(set(drawn))


def test_the_noise_of_a_step_never_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert repeated_noise(new_folder(tmp_path / "run"), monkeypatch) == 0

    # The twin counts the steps of its process: after a stop it begins with the noise of step 0.
    class Counting(PrivateStep):
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "steps" and value != 0:
                value = self.__dict__["steps"] + (value == self.__dict__["steps"] + 1)
            super().__setattr__(name, value)

    monkeypatch.setattr(loop, "PrivateStep", Counting)
    assert repeated_noise(new_folder(tmp_path / "twin"), monkeypatch) > 0


# --- what is lost, and what cannot go on ---------------------------------------------------------


def test_lost_steps_are_reported_with_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_folder(tmp_path / "run")
    with monkeypatch.context() as armed:
        MOMENTS["before a checkpoint"](armed, 2)
        with pytest.raises(Killed):
            run(folder)
    assert (kept_in(folder), charged_in(folder)) == (3, 6)
    with pytest.warns(StepsLost, match="3 of 8 steps are charged"):
        run(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepsLost)
        again, _ = run(folder)  # nothing is left to do, and nothing is lost any more
    assert kept_in(folder) == charged_in(folder) == 8
    kept = Checkpoint.load(folder.checkpoint).weights
    assert all(torch.equal(one, kept[name]) for name, one in again.items())


def test_a_run_that_paid_for_everything_and_kept_nothing_is_not_passed_off_as_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_folder(tmp_path / "run")
    course = Course(checkpoint_every=100)
    with monkeypatch.context() as armed:
        MOMENTS["before a checkpoint"](armed, 1)
        with pytest.raises(Killed):
            run(folder, course=course)
    with pytest.raises(CannotResume, match="all 8 steps are charged"):
        run(folder, course=course)


def test_without_its_ledger_a_run_does_not_go_on(tmp_path: Path) -> None:
    folder = new_folder(tmp_path / "run")
    with pytest.raises(Killed):
        run(folder, watch=killed_after(EVERY))
    ledger = folder.ledger.read_bytes()
    folder.ledger.unlink()
    with pytest.raises(CannotResume, match="what was spent is unknown"):
        run(folder)
    assert not folder.ledger.exists()
    folder.checkpoint.rename(folder.path / "elsewhere")
    folder.model.mkdir()
    with pytest.raises(CannotResume, match="what was spent is unknown"):
        run(folder)
    # An older ledger beside a model, or beside newer weights, is refused, too.
    folder.ledger.write_bytes(ledger.splitlines(keepends=True)[0])
    with pytest.raises(CannotResume, match="has lost steps"):
        run(folder)
    folder.model.rmdir()
    (folder.path / "elsewhere").rename(folder.checkpoint)
    with pytest.raises(CannotResume, match="ahead of the ledger"):
        run(folder)


@pytest.mark.parametrize(("first", "second"), [(SEED, 6), (SEED, None), (None, SEED)])
def test_another_seed_does_not_go_on(tmp_path: Path, first: int | None, second: int | None) -> None:
    folder = new_folder(tmp_path / "run")
    with pytest.raises(Killed):
        run(folder, seed=first, watch=killed_after(EVERY))
    before = charged_in(folder)
    with pytest.raises(CannotResume, match="another seed"):
        run(folder, seed=second)
    assert charged_in(folder) == before


def test_another_plan_does_not_go_on(tmp_path: Path) -> None:
    folder = new_folder(tmp_path / "run")
    with pytest.raises(Killed):
        run(folder, watch=killed_after(EVERY))
    with pytest.raises(CannotResume, match="another plan"):
        run(folder, small_plan(steps=8, noise=0.5))
    with pytest.raises(CannotResume, match="another optimizer"):
        run(folder, course=Course(optimizer="sgd"))


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    folder = new_folder(tmp_path / "run")

    def second(_: Progress) -> None:
        with pytest.raises(CannotResume, match="in use"):
            run(folder)

    run(folder, small_plan(steps=8), watch=second)
