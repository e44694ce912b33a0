"""``sfumato train``: a model with a proven guarantee, or without one for comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.training import noted_warnings, report, training_bar
from sfumato.cli.training_files import chosen_tokenizer, read_documents, valid_documents

if TYPE_CHECKING:
    from sfumato.corpora.documents import Document
    from sfumato.metrics.prediction import Measured
    from sfumato.training.bounds import Clipping
    from sfumato.training.request import Trained

RunOption = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="RUN", help="The folder of the run; it is made."),
]
ModelSetOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of a built-in model, such as hidden=100: 'sfumato show models/lstm'.",
    ),
]

LEAST_COUNT_NOISE = 2.0


def train(  # noqa: PLR0913  # a command's options are its parameters
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="The private text: a file.")],
    output: RunOption,
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", "-e", help="The level to keep; inf trains without privacy."),
    ],
    delta: Annotated[
        str, typer.Option("--delta", help="A number, auto (just below 1/n^1.1) or 1/n, n units.")
    ] = "auto",
    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            metavar="example|author",
            help="What is protected as one: each document, or all documents of an author (needs "
            "--author-field).",
        ),
    ] = "example",
    epochs: Annotated[float, typer.Option("--epochs", help="Passes over the data.")] = 3.0,
    batch_size: Annotated[
        str,
        typer.Option(
            "--batch-size",
            metavar="N[,N…]",
            help="Units per step on average; 64,128,256 grows in stages.",
        ),
    ] = "64",
    clip_norm: Annotated[
        float,
        typer.Option("--clip-norm", help="Longer gradients of a unit are shortened to this."),
    ] = 1.0,
    clipping: Annotated[
        str,
        typer.Option(
            "--clipping",
            metavar="fixed|automatic|adaptive",
            help="Cut at that norm, bring all gradients near it, or let it follow their median "
            "(which is charged).",
        ),
    ] = "fixed",
    sampling: Annotated[
        str,
        typer.Option(
            "--sampling",
            metavar="poisson|shuffled",
            help="Secret random batches, or each unit once per epoch (needs more noise).",
        ),
    ] = "poisson",
    accountant: Annotated[
        str,
        typer.Option(
            "--accountant", metavar="pld|rdp", help="Who adds up; pld is tighter, rdp quicker."
        ),
    ] = "pld",
    model: Annotated[
        str, typer.Option("--model", help="lstm, gpt-small, a folder or a name on the hub.")
    ] = "gpt-small",
    settings: ModelSetOption = [],  # noqa: B006
    lora_rank: Annotated[
        int | None,
        typer.Option("--lora-rank", help="Train factors of this rank beside a model's matrices."),
    ] = None,
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
    learning_rate: Annotated[float, typer.Option("--learning-rate", help="Step size.")] = 1e-3,
    optimizer: Annotated[
        str,
        typer.Option(
            "--optimizer",
            metavar="adam|adam-bc|sgd",
            help="What takes the steps; adam-bc knows how much of a gradient is noise.",
        ),
    ] = "adam",
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule", metavar="constant|linear|cosine", help="How the step size falls."
        ),
    ] = "constant",
    field: options.FieldOption = "text",
    author_field: options.AuthorFieldOption = None,
    label_field: options.LabelFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
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
        int, typer.Option("--checkpoint-every", min=1, help="Steps between checkpoints.")
    ] = 50,
    tokens_at_once: Annotated[
        int,
        typer.Option("--tokens-at-once", min=1, help="Fewer need less memory and more time."),
    ] = 4096,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Train a model on private text with a guarantee for every record of it.

    RUN then holds the model in Hugging Face's format, guarantee.json, the settings and a ledger
    of all steps. A run that was stopped, or killed, goes on with --resume under the same
    guarantee. The options down to --accountant decide privacy.

    Example: sfumato train notes.jsonl -o run --model gpt-small --epsilon 8 --epochs 3
    """
    from sfumato.core.checks import extra

    extra("torch", needed_for="training", extra="train")
    from sfumato.corpora.formats.layout import Layout
    from sfumato.corpora.source import Source
    from sfumato.training.course import Course
    from sfumato.training.request import Privacy, Request
    from sfumato.training.request import train as run
    from sfumato.training.run_folder import RunFolder

    _refuse_half_a_request(unit, author_field, classes, label_field)
    sizes = _sizes(batch_size)
    privacy = Privacy(
        epsilon=epsilon,
        delta=_number_or_word(delta),
        epochs=epochs,
        batch_sizes=sizes,
        unit=unit,
        sampling=sampling,
        clipping=_clipping(clipping, clip_norm, sizes),
        accountant=accountant,
    )
    course = Course(
        optimiser=optimizer,
        learning_rate=learning_rate,
        schedule=schedule,
        tokens_at_once=tokens_at_once,
        checkpoint_every=checkpoint_every,
    )
    own = _model_settings(settings)
    names = tuple(one.strip() for one in classes.split(",")) if classes else ()
    RunFolder(output).refuse(resume=resume)
    layout = Layout(
        field=field, encoding=encoding, author_field=author_field, label_field=label_field
    )
    source = Source.of(corpus, layout, file_format=file_format)
    # Whatever is wrong with the other files is said before hours of training, not after.
    checked = [] if valid is None else valid_documents(valid, source, file_format, names)
    documents = read_documents(source)
    request = Request(
        model=model,
        privacy=privacy,
        course=course,
        kind="causal" if classes is None else "classifier",
        classes=names,
        long=long,
        lora_rank=lora_rank,
        tokenizer=chosen_tokenizer(tokenizer, tokenizer_corpus, source, documents),
        settings=own,
        corpus=source.settings() | source.claims(),
        seed=seed,
    )
    with noted_warnings():
        with training_bar() as announce:
            trained = run(request, documents, RunFolder(output), resume=resume, announce=announce)
        measured = _measured(trained, checked)
    report(trained, measured, as_json=json)


def _refuse_half_a_request(
    unit: str, author_field: str | None, classes: str | None, label_field: str | None
) -> None:
    from sfumato.core.errors import InvalidArgument

    if unit == "author" and author_field is None:
        raise InvalidArgument("--unit author needs --author-field, the field that names them")
    if classes is not None and label_field is None:
        raise InvalidArgument("--classes needs --label-field, the field that holds the label")
    if classes is None and label_field is not None:
        raise InvalidArgument(
            "--label-field needs --classes, the labels to tell apart; they are public, so they "
            "are not taken from the data"
        )


def _model_settings(given: list[str]) -> dict[str, object]:
    from sfumato.core.errors import InvalidArgument

    own, of_policies = options.settings_from(given)
    if of_policies:
        raise InvalidArgument("--set takes settings of the model here, such as hidden=200")
    return own


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

    # A twentieth of the batch is what Andrew et al. use for the count; of a small batch that would
    # be so little noise that the count costs more than the gradient.
    noise = max(min(sizes) / 20, LEAST_COUNT_NOISE) if kind == "adaptive" else None
    return Clipping(kind=kind, norm=norm, count_noise=noise)


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _measured(trained: Trained, documents: list[Document]) -> list[Measured]:
    from dataclasses import asdict

    from sfumato.core.randomness import Randomness
    from sfumato.training.evaluation import measured

    if not documents:
        return []
    found = measured(trained.model, documents, Randomness.secure())
    trained.folder.add_results([asdict(one) | {"corpus": "valid"} for one in found])
    return found
