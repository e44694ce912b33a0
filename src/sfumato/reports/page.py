"""The frame of a page: one file that asks nobody for anything, to be read in light and in dark.

Style, scripts and data stand in the file. A policy in its head forbids every request, and lets
only those scripts run whose digests it names: text that slipped through as markup would still be
dead. The same input gives the same bytes; a page does not say when it was made. Charts are
described for white paper; on a dark page the same description is drawn with each color exchanged
for one that is seen there. Hues stay, so that a legend read in one look is right in the other.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from sfumato.charts.chart import FAINT_INK, GRID, INK, PAPER
from sfumato.reports.markup import Html, data_block, join, tag
from sfumato.reports.parts import Figure, Notice, Section

DARK_PAPER = "#16191d"

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


@dataclass(frozen=True, kw_only=True)
class Page:
    """Everything that is said, in order. ``kind`` stands above the title."""

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
        """The page as it stands in a file."""
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
