"""What ``sfumato train`` says: before the first step, while it works, at the end."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sfumato.cli.output import note, print_json, stdout

if TYPE_CHECKING:
    from sfumato.metrics.prediction import Measured
    from sfumato.training.loop import Progress
    from sfumato.training.methods import Material
    from sfumato.training.request import AnyPlan, Trained
    from sfumato.training.selective.stretch_records import StretchRecords


@contextmanager
def noted_warnings() -> Iterator[None]:
    """Warnings as notes of one line, without the place in the code."""
    with warnings.catch_warnings():
        warnings.showwarning = _as_note  # type: ignore[assignment]  # it needs no more
        yield


@contextmanager
def training_bar() -> Iterator[Callable[[AnyPlan, Material | StretchRecords], Any]]:
    """A bar with loss, speed and the level so far, when a person is watching.

    The loss is private: it is drawn on a terminal, and the bar is wiped out at the end.
    """
    if not sys.stderr.isatty():
        yield announced
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def announce(
            plan: AnyPlan, material: Material | StretchRecords
        ) -> Callable[[Progress], None]:
            from sfumato.training.plan import Plan
            from sfumato.training.spending import Spending

            announced(plan, material)
            task = bars.add_task("", total=plan.steps)
            so_far = Spending(plan=plan).so_far if isinstance(plan, Plan) else plan.epsilon

            def watch(now: Progress) -> None:
                level = so_far(now.step) if plan.private else float("inf")
                bars.update(task, completed=now.step, description=described(now, level))

            return watch

        yield announce


def announced(plan: AnyPlan, material: Material | StretchRecords) -> None:
    """What is about to be done, for the owner of the text."""
    from sfumato.training.methods import Material
    from sfumato.training.plan import Plan

    if not isinstance(material, Material):
        note(material.summary())
    elif material.public is not None and material.selected is not None:
        note(f"public stream: {material.public.counts.summary()}")
        note(f"private stream: {material.records.counts.summary()}")
        note(f"{material.selected:.1%} of all tokens are private")
    else:
        note(material.records.counts.summary())
    if plan.private:
        stages = plan.stages if isinstance(plan, Plan) else (plan,)
        noise = dict.fromkeys(f"{stage.noise_multiplier:.4g}" for stage in stages)
        note(f"{plan.steps:,} steps with noise multiplier {', then '.join(noise)}")
    else:
        lacking = "noise or clipping" if isinstance(plan, Plan) else "noise"
        note(f"{plan.steps:,} steps without {lacking}: nothing will be guaranteed")


def described(now: Progress, level: float) -> str:
    """One step in a line.

    >>> from sfumato.training.loop import Progress
    >>> described(Progress(3, 7.25, 5120, 0.5), 1.5)
    'loss 7.250  10,240 tokens/s  ε 1.5'
    """
    from sfumato.accounting.wording import at_most

    speed = now.tokens / max(now.seconds, 1e-9)
    return f"loss {now.loss:.3f}  {speed:,.0f} tokens/s  ε {at_most(level, 3)}"


def report(trained: Trained, measured: list[Measured], *, as_json: bool) -> None:
    """What came of it."""
    from dataclasses import asdict

    from sfumato.accounting.guarantee import SEED_LEAK

    if trained.already_finished:
        note("finished already: nothing was trained")
    plan, guarantee = trained.plan, trained.guarantee
    beside = as_in_the_paper(plan)
    if as_json:
        print_json(
            {
                "run": str(trained.folder.path),
                "steps": plan.steps,
                "noise_multiplier": plan.noise_multiplier,
                "guarantee": guarantee.as_dict(),
                "sentence": guarantee.sentence(),
                "results": [asdict(one) for one in measured],
            }
            | ({"as_in_the_paper": beside} if beside else {}),
            indent=2,
        )
        return
    console = stdout()
    counted = "labels" if trained.model.classes else "tokens"
    for one in measured:
        console.print(
            f"{one.metric} {one.value:.4g}{interval(one)} on {one.n:,} {counted}", markup=False
        )
    console.print(guarantee.sentence(), markup=False)
    if beside and plan.private:
        from sfumato.accounting.wording import at_most

        level = f"epsilon {at_most(beside['epsilon'], 4)} at delta {at_most(beside['delta'])}"
        console.print(f"As in the paper: {level}, {beside['why']}.", markup=False)
    if plan.private and SEED_LEAK in guarantee.leaks:
        console.print("REPRODUCIBLE: NOT FOR RELEASE (whoever knows the seed can undo the noise)")
    elif plan.private and not guarantee.for_release:
        console.print("AN EXPERIMENT: NOT FOR RELEASE (the policy drops what it finds on purpose)")


def as_in_the_paper(plan: AnyPlan) -> dict[str, Any]:
    """The level of another accounting, where a paper has one; empty otherwise."""
    from sfumato.training.selective.interleaved_plan import InterleavedPlan

    return plan.as_in_the_paper() if isinstance(plan, InterleavedPlan) else {}


def interval(one: Measured) -> str:
    """The interval of a figure in parentheses, if it has one."""
    return "" if one.low is None else f" ({one.low:.4g}–{one.high:.4g})"


def _as_note(message: Warning | str, *_: object) -> None:
    note("warning: " + " ".join(str(message).split()))
