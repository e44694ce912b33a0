"""Every figure of a study as it stands in the results."""

from __future__ import annotations

from sfumato.metrics.rows import COST, Row
from sfumato.reports.numbers import interval, level_of
from sfumato.reports.parts import Section, paragraph
from sfumato.reports.studied import Studied
from sfumato.reports.tables import Cell, Table, folded

# The page stays small; the rest stands in results.jsonl.
MOST_ROWS = 3000
_HEAD = (
    *("method", "level", "seed", "kind", "figure", "by"),
    *("group", "value", "interval", "by chance", "n"),
)


def all_figures(study: Studied) -> Section | None:
    """A long table, folded away."""
    rows = [row for row in study.rows if row.role != COST]
    if not rows:
        return None
    said = f"{len(rows):,} figures, each from one computation with one seed. "
    said += "All digits stand in results.jsonl beside this page."
    if len(rows) > MOST_ROWS:
        said += f" Listed here are the first {MOST_ROWS:,}."
    table = Table(
        caption="Figures as measured; intervals hold with 95 % each",
        head=_HEAD,
        rows=[_row(row) for row in rows[:MOST_ROWS]],
    )
    return Section(
        name="figures",
        title="All figures",
        parts=[paragraph(said), folded("Show all figures", table.html())],
    )


def _row(row: Row) -> list[Cell]:
    group = "all" if row.group_field is None else f"{row.group_field} = {row.group}"
    return [
        row.method,
        level_of(row.parameter, row.level) or "–",
        row.seed,
        row.role,
        row.metric,
        row.by,
        group,
        row.value,
        interval(row.low, row.high),
        row.chance,
        row.n,
    ]
