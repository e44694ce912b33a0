"""``sfumato measure``: what a privatized text, a model or a mechanism keeps or gives away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import cell, print_json, stdout

if TYPE_CHECKING:
    from sfumato.studies.measures.measure import Measurement


def measure(  # noqa: PLR0913  # a command's options are its parameters
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A measure: 'sfumato list measures'.")
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="A privatized file, or the folder of a run or of a model."
        ),
    ],
    originals: Annotated[
        Path | None,
        typer.Option("--originals", metavar="FILE", help="What a privatized file was made from."),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", metavar="FILE", help="The text that a model is tried on."),
    ] = None,
    settings: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the measure."),
    ] = [],  # noqa: B006
    field: options.FieldOption = options.TEXT,
    author_field: options.AuthorFieldOption = None,
    label_field: options.LabelFieldOption = None,
    span_field: options.SpanFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Draw the same samples and resamples again.")
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Measure a privatized text, a model or a mechanism.

    Every figure comes with its interval over documents, where it has one, and with which way is
    better. Measures of a text compare it with --originals; those of a model try it on --corpus. The
    figures are measured on private text and are a release of their own. 'sfumato show
    measures/NAME' says what a measure counts and which settings it has.

    Example: sfumato measure readability soft.jsonl --originals notes.jsonl
    """
    from sfumato.core.errors import InvalidArgument
    from sfumato.verbs.measure import measure as take_measure

    own, of_policies = options.settings_from(settings)
    if of_policies:
        raise InvalidArgument(
            "--set takes settings of the measure here: 'sfumato show measures/NAME'"
        )
    found = take_measure(
        name,
        target,
        originals=originals,
        corpus=corpus,
        settings=own,
        field=options.only_field(field),
        author_field=author_field,
        label_field=label_field,
        span_field=span_field,
        format=file_format,
        encoding=encoding,
        header=not no_header,
        seed=seed,
    )
    print_json(found.as_dict(), indent=2) if json else _print(found)


def _print(found: Measurement) -> None:
    from rich.table import Table

    from sfumato.studies.measures.measure import HEAD

    console = stdout()
    console.print(found.measure, style="bold", markup=False)
    if not found.rows:
        console.print(found.none, markup=False)
        return
    table = Table(HEAD[0], box=None)
    for title in HEAD[1:]:
        table.add_column(title, justify="right", no_wrap=True)
    for line in found.lines():
        table.add_row(*(cell(one) for one in line))
    console.print(table)
