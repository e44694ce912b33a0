"""A chart and its files: SVG, PNG, HTML that needs no network, or its Vega-Lite description.

Everything is drawn on this machine. A chart that asks for data from elsewhere is refused, because
what is drawn may be private.

All charts share fonts, colors and sizes. The colors are those of Okabe and Ito, which people with
any common kind of color blindness can tell apart. A shape, a dash or a label repeats what a color
says. Each chart contains its look, and nothing is registered globally, so drawing one chart never
changes another.

Reference
    Okabe and Ito 2008, "Color universal design: how to make figures and presentations that are
    friendly to colorblind people".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import extra
from sfumato.core.errors import StorageFailed, UnknownName
from sfumato.core.files import refuse_existing, write_whole

if TYPE_CHECKING:
    import altair


# In the order in which series use them; black is last because text uses it.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK = "#222222"
FAINT_INK = "#666666"
GRID = "#e4e4e4"
PAPER = "#ffffff"
FONT = "Helvetica Neue, Arial, Liberation Sans, DejaVu Sans, sans-serif"
WIDTH, HEIGHT = 360, 260
BAND_OPACITY = 0.22

_AXIS: dict[str, Any] = {
    "labelFontSize": 11,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "titlePadding": 10,
    "labelColor": INK,
    "titleColor": INK,
    "gridColor": GRID,
    "domainColor": FAINT_INK,
    "tickColor": FAINT_INK,
    "labelOverlap": "greedy",
}

LOOK: MappingProxyType[str, Any] = MappingProxyType(
    {
        "background": PAPER,
        "font": FONT,
        "padding": 16,
        "view": {"stroke": None},
        "axis": _AXIS,
        "legend": {
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": INK,
            "symbolStrokeWidth": 2.5,
            "labelLimit": 320,
        },
        "header": {"labelColor": INK, "titleColor": INK},
        "title": {
            "anchor": "start",
            "fontSize": 13,
            "fontWeight": "bold",
            "color": INK,
            "subtitleColor": FAINT_INK,
            "subtitleFontSize": 11,
            "subtitlePadding": 6,
            "offset": 12,
        },
        "range": {"category": list(COLORS)},
        "line": {"strokeWidth": 2.5},
        "point": {"size": 45, "filled": True},
    }
)


# The menu must not offer to send the chart to an editor on another server.
_MENU = {"embedOptions": {"actions": {"export": True, "source": False, "editor": False}}}
# Twice the size in points, so that a PNG is sharp on paper and on dense screens.
SCALE = 2.0


@dataclass(frozen=True, eq=False)
class Chart:
    """A Vega-Lite description, with the look that all charts share."""

    spec: dict[str, Any]

    @classmethod
    def of(cls, drawing: altair.TopLevelMixin) -> Chart:
        """A chart from an Altair drawing, with the look that all charts share."""
        return cls({**drawing.to_dict(), "config": dict(LOOK), "usermeta": _MENU})

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the chart in the format that the file's name says, completely or not at all."""
        target = Path(path)
        content = self.content(format_of(target))
        refuse_existing(target, overwrite=overwrite)
        try:
            write_whole(target, content)
        except OSError as error:
            raise StorageFailed(f"cannot write {target}: {error.strerror}") from None

    def content(self, name: str) -> bytes:
        """The chart in a format, as the bytes of a file."""
        return _DRAWN[name](self.spec)


@dataclass(frozen=True)
class Parts:
    """Parts of one chart, each written out by itself, with the data of all of them."""

    datasets: dict[str, Any] = field(default_factory=dict)

    def written(self, drawing: altair.TopLevelMixin) -> dict[str, Any]:
        """One part; its data is kept with that of the others."""
        part: dict[str, Any] = drawing.to_dict(
            context={"top_level": False, "datasets": self.datasets}
        )
        return part

    def chart(self, together: dict[str, Any]) -> Chart:
        """The chart that is made of what was written."""
        import altair

        whole = {"$schema": altair.SCHEMA_URL, **together, "datasets": self.datasets}
        return Chart({**whole, "config": dict(LOOK), "usermeta": _MENU})


def ready_for(path: Path, *, overwrite: bool) -> None:
    """Check before a long run that its chart can be written: format, file, installed extra."""
    format_of(path)
    refuse_existing(path, overwrite=overwrite)
    needs_charts()


def needs_charts() -> None:
    """Raise an error if the drawing libraries are not installed."""
    for module in ("altair", "vl_convert"):
        extra(module, needed_for="a chart", extra="charts")


def format_of(path: Path) -> str:
    """The format that a file name asks for.

    >>> format_of(Path("words.SVG"))
    'svg'
    """
    name = path.suffix.lower().removeprefix(".")
    if name not in _DRAWN:
        raise UnknownName("format of charts", path.suffix or path.name, [f".{n}" for n in _DRAWN])
    return name


def _svg(spec: dict[str, Any]) -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]).encode()


def _png(spec: dict[str, Any]) -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_png(spec, scale=SCALE, allowed_base_urls=[])


def _html(spec: dict[str, Any]) -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_html(spec, bundle=True).encode()


def _json(spec: dict[str, Any]) -> bytes:
    return (json.dumps(spec, ensure_ascii=False, indent=2) + "\n").encode()


_DRAWN: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "html": _html,
    "json": _json,
    "png": _png,
    "svg": _svg,
}
