"""What pages are made of: notices at the top, then sections with text and figures.

A figure always comes with its data as a table, which stands open where the libraries that draw are
not installed. Notices say first what a reader must know before passing a page on: that it holds
private text, that its figures were measured on private text, that what it describes must not be
released.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.charts.chart import Chart, needs_charts
from sfumato.core.errors import MissingExtra
from sfumato.reports.markup import Html, Table, fold_table, printable, tag

HOW = "Charts need an extra: pip install 'sfumato[charts]', then make the page again."


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart and its data. ``description`` is read to whoever cannot see the chart.

    Without a chart, because the extra is not installed, the data stand open.
    """

    title: str
    description: str
    table: Table
    chart: Chart | None

    def html(self, place: int) -> Html:
        """The figure as number ``place`` of the page."""
        name = f"figure-{place}"
        said = tag(
            "figcaption",
            {},
            tag("strong", {}, f"Figure {place}. {self.title[:1].upper()}{self.title[1:]}"),
            f" {self.description}",
        )
        if self.chart is None:
            note = tag("p", {"class": "quiet"}, HOW)
            return tag("figure", {"id": name}, said, note, self.table.html())
        holder = tag(
            "div",
            {"class": "chart", "role": "group", "aria-label": self.title, "data-chart": name},
            tag("div", {"class": "light"}),
            tag("div", {"class": "dark"}),
        )
        without = tag(
            "noscript", {}, tag("p", {}, "The chart needs JavaScript; its data stand below.")
        )
        data = fold_table(f"Data of figure {place}", self.table.html(), kind="data")
        return tag("figure", {"id": name}, said, holder, without, data)

    def spec(self) -> dict[str, Any] | None:
        """What the page's script draws."""
        if self.chart is None:
            return None
        described = self.chart.spec | {"description": f"{self.title} {self.description}"}
        spec: dict[str, Any] = _printable(described)
        return spec


def _printable(value: Any) -> Any:
    """The same with every text, names of fields included, as it can be printed.

    Vega-Lite writes names of groups and methods into expressions, as quoted strings; what ends a
    line would break those.
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(key)): _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page under a heading of its own."""

    name: str
    title: str
    parts: Sequence[Html | Figure]


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What a reader must know before anything else; ``kind`` is private, missing or plain."""

    kind: str
    title: str
    text: str

    def html(self) -> Html:
        """A box at the top."""
        said = tag("p", {}, tag("strong", {}, self.title), " ", self.text)
        return tag("div", {"class": f"notice {self.kind}", "role": "note"}, said)


def charts_missing() -> bool:
    """Whether the libraries that draw are not installed."""
    try:
        needs_charts()
    except MissingExtra:
        return True
    return False


def draw_figure(draw: Callable[[], Chart]) -> Chart | None:
    """A chart, or nothing without the libraries that draw."""
    return None if charts_missing() else draw()


def paragraph(*children: str, kind: str = "") -> Html:
    """A paragraph."""
    return tag("p", {"class": kind} if kind else {}, *children)


def bullets(items: Sequence[str]) -> Html:
    """A list."""
    return tag("ul", {}, *(tag("li", {}, item) for item in items))


PRIVATE_TEXT = Notice(
    kind="private",
    title="This page contains private text.",
    text="Documents are shown as they were before they were privatized. Do not pass it on.",
)
MEASURED_ON_PRIVATE_TEXT = Notice(
    kind="plain",
    title="For the owner of the data.",
    text="These figures were measured on private text, and no guarantee covers them. Groups go by "
    "the names that they have in the data, and the study is shown as it was written, with the "
    "patterns and paths in it.",
)
NOT_FOR_RELEASE = Notice(
    kind="missing",
    title="Not for release.",
    text="What this page describes must not be given away; the guarantee says why.",
)
