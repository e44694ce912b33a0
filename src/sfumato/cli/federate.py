"""``sfumato federate``: federated training with a guarantee for every client."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli import options, training_options
from sfumato.cli.train import (
    ModelSetOption,
    RunOption,
    note_warnings,
    noting_what_is_kept,
    report,
    training_bar,
)


def federate(  # noqa: PLR0913  # a command's options are its parameters
    corpus: Annotated[
        str, typer.Argument(metavar="CORPUS", help="The private text of all clients: a file.")
    ],
    output: RunOption,
    author_field: Annotated[
        str,
        typer.Option(
            "--author-field",
            metavar="NAME",
            help="The column or key that names the author of a document; authors are the clients.",
        ),
    ],
    epsilon: training_options.TrainEpsilonOption = None,
    delta: training_options.DeltaOption = "auto",
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, help="How often the server asks.")
    ] = 100,
    clients_per_round: Annotated[
        int,
        typer.Option(
            "--clients-per-round",
            metavar="N",
            min=1,
            help="Clients that are asked in a round, on average: each by a coin of its own.",
        ),
    ] = 64,
    local_epochs: Annotated[
        int,
        typer.Option("--local-epochs", min=1, help="A client's passes over its own documents."),
    ] = 1,
    local_learning_rate: Annotated[
        float, typer.Option("--local-learning-rate", help="Step size of a client.")
    ] = 0.1,
    local_batch_size: Annotated[
        int,
        typer.Option("--local-batch-size", min=1, help="Documents in each step of a client."),
    ] = 8,
    clip_norm: Annotated[
        float,
        typer.Option("--clip-norm", help="Longer updates of a client are shortened to this."),
    ] = 1.0,
    accountant: training_options.AccountantOption = "pld",
    model: Annotated[str, typer.Option("--model", help="As for 'sfumato train'.")] = "gpt-small",
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
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="A,B[,…]",
            help="Train a classifier that tells these apart (needs --label-field).",
        ),
    ] = None,
    tags: training_options.TagsOption = None,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", help="Step size of the server.")
    ] = 1.0,
    optimizer: Annotated[
        str,
        typer.Option(
            "--optimizer",
            metavar="sgd|momentum|adam|adam-bc",
            help="What the server does with the noisy mean of updates; sgd with step size 1 adds "
            "it.",
        ),
    ] = "sgd",
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule",
            metavar="constant|linear|cosine",
            help="How the step size of the server falls.",
        ),
    ] = "constant",
    field: options.FieldOption = options.TEXT,
    label_field: options.LabelFieldOption = None,
    span_field: options.SpanFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    long: Annotated[
        str,
        typer.Option(
            "--long",
            metavar="split|truncate",
            help="Documents beyond the context: pieces that stay one document, or cut off.",
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
        int, typer.Option("--checkpoint-every", min=1, help="Rounds between checkpoints.")
    ] = 1,
    tokens_at_once: Annotated[
        int,
        typer.Option("--tokens-at-once", min=1, help="Fewer need less memory and more time."),
    ] = 4096,
    seed: options.SeedOption = None,
    budget: options.BudgetOption = None,
    account: options.CorpusAccountOption = None,
    budget_key: options.BudgetKeyOption = None,
    json: options.JsonOption = False,
) -> None:
    """Train as a federation would, with a guarantee for every author of a corpus.

    Authors are the clients. In each round some of them are asked, by coins; each trains on its own
    documents, its update is clipped, and the sum of all updates gets noise once. All clients are in
    this process; the same server runs in a deployment of Flower, with clients elsewhere. RUN is a
    run as 'sfumato train' makes it.

    Example: sfumato federate notes.jsonl -o run --author-field author --epsilon 8 --rounds 100
    """
    from sfumato.cli.output import note
    from sfumato.training.folder import RunFolder
    from sfumato.training.methods.base import announcing
    from sfumato.verbs.federate import federate as run_federation

    own, dotted = options.settings_from(settings)
    folder = RunFolder(output)
    if resume and not (folder.config.is_file() or folder.tokenizer.is_dir()):
        note(f"there is no run in {output} yet: a new one begins")
    with note_warnings():
        with noting_what_is_kept(folder), training_bar() as announce, announcing(announce):
            run = run_federation(
                corpus,
                output,
                author_field=author_field,
                epsilon=epsilon,
                delta=training_options.delta_from(delta),
                rounds=rounds,
                clients_per_round=clients_per_round,
                local_epochs=local_epochs,
                local_learning_rate=local_learning_rate,
                local_batch_size=local_batch_size,
                clip_norm=clip_norm,
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
                classes=[one.strip() for one in classes.split(",")] if classes is not None else [],
                tags=[one.strip() for one in tags.split(",")] if tags is not None else [],
                learning_rate=learning_rate,
                optimizer=optimizer,
                schedule=schedule,
                field=options.only_field(field),
                label_field=label_field,
                span_field=span_field,
                format=file_format,
                encoding=encoding,
                header=not no_header,
                long=long,
                valid=valid,
                resume=resume,
                checkpoint_every=checkpoint_every,
                tokens_at_once=tokens_at_once,
                seed=seed,
                budget=budget,
                account=account,
                budget_key=budget_key,
            )
        report(run, as_json=json)
