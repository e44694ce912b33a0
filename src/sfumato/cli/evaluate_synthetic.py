"""``sfumato evaluate-synthetic``: what a synthetic corpus is good for, and what it gives away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import print_json, stdout


def evaluate_synthetic(  # noqa: PLR0913  # a command's options are its parameters
    synthetic: Annotated[Path, typer.Argument(metavar="OUT", help="A synthetic corpus.")],
    originals: Annotated[
        Path, typer.Option("--originals", metavar="IN", help="The records that voted.")
    ],
    held_out: Annotated[
        Path,
        typer.Option("--held-out", metavar="FILE", help="Records like them that had no part."),
    ],
    control: Annotated[
        Path | None,
        typer.Option("--control", metavar="FILE", help="The corpus that noise alone has chosen."),
    ] = None,
    encoder: Annotated[
        str,
        typer.Option(
            "--encoder",
            metavar="FOLDER",
            help="A public sentence encoder. [default: the embedded word vectors]",
        ),
    ] = "",
    field: options.FieldOption = options.TEXT,
    label_field: options.LabelFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Draw the same samples and resamples again.")
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Compare a synthetic corpus with its originals and with held-out records.

    Downstream accuracy beside the control's, nearest distances, shared n-grams, a membership attack
    and diversity. The figures are measured on private records and are covered by no guarantee: they
    are for whoever holds the data, and nothing is written.

    Example: sfumato evaluate-synthetic made.jsonl --originals notes.jsonl --held-out others.jsonl
    """
    from sfumato.verbs.evaluate_synthetic import evaluate_synthetic as evaluate

    found = evaluate(
        synthetic,
        originals=originals,
        held_out=held_out,
        control=control,
        encoder=encoder,
        field=options.only_field(field),
        label_field=label_field,
        format=file_format,
        encoding=encoding,
        header=not no_header,
        seed=seed,
    )
    if json:
        print_json(found.as_dict(), indent=2)
    else:
        stdout().print(repr(found), markup=False)
