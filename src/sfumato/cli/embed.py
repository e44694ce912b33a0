"""``sfumato embed``: noisy vectors in the place of texts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import in_options, print_json, warn
from sfumato.core.progress import QUIET


def embed(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[
        str, typer.Argument(metavar="IN", help="The private corpus, or - for stdin.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Where to write: OUT.npy or OUT.parquet."
        ),
    ],
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon", "-e", help="The level of a document; with --tokens, that of a word."
        ),
    ],
    delta: Annotated[
        float, typer.Option("--delta", help="For Gaussian noise: far below one in all documents.")
    ] = 0.0,
    noise: Annotated[
        str, typer.Option("--noise", help="Which noise: 'sfumato list representations'.")
    ] = "laplace",
    settings: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the noise (clip_norm=1)."),
    ] = [],  # noqa: B006
    encoder: Annotated[
        str,
        typer.Option(
            "--encoder",
            metavar="FOLDER|glove",
            help="A public transformer's folder, a file of word vectors, or the embedded ones.",
        ),
    ] = "glove",
    tokens: Annotated[
        bool, typer.Option("--tokens", help="A vector for each word, and not for each document.")
    ] = False,
    pad_to: Annotated[
        int | None,
        typer.Option(
            "--pad-to", metavar="N", help="As many vectors for every document, however long it is."
        ),
    ] = None,
    keep: Annotated[
        list[str],
        typer.Option(
            "--keep", metavar="id,author,label", help="Fields that stand beside the vectors."
        ),
    ] = [],  # noqa: B006
    field: options.FieldOption = options.TEXT,
    id_field: options.IdFieldOption = "id",
    author_field: options.AuthorFieldOption = None,
    label_field: options.LabelFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the finished parts of a stopped run.")
    ] = False,
    overwrite: options.OverwriteOption = False,
    seed: options.SeedOption = None,
    budget: options.BudgetOption = None,
    account: options.AccountOption = None,
    budget_key: options.BudgetKeyOption = None,
    json: options.JsonOption = False,
) -> None:
    """Write noisy vectors of texts, and no text.

    Each text is encoded by itself, its vector is bounded to a public length, and noise is added for
    that: any two documents are told apart no better than --epsilon allows. Beside OUT stands
    OUT.guarantee.json. 'sfumato attack vector-reidentification OUT --originals IN' and its
    neighbors say what the vectors still tell.

    Example: sfumato embed notes.jsonl -o notes.npy --epsilon 50
    """
    from sfumato.files.paths import split_names
    from sfumato.verbs.embed import embed as make

    made = make(
        source,
        output,
        epsilon=epsilon,
        delta=delta,
        noise=noise,
        encoder=encoder,
        tokens=tokens,
        pad_to=pad_to,
        settings=options.read_settings(settings),
        keep=split_names(keep),
        field=options.only_field(field),
        id_field=id_field,
        author_field=author_field,
        label_field=label_field,
        format=file_format,
        encoding=encoding,
        header=not no_header,
        resume=resume,
        overwrite=overwrite,
        seed=seed,
        budget=budget,
        account=account,
        budget_key=budget_key,
    )
    if json:
        print_json(dict(made.summary))
    elif not QUIET.get():
        sys.stdout.write("\n".join(in_options(line) for line in made.lines) + "\n")
    elif not made.guarantee.for_release:
        warn(in_options(made.lines[-1]))
