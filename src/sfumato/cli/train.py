"""``sfumato train``: a model with a proven guarantee, or without one for comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json, stdout

if TYPE_CHECKING:
    from sfumato.corpora.source import Source
    from sfumato.metrics.prediction import Measured
    from sfumato.tokenizers.tokenizer import Tokenizer
    from sfumato.training.bounds import Clipping
    from sfumato.training.loop import Progress
    from sfumato.training.plan import Plan
    from sfumato.training.records import TokenRecords
    from sfumato.training.request import Trained

RunOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="RUN", help="The folder of the run.")
]
AuthorFieldOption = Annotated[
    str | None, typer.Option("--author-field", help="The field that names the author.")
]
LabelFieldOption = Annotated[
    str | None, typer.Option("--label-field", help="The field that holds the label.")
]


def train(  # noqa: PLR0913  # a command's options are its parameters
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="Private text: a file.")],
    output: RunOption,
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="The level to keep; inf: no privacy.")
    ],
    model: Annotated[
        str, typer.Option("--model", help="lstm, gpt-small, a folder or a name on the hub.")
    ] = "gpt-small",
    delta: Annotated[
        str, typer.Option("--delta", help="A number, auto (just below 1/n^1.1) or 1/n.")
    ] = "auto",
    epochs: Annotated[float, typer.Option("--epochs", help="Passes over the data.")] = 3.0,
    batch_size: Annotated[
        str,
        typer.Option(
            "--batch-size", help="Records per step on average; 64,128,256 grows in stages."
        ),
    ] = "64",
    learning_rate: Annotated[float, typer.Option("--learning-rate", help="Step size.")] = 1e-3,
    optimizer: Annotated[
        str, typer.Option("--optimizer", metavar="adam|adam-bc|sgd", help="What takes the steps.")
    ] = "adam",
    schedule: Annotated[
        str, typer.Option("--schedule", metavar="constant|linear|cosine", help="Of the step size.")
    ] = "constant",
    clip_norm: Annotated[
        float, typer.Option("--clip-norm", help="The longest gradient of one unit.")
    ] = 1.0,
    clipping: Annotated[
        str, typer.Option("--clipping", metavar="fixed|automatic|adaptive", help="How it is cut.")
    ] = "fixed",
    sampling: Annotated[
        str, typer.Option("--sampling", metavar="poisson|shuffled", help="Who is in a step.")
    ] = "poisson",
    accountant: Annotated[
        str, typer.Option("--accountant", metavar="pld|rdp", help="Who does the sums.")
    ] = "pld",
    unit: Annotated[
        str, typer.Option("--unit", metavar="example|author", help="Who or what is protected.")
    ] = "example",
    long: Annotated[
        str,
        typer.Option(
            "--long",
            metavar="split|truncate",
            help="Documents beyond the context: pieces that stay one record, or cut off.",
        ),
    ] = "split",
    lora_rank: Annotated[
        int | None, typer.Option("--lora-rank", help="Train low-rank factors only.")
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="A folder with a public tokenizer.")
    ] = None,
    tokenizer_corpus: Annotated[
        str | None,
        typer.Option(
            "--tokenizer-corpus", metavar="FILE", help="Learn the tokenizer from this PUBLIC text."
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option("--classes", metavar="A,B,…", help="Train a classifier with these labels."),
    ] = None,
    valid: Annotated[
        str | None, typer.Option("--valid", metavar="FILE", help="Measure on this file at the end.")
    ] = None,
    field: options.FieldOption = "text",
    author_field: AuthorFieldOption = None,
    label_field: LabelFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    settings: options.SetOption = [],  # noqa: B006
    checkpoint_every: Annotated[
        int, typer.Option("--checkpoint-every", min=1, help="Steps between checkpoints.")
    ] = 50,
    tokens_at_once: Annotated[
        int, typer.Option("--tokens-at-once", min=1, help="What fits into memory.")
    ] = 4096,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a stopped run.")] = False,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Train a model on private text with a guarantee for every record.

    RUN holds the model in Hugging Face's format, guarantee.json, the settings and a ledger of all
    steps. A stopped run goes on with --resume, under the same guarantee.

    Example: sfumato train notes.jsonl -o run --model gpt-small --epsilon 8 --epochs 3
    """
    from sfumato.core.checks import extra
    from sfumato.core.errors import InvalidArgument

    extra("torch", needed_for="training", extra="train")
    from sfumato.corpora.formats.layout import Layout
    from sfumato.corpora.source import Source
    from sfumato.training.course import Course
    from sfumato.training.request import Privacy, Request
    from sfumato.training.request import train as run
    from sfumato.training.run_folder import RunFolder

    if unit == "author" and author_field is None:
        raise InvalidArgument("--unit author needs --author-field, the field that names them")
    if classes is not None and label_field is None:
        raise InvalidArgument("--classes needs --label-field, the field that holds the label")
    own, of_policies = options.settings_from(settings)
    if of_policies:
        raise InvalidArgument("--set takes settings of the model here, such as hidden=200")
    layout = Layout(
        field=field, encoding=encoding, author_field=author_field, label_field=label_field
    )
    source = Source.of(corpus, layout, file_format=file_format)
    checked = Source.of(valid, layout, file_format=file_format) if valid is not None else None
    sizes = _sizes(batch_size)
    documents = _documents(source)
    request = Request(
        model=model,
        privacy=Privacy(
            epsilon=epsilon,
            delta=_number_or_word(delta),
            epochs=epochs,
            batch_sizes=sizes,
            unit=unit,
            sampling=sampling,
            clipping=_clipping(clipping, clip_norm, sizes),
            accountant=accountant,
        ),
        course=Course(
            optimiser=optimizer,
            learning_rate=learning_rate,
            schedule=schedule,
            tokens_at_once=tokens_at_once,
            checkpoint_every=checkpoint_every,
        ),
        kind="causal" if classes is None else "classifier",
        classes=tuple(one.strip() for one in classes.split(",")) if classes else (),
        long=long,
        lora_rank=lora_rank,
        tokenizer=tokenizer
        if tokenizer_corpus is None
        else _learned(Source.of(tokenizer_corpus, layout), source, documents, given=tokenizer),
        settings=own,
        corpus=source.settings() | source.claims(),
        seed=seed,
    )
    with _bar() as announce:
        trained = run(request, documents, RunFolder(output), resume=resume, announce=announce)
    measured = _measured(trained, checked) if checked is not None else []
    _report(trained, measured, as_json=json)


