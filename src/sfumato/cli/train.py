"""``sfumato train``: a model with a proven guarantee, or without one for comparison."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options, training_options
from sfumato.cli.output import follows, in_options, note, print_json, stdout

if TYPE_CHECKING:
    from sfumato.results.measured import Measured
    from sfumato.training.folder import RunFolder
    from sfumato.training.loop import Progress
    from sfumato.training.methods.base import Material
    from sfumato.training.plan import TrainingPlan
    from sfumato.training.run import Run

RunOption = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="RUN", help="The folder of the run; it is made."),
]
ModelSetOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of a built-in model, such as hidden=100 ('sfumato show models/lstm'), of "
        "the method as METHOD.KEY=VALUE, or of a policy as POLICY.KEY=VALUE.",
    ),
]


def train(  # noqa: PLR0913  # a command's options are its parameters
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="The private text: a file.")],
    output: RunOption,
    epsilon: training_options.TrainEpsilonOption = None,
    method: training_options.MethodOption = "private",
    policy: options.PolicyOption = [],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    gold: training_options.GoldOption = None,
    policy_key: training_options.PolicyKeyOption = None,
    delta: training_options.DeltaOption = "auto",
    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            metavar="example|author",
            help="What is protected as one: each document, or all documents of an author (needs "
            "--author-field).",
        ),
    ] = "example",
    record: Annotated[
        str,
        typer.Option(
            "--record",
            metavar="NAME",
            help="What an example is, for the guarantee: paragraph, article, support ticket. "
            "The name is public.",
        ),
    ] = "",
    epochs: Annotated[float, typer.Option("--epochs", help="Passes over the data.")] = 3.0,
    batch_size: training_options.BatchSizeOption = "64",
    noise_schedule: training_options.NoiseScheduleOption = "1",
    clip_norm: Annotated[
        float,
        typer.Option("--clip-norm", help="Longer gradients of a unit are shortened to this."),
    ] = 1.0,
    clipping: training_options.ClippingOption = "fixed",
    sampling: training_options.SamplingOption = "auto",
    accountant: training_options.AccountantOption = "pld",
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="lstm, gpt-small, bert-small, t5-small-from-scratch, a folder or a name on the "
            "hub; for a classifier also bag-of-words, cnn or bilstm.",
        ),
    ] = "gpt-small",
    objective: training_options.ObjectiveOption = None,
    settings: ModelSetOption = [],  # noqa: B006
    lora_rank: Annotated[
        int | None,
        typer.Option("--lora-rank", help="Train factors of this rank beside a model's matrices."),
    ] = None,
    trainable: training_options.TrainableOption = None,
    pooling: training_options.PoolingOption = None,
    tokenizer: Annotated[
        str | None,
        typer.Option("--tokenizer", metavar="FOLDER", help="A public tokenizer, for a new model."),
    ] = None,
    tokenizer_corpus: Annotated[
        str | None,
        typer.Option(
            "--tokenizer-corpus",
            metavar="FILE",
            help="Learn the tokenizer from this PUBLIC text; the private one is refused.",
        ),
    ] = None,
    tokenizer_epsilon: training_options.TokenizerEpsilonOption = None,
    tokenizer_words: training_options.TokenizerWordsOption = None,
    tokenizer_size: training_options.TokenizerSizeOption = None,
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="A,B[,…]",
            help="Train a classifier that tells these apart (needs --label-field).",
        ),
    ] = None,
    class_separator: training_options.ClassSeparatorOption = "",
    tags: training_options.TagsOption = None,
    class_weights: training_options.ClassWeightsOption = None,
    group_weights: training_options.GroupWeightsOption = [],  # noqa: B006
    control_codes: training_options.ControlCodesOption = False,
    learning_rate: Annotated[float, typer.Option("--learning-rate", help="Step size.")] = 1e-3,
    optimizer: Annotated[
        str,
        typer.Option(
            "--optimizer",
            metavar="adam|adam-bc|momentum|sgd",
            help="What takes the steps; adam-bc knows how much of a gradient is noise.",
        ),
    ] = "adam",
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule", metavar="constant|linear|cosine", help="How the step size falls."
        ),
    ] = "constant",
    public_epochs: training_options.PublicEpochsOption = None,
    public_learning_rate: training_options.PublicRateOption = None,
    public_batch_size: training_options.PublicBatchOption = None,
    lead: training_options.LeadOption = None,
    fill: training_options.FillOption = None,
    fill_patterns: training_options.FillPatternOption = None,
    fill_epsilon: training_options.FillEpsilonOption = None,
    state: training_options.StateOption = None,
    state_clip_norm: training_options.StateClipOption = None,
    field: options.FieldOption = options.TEXT,
    author_field: options.AuthorFieldOption = None,
    label_field: options.LabelFieldOption = None,
    span_field: options.SpanFieldOption = None,
    group_field: training_options.GroupFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    long: Annotated[
        str,
        typer.Option(
            "--long",
            metavar="split|truncate",
            help="Documents beyond the context: pieces that stay one record, or cut off.",
        ),
    ] = "split",
    valid: Annotated[
        str | None,
        typer.Option(
            "--valid",
            metavar="FILE",
            help="Measure on this file at the end; the guarantee does not cover the figures.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a stopped run, or finish it.")
    ] = False,
    checkpoint_every: Annotated[
        int,
        typer.Option(
            "--checkpoint-every",
            min=1,
            help="Steps between checkpoints; after five minutes there is one in any case.",
        ),
    ] = 50,
    tokens_at_once: Annotated[
        int,
        typer.Option("--tokens-at-once", min=1, help="Fewer need less memory and more time."),
    ] = 4096,
    recompute: training_options.RecomputeOption = "nothing",
    precision: training_options.PrecisionOption = "float32",
    device: training_options.DeviceOption = "cpu",
    seed: options.SeedOption = None,
    budget: options.BudgetOption = None,
    account: options.CorpusAccountOption = None,
    budget_key: options.BudgetKeyOption = None,
    json: options.JsonOption = False,
) -> None:
    """Train a model on private text with a guarantee for every record of it.

    RUN then holds the model in Hugging Face's format, guarantee.json, the settings and a ledger
    of all steps. A run that was stopped, or killed, goes on with --resume under the same
    guarantee; Ctrl-C saves the step under way first, and a second one does not. The options down
    to --accountant decide privacy. With --method selective --policy POLICY only what the policy
    finds is protected, and all noise is spent on that.

    Example: sfumato train notes.jsonl -o run --model gpt-small --epsilon 8 --epochs 3
    """
    from sfumato.training.folder import RunFolder
    from sfumato.training.methods.base import announcing
    from sfumato.verbs.train import train as run_training

    own, dotted = options.settings_from(settings)
    folder = RunFolder(output)
    if resume and not (folder.config.is_file() or folder.tokenizer.is_dir()):
        note(f"there is no run in {output} yet: a new one begins")
    with note_warnings():
        with (
            noting_what_is_kept(folder),
            training_bar() as announce,
            announcing(announce),
        ):
            run = run_training(
                corpus,
                output,
                method=method,
                epsilon=epsilon,
                policy=policy,
                exclude=exclude,
                policy_key=policy_key,
                gold=gold,
                delta=training_options.delta_from(delta),
                unit=unit,
                record=record,
                epochs=epochs,
                batch_size=training_options.sizes_from(batch_size),
                noise_schedule=training_options.noise_from(noise_schedule),
                clip_norm=clip_norm,
                clipping=clipping,
                sampling=sampling,
                accountant=accountant,
                model=model,
                objective=objective,
                settings=own | dotted,
                lora_rank=lora_rank,
                trainable=trainable,
                pooling=pooling,
                tokenizer=tokenizer,
                tokenizer_corpus=tokenizer_corpus,
                tokenizer_epsilon=tokenizer_epsilon,
                tokenizer_words=tokenizer_words,
                tokenizer_size=tokenizer_size,
                classes=[one.strip() for one in classes.split(",")] if classes is not None else [],
                class_separator=class_separator,
                tags=[one.strip() for one in tags.split(",")] if tags is not None else [],
                class_weights=training_options.weights_from(class_weights),
                group_weights=training_options.groups_from(group_weights),
                control_codes=control_codes,
                learning_rate=learning_rate,
                optimizer=optimizer,
                schedule=schedule,
                public_epochs=public_epochs,
                public_learning_rate=public_learning_rate,
                public_batch_size=public_batch_size,
                lead=lead,
                fill=fill,
                fill_patterns=fill_patterns or None,
                fill_epsilon=fill_epsilon,
                state=state,
                state_clip_norm=state_clip_norm,
                field=options.only_field(field),
                author_field=author_field,
                label_field=label_field,
                span_field=span_field,
                group_field=group_field,
                format=file_format,
                encoding=encoding,
                header=not no_header,
                long=long,
                valid=valid,
                resume=resume,
                checkpoint_every=checkpoint_every,
                tokens_at_once=tokens_at_once,
                recompute=recompute,
                precision=precision,
                device=device,
                seed=seed,
                budget=budget,
                account=account,
                budget_key=budget_key,
            )
        if not follows():
            report(run, as_json=json)


@contextmanager
def noting_what_is_kept(folder: RunFolder) -> Iterator[None]:
    """Say after Ctrl-C that a run can go on."""
    try:
        yield
    except KeyboardInterrupt:
        if folder.checkpoint.exists():
            note("the steps so far are saved; the same command with --resume goes on")
        raise


@contextmanager
def note_warnings() -> Iterator[None]:
    """Warnings as notes of one line, without the place in the code."""
    with warnings.catch_warnings():
        warnings.showwarning = _as_note  # type: ignore[assignment]  # it needs no more
        yield


@contextmanager
def training_bar() -> Iterator[Callable[[TrainingPlan, Material], Any]]:
    """A bar with loss, speed and the level so far, when a person is watching; else lines.

    The loss is private: it is drawn on a terminal, and the bar is wiped out at the end. Lines may
    be kept in a file, so they have steps and the time left only.
    """
    if not sys.stderr.isatty():
        yield _announce_in_lines
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


def _announce_in_lines(plan: TrainingPlan, material: Material) -> Callable[[Progress], None] | None:
    from sfumato.core.progress import QUIET, Lines

    announce_run(plan, material)
    if QUIET.get():
        return None
    lines = Lines("training", plan.steps, "steps")
    return lambda now: lines.reach(now.step)


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
                "results": [one.as_dict() for one in run.measured],
            }
            | ({"as_in_the_paper": beside} if beside else {})
            | ({"parts": run.parts} if run.parts else {})
            | ({"epsilon_by_group": run.epsilon_by_group} if run.epsilon_by_group else {}),
            indent=2,
        )
        return
    console = stdout()
    counted = "labels" if run.model.classes else "documents" if run.model.tags else "tokens"
    for one in run.measured:
        console.print(
            f"{one.metric} {one.value:.4g}{interval(one)} on {one.n:,} {counted}", markup=False
        )
    for line in (*guarantee.summary(), f"Exactly: {guarantee.sentence()}"):
        console.print(in_options(line), markup=False)
    if run.parts:
        from sfumato.training.vocabulary import say_parts

        console.print(f"Of this: {say_parts(run.parts)}", markup=False)
    if run.epsilon_by_group:
        from sfumato.guarantees.wording import at_most

        levels = (f"{name} {at_most(one, 4)}" for name, one in run.epsilon_by_group.items())
        said = f"Epsilon for records whose group is known: {', '.join(levels)}"
        console.print(said, markup=False)
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
