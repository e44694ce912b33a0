"""A picture as a file of its own, for pages that are not reports.

It brings its paper along, so that it can be read wherever it is shown, and turns dark where the
reader's system is. Variables and mixed colors are written out, because not every program that shows
SVG knows them. Nothing is fetched and nothing runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sfumato.charts.chart import COLORS, FAINT_INK, GRID, INK, PAPER
from sfumato.charts.shapes import Sheet
from sfumato.reports.html import OTHER_COLORS, read_asset
from sfumato.reports.markup import escape
from sfumato.reports.svg import draw_shape

# Sheets for narrow screens are shown larger where there is room.
ENLARGED = 1.25
MARGIN = 10

_LIGHT = {"paper": PAPER, "ink": INK, "faint": FAINT_INK, "rule": GRID}
_LIGHT |= {"panel": "#f4f6f8", "good": "#0b6b43"}
_DARK = {name: OTHER_COLORS.get(color, color) for name, color in _LIGHT.items()}
_DARK |= {"panel": "#1f2429", "good": "#6fd6a5"}
_RULE = re.compile(r"^(\.picture [^{]+) \{ (.+) \}$", re.MULTILINE)
_MIXED = re.compile(r"color-mix\(in srgb, (#\w{6}) (\d+)%, (#\w{6})\)")


def draw_file(sheet: Sheet, description: str) -> bytes:
    """A sheet as the bytes of an SVG file; the description is for those who cannot see it."""
    width, height = sheet.width + 2 * MARGIN, sheet.height + 2 * MARGIN
    corner = f'x="{-MARGIN}" y="{-MARGIN}"'
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="{-MARGIN} {-MARGIN} {width:g} {height:g}" width="{width * ENLARGED:g}" '
        f'height="{height * ENLARGED:g}" role="img" aria-label="{escape(description)}">',
        f"<style>{_style(sheet)}</style>",
        f'<rect class="sheet" {corner} width="{width:g}" height="{height:g}"/>',
        *(draw_shape(one) for one in sheet.shapes),
        "</svg>",
    ]
    return ("\n".join(drawn) + "\n").encode()


def _style(sheet: Sheet) -> str:
    """The rules that a sheet needs, and those among them that differ on a dark page."""
    light = list(_rules(sheet, _LIGHT, COLORS))
    dark = _rules(sheet, _DARK, [OTHER_COLORS[one] for one in COLORS])
    other = [rule for rule in dark if rule not in light]
    return "\n".join(["", *light, "@media (prefers-color-scheme: dark) {", *other, "}", ""])


def _rules(sheet: Sheet, colors: Mapping[str, str], series: Sequence[str]) -> Iterator[str]:
    """The look of pictures with all colors written out."""
    yield f".sheet {{ fill: {colors['paper']}; }}"
    used = {(one.kind, None if one.series is None else one.series % len(series)) for one in
            sheet.shapes}  # fmt: skip
    numbers = sorted({number for _, number in used if number is not None})
    kinds = {f".{kind}" for kind, _ in used} | {"text", "polyline"}
    for found in _RULE.finditer(read_asset("picture.css")):
        named = (one.removeprefix(".picture ") for one in found[1].split(", "))
        wanted = [one for one in named if one in kinds]
        if not wanted:
            continue
        look = re.sub(r"var\(--(\w+)\)", lambda name: colors[name[1]], found[2])
        yield f"{', '.join(wanted)} {{ {_written(look, colors['ink'])} }}"
        if "currentcolor" in look:
            for number in numbers:
                own = (f"{one}.s{number}" for one in wanted)
                yield f"{', '.join(own)} {{ {_written(look, series[number])} }}"


def _written(look: str, color: str) -> str:
    """A look in one color."""
    return _MIXED.sub(
        lambda found: _mix(found[1], found[3], int(found[2]) / 100),
        look.replace("currentcolor", color),
    )


def _mix(color: str, other: str, share: float) -> str:
    """So much of one color, and the rest of another.

    >>> _mix("#ff0000", "#000000", 0.5)
    '#800000'
    """
    pairs = ((int(color[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)
