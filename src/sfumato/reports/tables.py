"""Tables: a header for every column and every row, and a place to scroll when they are wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.reports.markup import Html, joined, tag
from sfumato.reports.numbers import number

Cell = str | float | int | None


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under a caption; the first cell of a row names it. Numbers stand to the right."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def html(self) -> Html:
        """The table in a box that scrolls by itself, also with the keyboard."""
        numeric = [self._numeric(place) for place in range(len(self.head))]
        head = joined(
            tag("th", {"scope": "col", "class": "number" if right else "words"}, title)
            for title, right in zip(self.head, numeric, strict=True)
        )
        body = joined(tag("tr", {}, *_cells(row, numeric)) for row in self.rows)
        table = tag(
            "table",
            {},
            tag("caption", {}, self.caption),
            tag("thead", {}, tag("tr", {}, head)),
            tag("tbody", {}, body),
        )
        box = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": self.caption}
        return tag("div", box, table)

    def _numeric(self, place: int) -> bool:
        cells = [row[place] for row in self.rows]
        known = [cell for cell in cells if cell is not None]
        return bool(known) and not any(isinstance(cell, str) for cell in known)


def _cells(row: Sequence[Cell], numeric: Sequence[bool]) -> list[Html]:
    named, *others = row
    return [
        tag("th", {"scope": "row"}, _said(named)),
        *(
            tag("td", {"class": "number" if right else "words"}, _said(cell))
            for cell, right in zip(others, numeric[1:], strict=True)
        ),
    ]


def _said(cell: Cell) -> str:
    return cell if isinstance(cell, str) else number(cell)


def properties(caption: str, values: Sequence[tuple[str, Cell]]) -> Html:
    """Two columns: what, and what it is."""
    return Table(caption=caption, head=("what", "value"), rows=values).html()


def folded(summary: str, *content: Html, kind: str = "more") -> Html:
    """Content behind a line that opens it."""
    return tag("details", {"class": kind}, tag("summary", {}, summary), *content)
