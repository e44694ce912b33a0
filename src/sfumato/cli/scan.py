"""``sfumato scan``: show what a policy finds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import print_json, stdout, visible

if TYPE_CHECKING:
    from rich.text import Text

    from sfumato.text.document import Document
    from sfumato.text.span import Spans

_COLORS = ("black on yellow", "black on cyan", "black on green", "black on magenta")


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
    show: Annotated[
        int, typer.Option("--show", min=0, max=options.MOST, help="Documents to print.")
    ] = 20,
    json: options.JsonOption = False,
) -> None:
    """Highlight what a policy finds, count it by type and tell the share of words it selects.

    With --json one line per document: {"id", "spans": [{"start", "end", "label", "rule"}]},
    offsets in characters. This shows originals: it is for your own eyes.
    """
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.policies.policy import find_in
    from sfumato.text.words import Words

    mechanism_settings, of_policies = options.settings_from(settings)
    options.refuse_mechanism_settings(mechanism_settings)
    chosen = options.policy_from(policy, exclude, of_policies)
    layout = Layout(field=field, id_field=id_field, encoding=encoding, whole_file=whole_file)
    documents = Source.of(source, layout, file_format=file_format).documents()
    console = stdout()
    counts: Counter[tuple[str, str]] = Counter()
    total = shown = words_read = selected = 0
    for document, spans in find_in(chosen, documents):
        total += 1
        if json:
            print_json({"id": document.id, "spans": [span.as_dict() for span in spans]})
            continue
        counts.update((span.label, span.rule) for span in spans)
        words = Words.of(document.text)
        words_read, selected = words_read + len(words), selected + len(spans.select(words))
        if len(spans) and shown < show:
            shown += 1
            console.print(f"[dim]─── {total}[/dim]")
            console.print(_highlight(document, spans))
    if not json:
        _print_counts(counts, total)
        share = f" ({selected / words_read:.1%})" if words_read else ""
        console.print(f"{selected:,} of {words_read:,} words selected{share}", highlight=False)


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


def _print_counts(counts: Counter[tuple[str, str]], total: int) -> None:
    from rich.table import Table

    table = Table("type", "rule", "found", box=None)
    table.columns[2].justify = "right"
    for (label, rule), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(label, rule, f"{count:,}")
    stdout().print(table)
    stdout().print(f"{sum(counts.values()):,} spans in {total:,} documents")
