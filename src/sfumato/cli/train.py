"""``sfumato train``: a model with a proven guarantee, or without one for comparison."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options, training_options
from sfumato.cli.output import note
from sfumato.cli.training import note_warnings, report, training_bar

if TYPE_CHECKING:
    from sfumato.training.folder import RunFolder

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
    sampling: training_options.SamplingOption = "poisson",
    accountant: training_options.AccountantOption = "pld",
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
    public_epochs: training_options.PublicEpochsOption = None,
    public_learning_rate: training_options.PublicRateOption = None,
    lead: training_options.LeadOption = None,
    state: training_options.StateOption = None,
    state_clip_norm: training_options.StateClipOption = None,
    field: options.FieldOption = options.TEXT,
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
    seed: options.SeedOption = None,
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
    with note_warnings():
        with (
            _noting_what_is_kept(RunFolder(output)),
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
                settings=own | dotted,
                lora_rank=lora_rank,
                tokenizer=tokenizer,
                tokenizer_corpus=tokenizer_corpus,
                classes=[one.strip() for one in classes.split(",")] if classes is not None else [],
                learning_rate=learning_rate,
                optimizer=optimizer,
                schedule=schedule,
                public_epochs=public_epochs,
                public_learning_rate=public_learning_rate,
                lead=lead,
                state=state,
                state_clip_norm=state_clip_norm,
                field=options.only_field(field),
                author_field=author_field,
                label_field=label_field,
                format=file_format,
                encoding=encoding,
                long=long,
                valid=valid,
                resume=resume,
                checkpoint_every=checkpoint_every,
                tokens_at_once=tokens_at_once,
                seed=seed,
            )
        report(run, as_json=json)


@contextmanager
def _noting_what_is_kept(folder: RunFolder) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if folder.checkpoint.exists():
            note("the steps so far are saved; the same command with --resume goes on")
        raise
