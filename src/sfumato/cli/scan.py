"""``sfumato scan``: show what a policy finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import print_json, stdout, visible

if TYPE_CHECKING:
    from rich.text import Text

    from sfumato.policies.scan import Scan
    from sfumato.text.document import Document
    from sfumato.text.span import Spans

_COLORS = ("black on yellow", "black on cyan", "black on green", "black on magenta")


def scan(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for stdin.")],
    policy: options.PolicyOption = ["pii"],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    settings: options.SetOption = [],  # noqa: B006
    field: options.FieldOption = options.TEXT,
    id_field: options.IdFieldOption = "id",
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    whole_file: options.WholeFileOption = False,
    show: Annotated[
        int, typer.Option("--show", min=0, max=options.MOST, help="Documents to print.")
    ] = 20,
    json: options.JsonOption = False,
) -> None:
    """Highlight what a policy finds, count it by type and tell the share of words it selects.

    With --json one line per document: {"id", "spans": [{"start", "end", "label", "rule"}]},
    offsets in characters. This shows originals: it is for your own eyes.
    """
    from sfumato.verbs.scan import scan as look

    found = look(
        source,
        policy=policy,
        exclude=exclude,
        settings=options.read_settings(settings),
        field=options.only_field(field),
        id_field=id_field,
        format=file_format,
        encoding=encoding,
        whole_file=whole_file,
    )
    console = stdout()
    shown = 0
    for document, spans in found:
        if json:
            print_json({"id": document.id, "spans": [span.as_dict() for span in spans]})
        elif len(spans) and shown < show:
            shown += 1
            console.print(f"[dim]─── {found.documents}[/dim]")
            console.print(_highlight(document, spans))
    if not json:
        _print_counts(found)


def _highlight(document: Document, spans: Spans) -> Text:
    from rich.text import Text

    text = Text(visible(document.text))
    for span in spans.disjoint():
        text.stylize(_color(span.label), span.start, span.end)
    for span in reversed(list(spans.disjoint())):
        label = Text(f" {span.label}", style="dim")
        text = text[: span.end] + label + text[span.end :]
    return text


def _color(label: str) -> str:
    return _COLORS[sum(label.encode()) % len(_COLORS)]


def _print_counts(found: Scan) -> None:
    from rich.table import Table

    table = Table("type", "rule", "found", box=None)
    table.columns[2].justify = "right"
    for label, rule, count in found.by_count():
        table.add_row(label, rule, f"{count:,}")
    console = stdout()
    console.print(table)
    console.print(f"{sum(found.counts.values()):,} spans in {found.documents:,} documents")
    share = f" ({found.selected / found.words:.1%})" if found.words else ""
    console.print(f"{found.selected:,} of {found.words:,} words selected{share}", highlight=False)
