"""What ``sfumato train`` says: before the first step, while it works, at the end."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sfumato.cli.output import note, print_json, stdout

if TYPE_CHECKING:
    from sfumato.results.measured import Measured
    from sfumato.training.loop import Progress
    from sfumato.training.methods.base import Material
    from sfumato.training.plan import TrainingPlan
    from sfumato.training.run import Run


@contextmanager
def note_warnings() -> Iterator[None]:
    """Warnings as notes of one line, without the place in the code."""
    with warnings.catch_warnings():
        warnings.showwarning = _as_note  # type: ignore[assignment]  # it needs no more
        yield


@contextmanager
def training_bar() -> Iterator[Callable[[TrainingPlan, Material], Any]]:
    """A bar with loss, speed and the level so far, when a person is watching.

    The loss is private: it is drawn on a terminal, and the bar is wiped out at the end.
    """
    if not sys.stderr.isatty():
        yield announce_run
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

        def announce(plan: TrainingPlan, material: Material) -> Callable[[Progress], None]:
            announce_run(plan, material)
            task = bars.add_task("", total=plan.steps)

            def watch(now: Progress) -> None:
                level = plan.so_far(now.step) if plan.private else float("inf")
                bars.update(task, completed=now.step, description=describe_run(now, level))

            return watch

        yield announce


def announce_run(plan: TrainingPlan, material: Material) -> None:
    """What is about to be done, for the owner of the text."""
    for line in (*material.lines(), plan.summary()):
        note(line)


def describe_run(now: Progress, level: float) -> str:
    """One step in a line.

    >>> from sfumato.training.loop import Progress
    >>> describe_run(Progress(3, 7.25, 5120, 0.5), 1.5)
    'loss 7.250  10,240 tokens/s  ε 1.5'
    """
    from sfumato.guarantees.wording import at_most

    speed = now.tokens / max(now.seconds, 1e-9)
    return f"loss {now.loss:.3f}  {speed:,.0f} tokens/s  ε {at_most(level, 3)}"


def report(run: Run, *, as_json: bool) -> None:
    """What came of a run of this process."""
    from dataclasses import asdict

    from sfumato.guarantees.guarantee import SEED_LEAK

    if run.already_finished:
        note("finished already: nothing was trained")
    plan, guarantee = run.plan, run.guarantee
    beside = plan.as_in_the_paper()
    if as_json:
        print_json(
            {
                "run": str(run.folder),
                "steps": plan.steps,
                "noise_multiplier": plan.noise_multiplier,
                "guarantee": guarantee.as_dict(),
                "sentence": guarantee.sentence(),
                "results": [asdict(one) for one in run.measured],
            }
            | ({"as_in_the_paper": beside} if beside else {}),
            indent=2,
        )
        return
    console = stdout()
    counted = "labels" if run.model.classes else "tokens"
    for one in run.measured:
        console.print(
            f"{one.metric} {one.value:.4g}{interval(one)} on {one.n:,} {counted}", markup=False
        )
    console.print(guarantee.sentence(), markup=False)
    if beside and plan.private:
        from sfumato.guarantees.wording import at_most

        level = f"epsilon {at_most(beside['epsilon'], 4)} at delta {at_most(beside['delta'])}"
        console.print(f"As in the paper: {level}, {beside['why']}.", markup=False)
    if plan.private and SEED_LEAK in guarantee.leaks:
        console.print("REPRODUCIBLE: NOT FOR RELEASE (whoever knows the seed can undo the noise)")
    elif plan.private and not guarantee.for_release:
        console.print("AN EXPERIMENT: NOT FOR RELEASE (the policy drops what it finds on purpose)")


def interval(one: Measured) -> str:
    """The interval of a figure in parentheses, if it has one."""
    return "" if one.low is None else f" ({one.low:.4g}–{one.high:.4g})"


def _as_note(message: Warning | str, *_: object) -> None:
    note("warning: " + " ".join(str(message).split()))
