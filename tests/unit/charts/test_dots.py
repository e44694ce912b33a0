"""Dots stand where their figures are, with whiskers as long as their intervals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.charts.bars import Line
from sfumato.charts.dots import Dot, DotRow, Dots, dots_picture
from sfumato.charts.shapes import Box, Mark, Picture, Sheet, Stroke


def row(name: str, *dots: Dot) -> DotRow:
    return DotRow(name=name, dots=dots)


def drawn(*rows: DotRow, lines: tuple[Line, ...] = ()) -> Picture:
    picture = dots_picture(Dots(title="Shares, with 95 % intervals", rows=rows, lines=lines))
    assert picture is not None
    return picture


def marks(sheet: Sheet) -> list[Mark]:
    return [one for one in sheet.shapes if isinstance(one, Mark)]


def whiskers(sheet: Sheet) -> list[tuple[float, float]]:
    strokes = [one for one in sheet.shapes if isinstance(one, Stroke) and one.kind == "interval"]
    flat = [one.points for one in strokes if one.points[0][1] == one.points[1][1]]
    return [(points[0][0], points[1][0]) for points in flat]


SHARES = [
    row("one", Dot(said="0.2", value=0.2, low=0.1, high=0.4, label="here")),
    row("other", Dot(said="0.6", value=0.6, label="published", series=1)),
]


@pytest.mark.parametrize("look", ["wide", "narrow"])
def test_places_are_in_proportion_and_whiskers_reach_their_ends(look: str) -> None:
    sheet: Sheet = getattr(drawn(*SHARES), look)
    one, other = marks(sheet)
    ((low, high),) = whiskers(sheet)
    step = (other.x - one.x) / 4
    assert one.x - low == pytest.approx(step)
    assert high - one.x == pytest.approx(2 * step)
    assert (one.kind, other.kind) == ("solid", "hollow")
    assert one.shape != other.shape
    whole = Box(0, 0, sheet.width, sheet.height)
    assert all(said.box.within(whole) for said in sheet.writings())


def test_far_figures_have_a_scale_of_factors_and_say_so() -> None:
    far = [row(str(value), Dot(said=str(value), value=value)) for value in (2.0, 20.0, 200.0)]
    sheet = drawn(*far).narrow
    first, second, third = marks(sheet)
    assert second.x - first.x == pytest.approx(third.x - second.x)
    assert "logarithmic" in " ".join(said.text for said in sheet.writings())
    near = drawn(*SHARES).narrow
    assert "logarithmic" not in " ".join(said.text for said in near.writings())


def test_intervals_below_zero_are_drawn_to_their_end() -> None:
    wide = row("wide", Dot(said="0.1", value=0.1, low=-5.0, high=5.0))
    sheet = drawn(wide, *SHARES).narrow
    low, high = whiskers(sheet)[0]
    assert low > 0
    assert marks(sheet)[0].x - low == pytest.approx((high - low) * 5.1 / 10)


def test_a_range_is_a_whisker_alone() -> None:
    sheet = drawn(row("range", Dot(said="11 to 20", value=None, low=11.0, high=20.0))).narrow
    assert marks(sheet) == []
    assert len(whiskers(sheet)) == 1


def test_a_line_crosses_every_row_at_its_value() -> None:
    sheet = drawn(*SHARES, lines=(Line(value=0.6, name="chance"),)).narrow
    crossing = [one for one in sheet.shapes if isinstance(one, Stroke) and one.kind == "chance"]
    assert {point[0] for one in crossing for point in one.points} == {marks(sheet)[1].x}
    assert len(crossing) == len(SHARES)
    assert "chance" in [said.text for said in sheet.writings()]


def test_a_percentage_is_not_torn_apart_and_nothing_is_no_chart() -> None:
    narrow = replace(SHARES[0], name="x")
    titles = [said.text for said in drawn(narrow).narrow.writings() if said.kind == "title"]
    assert not any(text.startswith("%") for text in titles)
    assert dots_picture(Dots(title="nothing", rows=[row("empty")])) is None
