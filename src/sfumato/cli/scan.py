"""``sfumato scan``: show what a policy finds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import print_json, stdout, visible

if TYPE_CHECKING:
    from rich.text import Text

    from sfumato.corpora.documents import Document
    from sfumato.corpora.spans import Spans

_COLOURS = ("black on yellow", "black on cyan", "black on green", "black on magenta")


def scan(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for stdin.")],
    policy: options.PolicyOption = ["pii"],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    settings: options.SetOption = [],  # noqa: B006
    field: options.FieldOption = "text",
    id_field: options.IdFieldOption = "id",
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    whole_file: options.WholeFileOption = False,
    show: Annotated[int, typer.Option("--show", min=0, help="Documents to print.")] = 20,
    json: options.JsonOption = False,
) -> None:
    """Highlight what a policy finds and count it by type.

    With --json one line per document: {"id", "spans": [{"start", "end", "label", "rule"}]},
    offsets in characters. This shows originals: it is for your own eyes.
    """
    from sfumato.corpora.formats.layout import Layout
    from sfumato.corpora.source import Source

    mechanism_settings, of_policies = options.settings_from(settings)
    options.refuse_mechanism_settings(mechanism_settings)
    chosen = options.policy_from(policy, exclude, of_policies)
    layout = Layout(field=field, id_field=id_field, encoding=encoding, whole_file=whole_file)
    documents = Source.of(source, layout, file_format=file_format).documents()
    console = stdout()
    counts: Counter[tuple[str, str]] = Counter()
    total = shown = 0
    for document in documents:
        total += 1
        spans = chosen.find(document)
        if json:
            print_json({"id": document.id, "spans": [span.as_dict() for span in spans]})
            continue
        counts.update((span.label, span.rule) for span in spans)
        if len(spans) and shown < show:
            shown += 1
            console.print(f"[dim]─── {total}[/dim]")
            console.print(_highlighted(document, spans))
    if not json:
        _print_counts(counts, total)


def _highlighted(document: Document, spans: Spans) -> Text:
    from rich.text import Text

    text = Text(visible(document.text))
    for span in spans.disjoint():
        text.stylize(_colour(span.label), span.start, span.end)
    for span in reversed(list(spans.disjoint())):
        label = Text(f" {span.label}", style="dim")
        text = text[: span.end] + label + text[span.end :]
    return text


def _colour(label: str) -> str:
    return _COLOURS[sum(label.encode()) % len(_COLOURS)]


def _print_counts(counts: Counter[tuple[str, str]], total: int) -> None:
    from rich.table import Table

    table = Table("type", "rule", "found", box=None)
    table.columns[2].justify = "right"
    for (label, rule), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(label, rule, f"{count:,}")
    stdout().print(table)
    stdout().print(f"{sum(counts.values()):,} spans in {total:,} documents")
