"""``sfumato report``: one page about a study, a privatized file or a training run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json


def report(  # noqa: PLR0913  # a command's options are its parameters
    path: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The folder of a study, a privatized file, or the folder of a training run.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PAGE",
            help="Where to write, as .html, .md or .json. "
            "[default: STUDY/report.html, else OUT.report.html]",
        ),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="html|markdown|json|card",
            help="Otherwise the name of PAGE tells; card is Markdown for a model's README.md.",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples", min=0, max=options.MOST, help="Documents to show before and after."
        ),
    ] = None,
    originals: Annotated[
        Path | None,
        typer.Option(
            "--originals",
            metavar="FILE",
            help="The text before; what was found is counted, and shown only with --samples.",
        ),
    ] = None,
    scores: Annotated[
        list[Path],
        typer.Option(
            "--scores",
            metavar="FILE",
            help="What an attack with --json has found about OUT; repeat for more.",
        ),
    ] = [],  # noqa: B006
    field: options.RecordedFieldOption = [],  # noqa: B006
    overwrite: options.OverwriteOption = False,
    json: options.JsonOption = False,
) -> None:
    """Write one page with charts and tables, to read, print and cite; it needs no network.

    It says what is guaranteed, what was measured, what is missing and what it does not show.
    Private text is on it only with --samples N --originals FILE, and then it says so at the top;
    a study whose corpus is generated or declared public shows samples by itself.

    Example: sfumato report soft.txt --originals notes.txt
    """
    from sfumato.reports.page import HOW, charts_missing
    from sfumato.verbs.report import report as write

    written = write(
        path,
        output,
        format=file_format,
        samples=samples,
        originals=originals,
        scores=scores,
        field=options.only_field(field) if field else None,
        overwrite=overwrite,
    )
    if json:
        print_json(written.as_dict(), indent=2)
        return
    note(f"the report is in {written.path} ({written.size / 1e3:,.0f} kB)")
    if written.private_text:
        note("it contains private text: do not pass it on")
    if written.figures and charts_missing():
        note(f"it has tables in place of charts. {HOW}")
