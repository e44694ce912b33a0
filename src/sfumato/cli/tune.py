"""``sfumato tune``: a search for settings that is charged as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options, training_options
from sfumato.cli.output import in_options, note, print_json, stdout
from sfumato.cli.train import ModelSetOption, RunOption, interval, note_warnings
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.training.loop import Progress
    from sfumato.training.methods.base import Material
    from sfumato.training.plan import TrainingPlan
    from sfumato.verbs.tune import SearchResult


def tune(  # noqa: PLR0913  # a command's options are its parameters
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="The private text: a file.")],
    output: RunOption,
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="The level of the whole search, model included.")
    ],
    search: Annotated[
        list[str],
        typer.Option(
            "--search",
            metavar="KEY=VALUES",
            help="What each trial draws: learning_rate=1e-4..1e-2:log, clip_norm=0.1..1, "
            "batch_size=64,128, epochs, clipping, optimizer, schedule, lora_rank, trainable, or a "
            "setting of a built-in model. The law is public.",
        ),
    ],
    valid: Annotated[
        str | None,
        typer.Option(
            "--valid",
            metavar="FILE",
            help="PUBLIC text: the model that does best on it wins. It costs no privacy.",
        ),
    ] = None,
    hold_out: Annotated[
        float | None,
        typer.Option(
            "--hold-out",
            metavar="SHARE",
            help="Instead: keep this share of the private units out of training, and let a noisy "
            "figure on them decide.",
        ),
    ] = None,
    score: Annotated[
        str,
        typer.Option(
            "--score",
            help="The figure on --valid that decides: perplexity or accuracy; of classifiers "
            "accuracy, matthews or f1. [default: the first]",
        ),
    ] = "",
    trials: Annotated[
        str,
        typer.Option(
            "--trials",
            metavar="LAW",
            help="How the secret number of trials is drawn: geometric, logarithmic (cheaper, often "
            "a single trial, sometimes very many), poisson (dearer, never very many), or the "
            "shape of a truncated negative binomial law.",
        ),
    ] = "geometric",
    trials_mean: Annotated[
        float, typer.Option("--trials-mean", help="The number of trials on average.")
    ] = 8.0,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Say what the search would take, and draw nothing."),
    ] = False,
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
            "--record", metavar="NAME", help="What an example is, for the guarantee; public."
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
    accountant: Annotated[
        str, typer.Option("--accountant", metavar="pld|rdp", help="How the search is charged.")
    ] = "pld",
    model: Annotated[
        str, typer.Option("--model", help="lstm, gpt-small, a folder or a name on the hub.")
    ] = "gpt-small",
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
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="A,B[,…]",
            help="Train a classifier that tells these apart (needs --label-field).",
        ),
    ] = None,
    class_weights: training_options.ClassWeightsOption = None,
    learning_rate: Annotated[float, typer.Option("--learning-rate", help="Step size.")] = 1e-3,
    optimizer: Annotated[
        str,
        typer.Option(
            "--optimizer", metavar="adam|adam-bc|momentum|sgd", help="What takes the steps."
        ),
    ] = "adam",
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule", metavar="constant|linear|cosine", help="How the step size falls."
        ),
    ] = "constant",
    field: options.FieldOption = options.TEXT,
    author_field: options.AuthorFieldOption = None,
    label_field: options.LabelFieldOption = None,
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
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a stopped search: the same trials.")
    ] = False,
    checkpoint_every: Annotated[
        int, typer.Option("--checkpoint-every", min=1, help="Steps between checkpoints.")
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
    """Search for settings and train with them, all of it under one level.

    A secret, random number of trials is made; each draws settings from --search and trains
    privately. RUN then holds the best model, as train leaves it, and its guarantee is for the
    search: nothing of the other trials is kept, not even how many there were. Which model is the
    best is decided on public text (--valid), or by a noisy figure on private units that no trial
    is trained on (--hold-out). A search that was stopped, or killed, goes on with --resume.

    Example: sfumato tune notes.jsonl -o run --epsilon 8 --search learning_rate=1e-4..1e-2:log
    --search batch_size=64,128 --valid public.jsonl --trials-mean 8
    """
    from sfumato.training.methods.base import announcing
    from sfumato.verbs.tune import tune as run_tuning

    own, dotted = options.settings_from(settings)
    weights = training_options.weights_from(class_weights)
    if dotted:
        raise InvalidArgument("a search takes settings of a built-in model only, such as hidden=64")
    if isinstance(weights, str):
        raise InvalidArgument("--class-weights must be numbers: others would count private labels")
    with note_warnings(), _saying_how_to_go_on(), _watching() as announce, announcing(announce):
        found = run_tuning(
            corpus,
            output,
            epsilon=epsilon,
            search=space_from(search),
            valid=valid,
            hold_out=hold_out,
            score=score,
            trials=trials,
            trials_mean=trials_mean,
            estimate=estimate,
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
            settings=own,
            lora_rank=lora_rank,
            trainable=trainable,
            pooling=pooling,
            tokenizer=tokenizer,
            tokenizer_corpus=tokenizer_corpus,
            classes=[one.strip() for one in classes.split(",")] if classes is not None else [],
            class_weights=weights,
            learning_rate=learning_rate,
            optimizer=optimizer,
            schedule=schedule,
            field=options.only_field(field),
            author_field=author_field,
            label_field=label_field,
            format=file_format,
            encoding=encoding,
            header=not no_header,
            long=long,
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
    _report(found, as_json=json)


def space_from(written: list[str]) -> dict[str, object]:
    """What each trial draws.

    >>> space_from(["batch_size=64,128", "learning-rate=1e-4..1e-2:log"])
    {'batch_size': '64,128', 'learning_rate': '1e-4..1e-2:log'}
    """
    found: dict[str, object] = {}
    for one in written:
        name, equals, values = one.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name or not values.strip():
            raise InvalidArgument(f"--search {one} must be KEY=VALUES, such as batch_size=64,128")
        if name in found:
            raise InvalidArgument(f"--search names {name} twice; give all of its values at once")
        found[name] = values.strip()
    return found


@contextmanager
def _saying_how_to_go_on() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        note("what was begun is kept; the same command with --resume goes on with the same trials")
        raise


@contextmanager
def _watching() -> Iterator[Callable[[TrainingPlan, Material], Any]]:
    """A bar for the trial under way, on a terminal only; how many there are is shown nowhere.

    Lines may be kept in a file, and would tell the number of trials; so there are none. Losses are
    not shown, either: whoever sees them may stop a search because of them.
    """
    told: list[bool] = []

    def tell_once(material: Material) -> None:
        if not told:
            told.append(True)
            for line in material.lines():
                note(f"the first trial: {line}")

    if not sys.stderr.isatty():

        def announce(plan: TrainingPlan, material: Material) -> None:  # noqa: ARG001
            tell_once(material)

        yield announce
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("a trial"), BarColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def show(plan: TrainingPlan, material: Material) -> Callable[[Progress], None]:
            tell_once(material)
            for old in list(bars.task_ids):
                bars.remove_task(old)
            task = bars.add_task("", total=plan.steps)
            return lambda now: bars.update(task, completed=now.step)

        yield show


def _report(found: SearchResult, *, as_json: bool) -> None:
    if as_json:
        print_json(found.as_dict(), indent=2)
        return
    console = stdout()
    if found.found is None:
        for line in found.plan.lines():
            console.print(line, markup=False)
        return
    from sfumato.guarantees.guarantee import SEED_LEAK
    from sfumato.results.measured import Measured

    if found.run.already_finished:
        note("finished already: nothing was trained")
    drawn = ", ".join(f"{name}={value}" for name, value in found.chosen.items())
    console.print(f"The best trial had {drawn}", markup=False)
    for row in found.rows():
        one = Measured(row["metric"], row["value"], row["low"], row["high"], row["n"])
        console.print(
            f"{one.metric} {one.value:.4g}{interval(one)} on {row['corpus']}", markup=False
        )
    for line in (*found.guarantee.summary(), f"Exactly: {found.guarantee.sentence()}"):
        console.print(in_options(line), markup=False)
    if SEED_LEAK in found.guarantee.leaks:
        console.print("REPRODUCIBLE: NOT FOR RELEASE (whoever knows the seed can undo the noise)")
