"""The first chart: nothing is hidden by words, ends and recommendation are named."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from sfumato.charts.bars import Level, bars_picture
from sfumato.charts.multiples import Multiples, multiples_picture
from sfumato.charts.overview import Axis, Overview, Stop, Track, overview_picture
from sfumato.charts.shapes import Bar, Box, Mark, Picture, Sheet, Stroke, Writing
from sfumato.charts.sweeps import Anchor, Spot, Sweep


def stop(level: str, leakage: float, utility: float, wide: float | None = 0.3) -> Stop:
    def spot(value: float) -> Spot:
        return Spot(value=value) if wide is None else Spot(
            value=value, low=value - wide, high=value + wide
        )  # fmt: skip

    return Stop(said=level, leakage=spot(leakage), utility=spot(utility))


SHOWN = Overview(
    leakage=Axis(title="leaks more: exposure", better="lower"),
    utility=Axis(title="more useful: perplexity", better="lower"),
    tracks=[
        Track(name="MDP (all words)", stops=(stop("ε = 3", 1.6, 90), stop("ε = 8", 2.4, 70))),
        Track(name="SMDP (what is found)", stops=(stop("ε = 3", 1.5, 24), stop("ε = 8", 1.7, 22))),
        Track(name="DP-SGD", stops=(stop("ε = 2", 1.45, 60, wide=None), stop("ε = 8", 1.5, 45))),
    ],
    ends=[
        Track(name="no privacy", stops=(stop("", 7.9, 20),)),
        Track(name="random output", stops=(stop("", 1.4, 99),)),
    ],
    chance=1.44,
    recommended=("SMDP (what is found)", "ε = 8"),
)


def drawn(shown: Overview = SHOWN) -> Picture:
    picture = overview_picture(shown)
    assert picture is not None
    return picture


def covered(sheet: Sheet) -> list[tuple[str, str]]:
    """Words that stand on each other or leave the sheet."""
    whole = Box(0, 0, sheet.width, sheet.height)
    writings = [one for one in sheet.writings() if one.kind in ("name", "chosen", "level")]
    over = [
        (one.text, other.text)
        for one, other in combinations(writings, 2)
        if one.box.meets(other.box)
    ]
    return over + [(one.text, "edge") for one in writings if not one.box.within(whole)]


@pytest.mark.parametrize("look", ["wide", "narrow"])
def test_no_name_covers_another(look: str) -> None:
    sheet: Sheet = getattr(drawn(), look)
    assert covered(sheet) == []
    # The twin: the same words, all in one place.
    heap = tuple(
        replace(one, x=100.0, y=100.0) if isinstance(one, Writing) else one for one in sheet.shapes
    )
    assert covered(replace(sheet, shapes=heap))


def test_ends_and_recommendation_are_named_on_the_chart() -> None:
    said = " ".join(one.text for one in drawn().wide.writings())
    for name in ("no privacy", "random output", "recommended", "MDP (all words)", "chance"):
        assert name in said
    rings = [one for one in drawn().wide.shapes if isinstance(one, Mark) and one.kind == "ring"]
    assert len(rings) == 1
    without = drawn(replace(SHOWN, recommended=None))
    assert "recommended" not in " ".join(one.text for one in without.wide.writings())


@pytest.mark.parametrize("look", ["wide", "narrow"])
def test_a_scale_of_factors_is_called_so_and_no_word_stands_on_chance(look: str) -> None:
    near, far = (
        replace(SHOWN, ends=[Track(name="random output", stops=(stop("", 1.4, useless),))])
        for useless in (90, 900)
    )
    for shown, logarithmic in ((near, False), (far, True)):
        sheet: Sheet = getattr(drawn(shown), look)
        titles = [one.text for one in sheet.writings() if one.kind == "title"]
        assert any(text.endswith(" (log)") for text in titles) is logarithmic
        (line,) = [one for one in sheet.shapes if isinstance(one, Stroke) and one.kind == "chance"]
        x, top, bottom = line.points[0][0], line.points[0][1], line.points[1][1]
        names = [one for one in sheet.writings() if one.kind in ("name", "level")]
        assert not [one.text for one in names if one.box.meets(Box(x, top, x + 0.1, bottom))]


def test_better_is_up_and_left_whichever_way_figures_run() -> None:
    def places(shown: Overview) -> dict[str, tuple[float, float]]:
        marks = [one for one in drawn(shown).wide.shapes if isinstance(one, Mark)]
        return {one.said.partition(".")[0]: (one.x, one.y) for one in marks if one.kind == "end"}

    for utility in ("lower", "higher"):
        turned = replace(SHOWN, utility=Axis(title="u", better=utility))
        found = places(turned)
        left, lower = found["random output"], found["no privacy"]
        assert left[0] < lower[0]
        # A perplexity of 20 is better than one of 99, an accuracy is not.
        assert (left[1] > lower[1]) == (utility == "lower")


def test_a_figure_without_an_interval_is_hollow() -> None:
    marks = [one for one in drawn().wide.shapes if isinstance(one, Mark) and one.series == 2]
    assert [one.kind for one in marks] == ["hollow", "solid"]
    assert "no interval is known" in marks[0].said


def test_nothing_to_draw_is_no_chart() -> None:
    assert overview_picture(replace(SHOWN, tracks=[Track(name="a", stops=())])) is None
    assert bars_picture([]) is None


def test_panels_share_their_scale() -> None:
    sweeps = [
        Sweep(
            method=name, parameter="epsilon", level=level, leakage=Spot(value=value), utility=None
        )
        for name, level, value in (("a", 1, 2.0), ("a", 2, 4.0), ("b", 1, 2.0), ("b", 2, 9.0))
    ]
    picture = multiples_picture(
        Multiples(
            leakage=Axis(title="leaks", better="lower"), utility=None, sweeps=sweeps,
            ends=[Anchor(name="no privacy", leakage=Spot(value=10.0), utility=None)],
            notes={"a": "metric DP", "b": "approximate DP"},
        )
    )  # fmt: skip
    assert picture is not None
    first, _, second, _ = (one for one in picture.wide.shapes if isinstance(one, Mark))
    assert first.y == second.y  # the same figure stands at the same height
    across = [
        one for one in picture.wide.shapes if isinstance(one, Stroke) and one.kind == "chance"
    ]
    assert len(across) == 2
    said = [one.text for one in picture.wide.writings()]
    assert "ε (metric DP)" in said
    assert "ε (approximate DP)" in said


def test_bars_are_as_long_as_their_figures() -> None:
    picture = bars_picture([Level(name=n, value=v, said=str(v)) for n, v in (("a", 4), ("b", 1))])
    assert picture is not None
    for sheet in (picture.wide, picture.narrow):
        bars = [one for one in sheet.shapes if isinstance(one, Bar) and one.kind == "bar"]
        long, short = (one.width for one in bars)
        assert long == pytest.approx(4 * short)


def test_leakage_that_is_only_bounded_is_hollow_and_keeps_its_interval() -> None:
    track = SHOWN.tracks[0]
    bounded = replace(track, stops=tuple(replace(one, bounded=True) for one in track.stops))

    def kinds(sheet: Sheet) -> list[str]:
        return [one.kind for one in sheet.shapes if isinstance(one, Mark) and one.series == 0]

    def lines(sheet: Sheet) -> list[Stroke]:
        return [one for one in sheet.shapes if isinstance(one, Stroke) and one.kind == "interval"]

    known = drawn().wide
    only = drawn(replace(SHOWN, tracks=[bounded, *SHOWN.tracks[1:]])).wide
    assert (kinds(known), kinds(only)) == (["solid"] * 2, ["hollow"] * 2)
    assert lines(known) == lines(only)


def misleading(sheet: Sheet) -> list[str]:
    """Names to which a mark of another method is nearer than their own, and no line leads away."""
    marks = [one for one in sheet.shapes if isinstance(one, Mark) and one.said]
    ends = [one.points[-1] for one in sheet.shapes if isinstance(one, Stroke)
            and one.kind == "leader"]  # fmt: skip
    found = []
    for words in sheet.writings():
        if words.kind != "name":
            continue
        box = words.box
        ways = {mark.said: box.distance(mark.x, mark.y) for mark in marks}
        own = min(away for said, away in ways.items() if said.startswith(words.text))
        led = any(box.distance(*end) < 3 for end in ends)
        if own > min(ways.values()) and not led:
            found.append(words.text)
    return found


CROWDED = replace(
    SHOWN,
    tracks=[
        Track(name=name, stops=tuple(stop(f"ε = {one}", 1.5 + one / 40, 30 + one) for one in at))
        for name, at in (
            ("MDP", (1, 4)), ("SMDP", (2, 5)), ("masks", (3, 6)), ("DP-SGD", (1.5, 4.5)),
            ("rewriting", (2.5, 5.5)),
        )
    ],
    recommended=None,
)  # fmt: skip


@pytest.mark.parametrize("look", ["wide", "narrow"])
def test_a_name_among_marks_of_others_is_led_to_its_own(look: str) -> None:
    sheet: Sheet = getattr(drawn(CROWDED), look)
    assert covered(sheet) == []
    assert misleading(sheet) == []
    # The twin: without its lines, some name would be taken for another's.
    without = [one for one in sheet.shapes if getattr(one, "kind", "") != "leader"]
    assert len(without) < len(sheet.shapes)
    assert misleading(replace(sheet, shapes=tuple(without)))
