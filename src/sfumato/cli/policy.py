"""``sfumato scan`` and ``sfumato policy``: what a policy finds, and what it misses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json, stdout, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from sfumato.policies.agreement import Side
    from sfumato.policies.scan import Scan
    from sfumato.policies.scoring import PolicyScores, Precision, Recall
    from sfumato.text.document import Document
    from sfumato.text.span import Spans

app = typer.Typer(help="Measure policies.", no_args_is_help=True)
_COLORS = ("black on yellow", "black on cyan", "black on green", "black on magenta")


@app.callback()
def _group() -> None:
    """Measure policies."""


@app.command("score")
def score(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines with gold spans.")],
    policy: options.PolicyOption = ["pii"],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    settings: options.SetOption = [],  # noqa: B006
    json: options.JsonOption = False,
) -> None:
    """Recall, then precision, per type, on labeled spans.

    Each line of FILE: {"text": …, "spans": [{"start", "end", "label"}]}. A gold span is found
    when all its words are selected, whatever label the policy gave them. A last table says how
    well the borders agree, by type and, if the lines name them, by domain and language.
    """
    from sfumato.verbs.policy import score_policy

    report = score_policy(
        source, policy=policy, exclude=exclude, settings=options.read_settings(settings)
    )
    if not report.recall:
        note("warning: there is no labeled span, so there is nothing to score")
    print_json(report.as_dict(), indent=2) if json else _print_scores(report)


def _print_scores(report: PolicyScores) -> None:
    from rich.table import Table

    console = stdout()
    recall = Table("gold type", "recall", "95 % interval", "found", "partly", "gold", box=None)
    for row in (*report.recall, report.overall_recall):
        recall.add_row(
            row.label, *_shares(row), f"{row.found:,}", f"{row.partly:,}", f"{row.gold:,}"
        )
    precision = Table("found as", "precision", "95 % interval", "right", "found", box=None)
    for found in (*report.precision, report.overall_precision):
        precision.add_row(found.label, *_shares(found), f"{found.right:,}", f"{found.predicted:,}")
    agreement = Table(*_HEADS, box=None)
    for one in report.agreement:
        name = one.name if one.group in ("type", one.name) else f"{one.group} {one.name}"
        agreement.add_row(name, *_borders(one.recall), *_borders(one.precision))
    for table in (recall, precision, agreement):
        console.print(table)
        console.print()
    console.print(
        f"{report.policy}: {report.selected:,} of {report.words:,} words selected "
        f"in {report.documents:,} documents"
    )


_HEADS = (
    *("borders", "gold", "exact", "overlapping", "characters"),
    *("found", "exact", "overlapping", "characters"),
)


def _borders(side: Side) -> Iterator[str]:
    """How many spans, then the three shares with their intervals."""
    yield f"{side.spans:,}"
    for share, (low, high) in zip(side.shares().values(), side.intervals().values(), strict=True):
        yield "–" if share is None else f"{share:.3f} ({low:.2f}–{high:.2f})"


def _shares(row: Recall | Precision) -> tuple[str, str]:
    low, high = row.interval()
    return ("–" if row.share is None else f"{row.share:.3f}", f"{low:.3f}–{high:.3f}")


def scan(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for stdin.")],
    policy: options.PolicyOption = ["pii"],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    settings: options.SetOption = [],  # noqa: B006
    field: options.FieldOption = options.TEXT,
    id_field: options.IdFieldOption = "id",
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    whole_file: options.WholeFileOption = False,
    show: Annotated[
        int, typer.Option("--show", min=0, max=options.MOST, help="Documents to print.")
    ] = 20,
    workers: options.WorkersOption = 1,
    engine: options.EngineOption = "local",
    address: options.AddressOption = None,
    json: options.JsonOption = False,
) -> None:
    """Highlight what a policy finds, count it by type and tell the share of words it selects.

    With --json one line per document: {"id", "spans": [{"start", "end", "label", "rule"}]},
    offsets in characters. This shows originals: it is for your own eyes. With several --workers, or
    with --engine ray, there are counts alone.
    """
    from sfumato.verbs.policy import scan as look

    found = look(
        source,
        policy=policy,
        exclude=exclude,
        settings=options.read_settings(settings),
        field=options.only_field(field),
        id_field=id_field,
        format=file_format,
        encoding=encoding,
        header=not no_header,
        whole_file=whole_file,
        workers=workers,
        engine=engine,
        address=address,
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
    if not found.documents:
        note(
            "warning: the input holds no document, so nothing was looked at; is it the right file?"
        )
    if not json:
        _print_counts(found)
    elif engine != "local" or workers > 1:
        counts = {"documents": found.documents, "words": found.words, "selected": found.selected}
        by_type = [{"label": a, "rule": b, "count": n} for a, b, n in found.by_count()]
        print_json(counts | {"spans": by_type})


def _highlight(document: Document, spans: Spans) -> Text:
    from rich.text import Text

    text, shown, place = visible(document.text), Text(), 0
    for span in spans.disjoint():
        shown.append(text[place : span.start])
        shown.append(text[span.start : span.end], style=_color(span.label))
        shown.append(f" {span.label}", style="dim")
        place = span.end
    return shown.append(text[place:])


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
