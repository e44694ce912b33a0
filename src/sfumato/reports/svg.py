"""Pictures as SVG inside a page: colors come from the page's style, so they suit every look."""

from __future__ import annotations

from math import cos, radians, sin

from sfumato.charts.chart import COLORS
from sfumato.charts.shapes import Bar, Mark, Shape, Sheet, Stroke, Writing
from sfumato.reports.markup import Html, tag

# Where the corners of a shape lie, in degrees from its top.
_CORNERS = {
    "square": (45, 135, 225, 315),
    "triangle": (0, 120, 240),
    "diamond": (0, 90, 180, 270),
    "turned": (60, 180, 300),
}


def draw_sheet(sheet: Sheet, kind: str, description: str) -> Html:
    """A sheet as an element that grows and shrinks with the page; ``kind`` is wide or narrow."""
    size = {"viewbox": f"0 0 {sheet.width:g} {sheet.height:g}"}
    told = {"role": "img", "aria-label": description}
    return tag("svg", {"class": kind, **size, **told}, *(draw_shape(one) for one in sheet.shapes))


def draw_shape(shape: Shape) -> Html:
    """One shape; what it looks like, its classes say."""
    look = {"class": f"{shape.kind} {_series(shape.series)}".strip()}
    match shape:
        case Stroke():
            points = " ".join(f"{_say(x)},{_say(y)}" for x, y in shape.points)
            return tag("polyline", {**look, "points": points})
        case Bar():
            place = {"x": shape.x, "y": shape.y, "width": shape.width, "height": shape.height}
            drawn = {**look, **{key: _say(one) for key, one in place.items()}}
            return tag("rect", drawn, *_tip(shape.said))
        case Mark():
            return _mark(shape, look)
        case Writing():
            return _writing(shape, look)


def _mark(mark: Mark, look: dict[str, str]) -> Html:
    tip = _tip(mark.said)
    if mark.shape == "circle":
        place = {"cx": _say(mark.x), "cy": _say(mark.y), "r": _say(mark.size)}
        return tag("circle", {**look, **place}, *tip)
    if mark.shape == "cross":
        half = mark.size * 0.8
        left, right, top, bottom = (
            _say(one) for one in (mark.x - half, mark.x + half, mark.y - half, mark.y + half)
        )
        path = f"M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}"
        return tag("path", {**look, "d": path}, *tip)
    angles = [radians(corner) for corner in _CORNERS[mark.shape]]
    size = mark.size * 1.25
    points = " ".join(
        f"{_say(mark.x + size * sin(one))},{_say(mark.y - size * cos(one))}" for one in angles
    )
    return tag("polygon", {**look, "points": points}, *tip)


def _writing(said: Writing, look: dict[str, str]) -> Html:
    place = {"x": _say(said.x), "y": _say(said.y), "font-size": _say(said.size)}
    if said.anchor != "start":
        place["text-anchor"] = said.anchor
    if said.turn:
        place["transform"] = f"rotate({said.turn} {_say(said.x)} {_say(said.y)})"
    return tag("text", {**look, **place}, said.text)


def _tip(said: str) -> list[Html]:
    return [tag("title", {}, said)] if said else []


def _series(number: int | None) -> str:
    return "" if number is None else f"s{number % len(COLORS)}"


def _say(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
