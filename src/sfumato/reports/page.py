"""A page and its parts: one HTML file that fetches nothing, for light and dark screens.

Style, scripts and data are in the file. A content security policy in its head forbids every
request, and allows only the scripts whose digests it names: even text that slipped through as
markup could not run. The same input gives the same bytes; a page does not say when it was made.
Charts are described for a light page. On a dark page the same description is drawn with other
shades of the same hues, so that a legend means the same on both.

A page has notices at its top, then sections with text and figures. Notices say what a reader must
know before passing a page on: that it contains private text, that its figures were measured on
private text, or that what it describes must not be released. A figure always comes with its data as
a table, which is open if the drawing libraries are not installed.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from sfumato.charts.chart import FAINT_INK, GRID, INK, PAPER, Chart, needs_charts
from sfumato.core.errors import MissingExtra
from sfumato.reports.markup import Html, Table, data_block, fold_table, join, printable, tag

DARK_PAPER = "#16191d"

# What each color of a chart becomes on a dark page.
OTHER_COLORS: MappingProxyType[str, str] = MappingProxyType(
    {
        PAPER: DARK_PAPER,
        INK: "#e6e8ea",
        FAINT_INK: "#9aa3ab",
        GRID: "#2c3238",
        "#0072B2": "#4c9be8",
        "#D55E00": "#f0803c",
        "#009E73": "#2fc496",
        "#CC79A7": "#df95bd",
        "#E69F00": "#f0b429",
        "#56B4E9": "#8fd0f5",
        "#000000": "#ffffff",
    }
)
HOW = "Charts need an extra: pip install 'sfumato[charts]', then make the page again."


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart and its data. ``description`` is for readers who cannot see the chart.

    Without a chart, because the extra is not installed, the table is open.
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
            "noscript", {}, tag("p", {}, "The chart needs JavaScript; its data are below.")
        )
        data = fold_table(f"Data of figure {place}", self.table.html(), kind="data")
        return tag("figure", {"id": name}, said, holder, without, data)

    def spec(self) -> dict[str, Any] | None:
        """The description that the page's script draws; None without a chart."""
        if self.chart is None:
            return None
        described = self.chart.spec | {"description": f"{self.title} {self.description}"}
        spec: dict[str, Any] = _printable(described)
        return spec


def _printable(value: Any) -> Any:
    """The same value with every text and every key made printable.

    Vega-Lite writes names of groups and methods into expressions as quoted strings, which a line
    break would end.
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
        """The notice as a box."""
        said = tag("p", {}, tag("strong", {}, self.title), " ", self.text)
        return tag("div", {"class": f"notice {self.kind}", "role": "note"}, said)


def charts_missing() -> bool:
    """Whether the drawing libraries are missing."""
    try:
        needs_charts()
    except MissingExtra:
        return True
    return False


def draw_figure(draw: Callable[[], Chart]) -> Chart | None:
    """A chart, or None if the drawing libraries are missing."""
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
    text="These figures were measured on private text, and no guarantee covers them. Groups have "
    "the names that they have in the data, and the study's file is shown with its patterns and "
    "paths.",
)
NOT_FOR_RELEASE = Notice(
    kind="missing",
    title="Not for release.",
    text="What this page describes must not be given away; the guarantee says why.",
)


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of a page, in order. ``kind`` is shown above the title."""

    kind: str
    title: str
    lead: str
    notices: Sequence[Notice]
    sections: Sequence[Section]

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the order of their numbers."""
        parts = [part for section in self.sections for part in section.parts]
        return [part for part in parts if isinstance(part, Figure)]

    def content(self) -> bytes:
        """The page as the bytes of a file."""
        specs = [figure.spec() for figure in self.figures]
        charts = {f"figure-{place}": one for place, one in enumerate(specs, start=1) if one}
        scripts = [_asset("report.js")]
        if charts:
            scripts.insert(0, _bundle())
        whole = join(
            [
                Html("<!doctype html>\n"),
                tag("html", {"lang": "en"}, self._head(scripts), self._body(charts, scripts)),
                "\n",
            ]
        )
        return whole.encode()

    def _head(self, scripts: Sequence[str]) -> Html:
        policy = {"http-equiv": "Content-Security-Policy", "content": _policy(scripts)}
        return tag(
            "head",
            {},
            tag("meta", {"charset": "utf-8"}),
            tag("meta", policy),
            tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
            tag("meta", {"name": "referrer", "content": "no-referrer"}),
            tag("meta", {"name": "color-scheme", "content": "light dark"}),
            tag("title", {}, self.title),
            tag("style", {}, Html(_asset("report.css"))),
        )

    def _body(self, charts: dict[str, Any], scripts: Sequence[str]) -> Html:
        top = tag(
            "header",
            {},
            tag("p", {"class": "kind"}, self.kind),
            tag("h1", {}, self.title),
            tag("p", {"class": "lead"}, self.lead),
        )
        made = f"Made by sfumato {version('sfumato')}. This file needs no network."
        return tag(
            "body",
            {},
            tag("a", {"class": "skip", "href": "#content"}, "Skip to the content"),
            *(notice.html() for notice in self.notices if notice.kind == "private"),
            top,
            *(notice.html() for notice in self.notices if notice.kind != "private"),
            self._contents(),
            tag("main", {"id": "content"}, *self._sections()),
            tag("footer", {}, tag("p", {}, made)),
            data_block("charts", charts),
            data_block("colors", OTHER_COLORS),
            *(Html(f"<script>{script}</script>") for script in scripts),
        )

    def _contents(self) -> Html:
        entries = (
            tag("li", {}, tag("a", {"href": f"#{one.name}"}, one.title)) for one in self.sections
        )
        return tag(
            "nav", {"aria-label": "Contents"}, tag("h2", {}, "Contents"), tag("ol", {}, *entries)
        )

    def _sections(self) -> list[Html]:
        numbers = {id(figure): place for place, figure in enumerate(self.figures, start=1)}
        return [
            tag(
                "section",
                {"id": one.name},
                tag("h2", {}, one.title),
                *(
                    part.html(numbers[id(part)]) if isinstance(part, Figure) else part
                    for part in one.parts
                ),
            )
            for one in self.sections
        ]


def _policy(scripts: Sequence[str]) -> str:
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    # Vega writes style attributes; images are what its menu exports.
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return (files("sfumato.reports") / "assets" / name).read_text("utf-8")


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and their embedding, as they come with vl-convert."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    if "</script" in bundle.lower() or "<!--" in bundle or "\r" in bundle:
        # A browser would end the script there, or read other bytes than were digested.
        raise AssertionError("the bundle of Vega cannot stand inside a page")
    return bundle
