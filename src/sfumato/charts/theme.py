"""The look that every chart shares: fonts, colours, sizes.

The colours are those of Okabe and Ito, which people with any common kind of colour blindness can
tell apart; what a colour says, a shape, a dash or a label says too. Nothing is registered
anywhere: a chart carries its look along, so that drawing one never changes another.

Reference
    Okabe and Ito 2008, "Color universal design: how to make figures and presentations that are
    friendly to colorblind people".
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

# In the order in which series take them; black stands last because text has it already.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
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
        "range": {"category": list(COLOURS)},
        "line": {"strokeWidth": 2.5},
        "point": {"size": 45, "filled": True},
    }
)
