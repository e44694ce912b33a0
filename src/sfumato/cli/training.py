"""What ``sfumato train`` says: before the first step, while it works, at the end.

The files that ``sfumato train`` reads: private text, text to measure on, public text.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sfumato.cli.output import note, print_json, stdout

if TYPE_CHECKING:
    from sfumato.files.source import Source
    from sfumato.models.tokenizer import Tokenizer
    from sfumato.results.measured import Measured
    from sfumato.text.document import Document
    from sfumato.training.loop import Progress
    from sfumato.training.methods import Material
    from sfumato.training.run import AnyPlan, Trained
    from sfumato.training.selective.stretch_records import StretchRecords


@contextmanager
def note_warnings() -> Iterator[None]:
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

        def announce(
            plan: AnyPlan, material: Material | StretchRecords
        ) -> Callable[[Progress], None]:
            from sfumato.training.plan import Plan
            from sfumato.training.spending import Spending

            announce_run(plan, material)
            task = bars.add_task("", total=plan.steps)
            so_far = Spending(plan=plan).so_far if isinstance(plan, Plan) else plan.epsilon

            def watch(now: Progress) -> None:
                level = so_far(now.step) if plan.private else float("inf")
                bars.update(task, completed=now.step, description=describe_run(now, level))

            return watch

        yield announce


def announce_run(plan: AnyPlan, material: Material | StretchRecords) -> None:
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


def describe_run(now: Progress, level: float) -> str:
    """One step in a line.

    >>> from sfumato.training.loop import Progress
    >>> describe_run(Progress(3, 7.25, 5120, 0.5), 1.5)
    'loss 7.250  10,240 tokens/s  ε 1.5'
    """
    from sfumato.guarantees.wording import at_most

    speed = now.tokens / max(now.seconds, 1e-9)
    return f"loss {now.loss:.3f}  {speed:,.0f} tokens/s  ε {at_most(level, 3)}"


def report(trained: Trained, measured: list[Measured], *, as_json: bool) -> None:
    """What came of it."""
    from dataclasses import asdict

    from sfumato.guarantees.guarantee import SEED_LEAK

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
        from sfumato.guarantees.wording import at_most

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


def read_documents(source: Source) -> list[Document]:
    """All documents of a file, with a bar."""
    from sfumato.core.progress import progress

    with progress("reading", source.size) as advance, source.opened() as (chunks, place):
        documents = []
        for chunk in chunks:
            documents += chunk.documents()
            advance(place())
    return documents


def valid_documents(
    path: str, private: Source, file_format: str | None, classes: tuple[str, ...]
) -> list[Document]:
    """What is measured on at the end; not the private corpus, for the figures are written down."""
    from dataclasses import replace

    from sfumato.core.errors import BadInput, InvalidArgument
    from sfumato.files.source import Source

    source = Source.of(path, replace(private.layout, author_field=None), file_format=file_format)
    paths = [one.path for one in (source, private) if one.path is not None and one.path.exists()]
    if len(paths) == 2 and paths[0].samefile(paths[1]):
        raise InvalidArgument(
            f"--valid={path} is the private corpus itself, and what is measured is written to the "
            "folder of the run; 'sfumato evaluate' shows it to you alone"
        )
    documents = read_documents(source)
    if not any(document.text for document in documents):
        raise BadInput(f"--valid={path} holds no text")
    for number, document in enumerate(documents, start=1):
        if classes and (not document.labels or document.labels[0] not in classes):
            raise BadInput(f"document {number} of --valid={path} has none of the classes")
    return documents


def choose_tokenizer(
    folder: str | None, public: str | None, private: Source, documents: list[Document]
) -> str | Tokenizer | None:
    """A tokenizer's folder, or a tokenizer learned from public text, if either is asked for."""
    from dataclasses import replace

    from sfumato.core.errors import InvalidArgument
    from sfumato.files.source import Source
    from sfumato.models.public_text import refuse_same_file, train_on_public

    if public is None:
        return folder
    if folder is not None:
        raise InvalidArgument("give --tokenizer or --tokenizer-corpus, not both")
    source = Source.of(public, replace(private.layout, author_field=None, label_field=None))
    if source.path is not None and private.path is not None:
        refuse_same_file(source.path, private.path)
    return train_on_public(source.documents(), private=documents)
