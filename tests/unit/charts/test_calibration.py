"""The chart of a calibration: both anchors on every panel, and methods told apart twice."""

from __future__ import annotations

import json
import math
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from sfumato.charts.calibration import apart, calibration_chart
from sfumato.charts.sweeps import Anchor, Labels, Spot, Sweep
from sfumato.core.errors import InvalidArgument

LABELS = Labels(leakage="exposure", utility="perplexity", targets=(2.0,))
ANCHORS = [
    Anchor(name="no privacy", leakage=Spot(value=9.0), utility=Spot(value=20.0)),
    Anchor(name="random output", leakage=Spot(value=1.4), utility=Spot(value=50000.0)),
]


def swept(method: str, parameter: str, *levels: float, fit: bool = True) -> list[Sweep]:
    return [
        Sweep(
            method=method, parameter=parameter, level=level, fitted=float(place) if fit else None,
            leakage=Spot(value=place + 0.1, low=place - 0.2, high=place + 0.4),
            utility=Spot(value=40.0 - place),
        )
        for place, level in enumerate(levels)
    ]  # fmt: skip


SWEEPS = [
    *swept("MDP", "epsilon", 1, 4, 16, math.inf),
    *swept("SMDP", "epsilon", 1, 4, 16, fit=False),
    *swept("DPSGD", "sigma", 0.0, 0.5, 1.0),
]


@cache
def drawn_once(labels: Labels) -> str:
    return json.dumps(calibration_chart(SWEEPS, ANCHORS, labels).spec, allow_nan=False)


def spec(labels: Labels = LABELS) -> dict[str, Any]:
    return json.loads(drawn_once(labels))  # type: ignore[no-any-return]


def panels(drawn: dict[str, Any]) -> list[dict[str, Any]]:
    rows = drawn["vconcat"]
    return [panel for row in rows for panel in row.get("hconcat", [row])]


def values(drawn: dict[str, Any], layer: dict[str, Any]) -> list[dict[str, Any]]:
    data = layer["data"]
    found = drawn["datasets"][data["name"]] if "name" in data else data["values"]
    return list(found)


def test_both_anchors_are_on_every_panel() -> None:
    drawn = spec()
    assert len(panels(drawn)) == 5
    for panel in panels(drawn):
        names = {one.get("name") for layer in panel["layer"] for one in values(drawn, layer)}
        assert {"no privacy", "random output"} <= names


def lines(panel: dict[str, Any]) -> list[dict[str, Any]]:
    return [layer for layer in panel["layer"] if layer["mark"]["type"] == "line"]


def test_methods_differ_by_color_and_by_shape_and_dash() -> None:
    drawn = spec()
    looks = panels(drawn)[0]["layer"][-1]["encoding"]
    for channel in ("color", "shape"):
        given = looks[channel]["scale"]
        assert given["domain"] == ["MDP", "SMDP", "DPSGD"]
        assert len(set(given["range"])) == 3
    dashes = [layer["mark"]["strokeDash"] for layer in lines(panels(drawn)[-1])]
    assert len({json.dumps(dash) for dash in dashes}) == 3


def test_points_stand_at_their_levels_and_infinity_beyond_the_largest() -> None:
    drawn = spec()
    points = values(drawn, panels(drawn)[0]["layer"][-1])
    places = {one["said"]: one["place"] for one in points if one["method"] == "MDP"}
    assert places == {"1": 1, "4": 4, "16": 16, "∞": 32}
    axis = panels(drawn)[0]["layer"][-1]["encoding"]["x"]["axis"]
    assert "∞" in axis["labelExpr"]
    assert panels(drawn)[0]["layer"][-1]["encoding"]["x"]["scale"]["type"] == "log"


def test_a_level_that_is_not_positive_has_a_straight_axis() -> None:
    drawn = spec()
    axis = panels(drawn)[2]["layer"][-1]["encoding"]["x"]
    assert axis["title"] == "sigma"
    assert "type" not in axis["scale"]


def test_an_unfit_method_has_points_and_no_curve() -> None:
    drawn = spec()
    panel = panels(drawn)[0]
    fits = [one["method"] for layer in lines(panel) for one in values(drawn, layer)]
    assert set(fits) == {"MDP"}
    assert {one["method"] for one in values(drawn, panel["layer"][-1])} == {"MDP", "SMDP"}


def test_figures_that_lie_far_apart_stand_on_a_logarithmic_axis() -> None:
    drawn = spec()
    assert panels(drawn)[1]["layer"][-1]["encoding"]["y"]["scale"]["type"] == "log"
    assert "type" not in panels(drawn)[0]["layer"][-1]["encoding"]["y"]["scale"]


def test_points_have_tooltips() -> None:
    for panel in panels(spec()):
        points = [one for one in panel["layer"] if one["mark"]["type"] == "point"]
        assert points
        assert all(one["encoding"]["tooltip"] for one in points)


def test_without_utility_there_is_leakage_only() -> None:
    drawn = spec(Labels(leakage="exposure", utility=None))
    assert len(panels(drawn)) == 2


def test_it_can_be_drawn() -> None:
    picture = calibration_chart(SWEEPS, ANCHORS, LABELS).content("svg").decode()
    assert picture.count(">no privacy<") == 5
    assert ">target 2<" in picture
    for method in ("MDP", "SMDP", "DPSGD"):
        assert f">{method}<" in picture


def test_names_do_not_cover_each_other() -> None:
    heights = [10.0, 11.0, 12.0, 80.0]
    moved = [height + shift for height, shift in zip(heights, apart(heights), strict=True)]
    assert all(after - before >= 13 for before, after in pairwise(moved))
    assert moved[-1] == 80.0


def test_a_chart_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one level"):
        calibration_chart([], ANCHORS, LABELS)