def _documents(source: Source) -> list[Any]:
    from sfumato.core.progress import progress

    with progress("reading", source.size) as advance, source.opened() as (chunks, place):
        documents = []
        for chunk in chunks:
            documents += chunk.documents()
            advance(place())
    return documents


def _learned(
    public: Source, private: Source, documents: list[Any], *, given: str | None
) -> Tokenizer:
    from sfumato.core.errors import InvalidArgument
    from sfumato.tokenizers.publicity import refuse_same_file, train_on_public

    if given is not None:
        raise InvalidArgument("give --tokenizer or --tokenizer-corpus, not both")
    if public.path is not None and private.path is not None:
        refuse_same_file(public.path, private.path)
    return train_on_public(public.documents(), private=documents)


def _sizes(text: str) -> tuple[int, ...]:
    from sfumato.core.errors import InvalidArgument

    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InvalidArgument(
            f"--batch-size={text!r} must be a whole number, or several by commas"
        ) from None


def _clipping(kind: str, norm: float, sizes: tuple[int, ...]) -> Clipping:
    from sfumato.training.bounds import Clipping

    # A twentieth of the batch is what Andrew et al. use for the count.
    return Clipping(
        kind=kind, norm=norm, count_noise=min(sizes) / 20 if kind == "adaptive" else None
    )


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


@contextmanager
def _bar() -> Iterator[Callable[[Plan, TokenRecords], Any]]:
    """A bar with loss, speed and the level so far, when a person is watching."""
    import sys

    if not sys.stderr.isatty():
        yield _announced
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

        def announce(plan: Plan, records: TokenRecords) -> Callable[[Progress], None]:
            from sfumato.training.spending import Spending

            _announced(plan, records)
            task = bars.add_task("", total=plan.steps)
            spending = Spending(plan=plan)

            def watch(now: Progress) -> None:
                level = spending.so_far(now.step) if plan.private else float("inf")
                shown = f"loss {now.loss:.3f}  {now.tokens / now.seconds:,.0f} tokens/s"
                bars.update(task, completed=now.step, description=f"{shown}  ε {level:.3g}")

            return watch

        yield announce


def _announced(plan: Plan, records: TokenRecords) -> None:
    note(records.counts.summary())
    for caution in plan.cautions():
        note(f"warning: {caution}")
    if plan.private:
        note(f"{plan.steps:,} steps with noise multiplier {plan.noise_multiplier:.4g}")
    else:
        note(f"{plan.steps:,} steps without noise or clipping: nothing will be guaranteed")


def _measured(trained: Trained, source: Source) -> list[Measured]:
    from dataclasses import asdict

    from sfumato.core.errors import InvalidArgument
    from sfumato.core.randomness import Randomness
    from sfumato.metrics.prediction import accuracy, perplexity
    from sfumato.training.evaluation import predicted

    if trained.model.classes:
        raise InvalidArgument("--valid measures language models; a classifier has no perplexity")
    scores = predicted(trained.model, _documents(source))
    found = [measure(scores, Randomness.secure()) for measure in (perplexity, accuracy)]
    trained.folder.add_results([asdict(one) | {"corpus": "valid"} for one in found])
    return found


def _report(trained: Trained, measured: list[Measured], *, as_json: bool) -> None:
    from dataclasses import asdict

    if trained.already_finished:
        note("finished already: nothing was done")
    plan = trained.plan
    if as_json:
        print_json(
            {
                "run": str(trained.folder.path),
                "steps": plan.steps,
                "noise_multiplier": plan.noise_multiplier,
                "guarantee": trained.guarantee.as_dict(),
                "sentence": trained.guarantee.sentence(),
                "results": [asdict(one) for one in measured],
            },
            indent=2,
        )
        return
    console = stdout()
    for one in measured:
        console.print(
            f"{one.metric} {one.value:.4g} ({one.low:.4g}–{one.high:.4g}) on {one.n:,} tokens"
        )
    console.print(trained.guarantee.sentence(), markup=False)
    if not trained.guarantee.for_release and plan.private:
        console.print("REPRODUCIBLE: NOT FOR RELEASE (whoever knows the seed can undo the noise)")
