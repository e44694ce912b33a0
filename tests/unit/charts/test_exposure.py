"""Charts of exposure draw what they were given: every canary, and means by level."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sfumato.charts.chart import Chart
from sfumato.charts.exposure import NEVER, MeanExposure, exposure_chart, repetitions_chart
from sfumato.core.errors import InvalidArgument


def canary(times: int, exposure: float, method: str = "exact") -> dict[str, Any]:
    return {
        "template": "My ID is {}.", "secret": "0042", "repetitions": times, "method": method,
        "exposure": exposure, "space": 10**4,
    }  # fmt: skip


def mean(times: int, value: float, low: float | None, method: str = "exact") -> dict[str, Any]:
    high = None if low is None else value + 1
    return {
        "method": method, "repetitions": times, "mean": value, "low": low, "high": high, "n": 2,
    }  # fmt: skip


DETAILS: dict[str, Any] = {
    "canaries": [canary(10, 9.0), canary(10, 13.0), canary(0, 1.0)],
    "means": [mean(0, 1.0, None), mean(10, 11.0, 7.0)],
    "never_planted": [{"method": "exact", "places": 10**4, "exposures": [0.1, 0.5, 1.0, 4.0]}],
}


def drawn(chart: Chart) -> list[list[dict[str, Any]]]:
    """The rows of every layer, in the order in which they are drawn."""
    return [
        chart.spec["datasets"][layer["data"]["name"]]
        if "name" in layer["data"]
        else layer["data"]["values"]
        for layer in chart.spec["layer"]
    ]


def test_every_canary_and_every_mean_is_drawn() -> None:
    rows = drawn(exposure_chart(DETAILS))
    points = [(row["repetitions"], row["exposure"]) for row in rows[-3]]
    assert points == [("10", 9.0), ("10", 13.0), ("0", 1.0)]
    assert [(row["repetitions"], row["exposure"]) for row in rows[-1]] == [("0", 1.0), ("10", 11.0)]


def test_an_interval_that_is_not_known_is_not_drawn() -> None:
    (interval,) = drawn(exposure_chart(DETAILS))[-2]
    assert (interval["low"], interval["high"]) == (7.0, 12.0)


def test_the_law_of_chance_and_the_ceiling_are_drawn() -> None:
    (law,) = drawn(exposure_chart(DETAILS))[0]
    assert law["high"] == pytest.approx(math.log2(20))
    assert law["mean"] == pytest.approx(1 / math.log(2))
    assert law["ceiling"] == pytest.approx(math.log2(10**4))


def test_controls_stand_beside_the_canaries() -> None:
    chart = exposure_chart(DETAILS)
    (control,) = next(row for row in drawn(chart) if row[0].get("repetitions") == NEVER)
    assert control["n"] == 4
    assert control["mean"] == pytest.approx(1.4)
    order = chart.spec["layer"][-1]["encoding"]["x"]["sort"]
    assert order == [NEVER, "0", "10"]


def test_only_methods_that_were_used_are_in_the_legend() -> None:
    details = {
        "canaries": [canary(1, 2.0, "sampled"), canary(1, 2.5, "extrapolated")],
        "means": [mean(1, 2.0, 1.0, "sampled"), mean(1, 2.5, None, "extrapolated")],
    }
    color = exposure_chart(details).spec["layer"][-1]["encoding"]["color"]
    assert color["scale"]["domain"] == ["sampled", "extrapolated"]


def test_it_can_be_drawn() -> None:
    assert exposure_chart(DETAILS).content("svg").startswith(b"<svg")


def test_a_chart_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one canary"):
        exposure_chart({"canaries": [], "means": []})


def level_mean(method: str, level: float | None, times: int, how: str = "exact") -> MeanExposure:
    return MeanExposure(
        method=method, level=level, repetitions=times, exposure=times + 0.5, low=None, high=None,
        how=how,
    )  # fmt: skip


def level_rows(chart: Chart) -> list[dict[str, Any]]:
    data = chart.spec["data"]
    found: list[dict[str, Any]] = data.get("values") or chart.spec["datasets"][data["name"]]
    return found


def test_a_panel_for_each_method_with_both_ends() -> None:
    means = [
        level_mean("no privacy", None, 1),
        level_mean("SMDP", 2.0, 1),
        level_mean("SMDP", math.inf, 10),
        level_mean("DP-SGD", 8.0, 1),
    ]
    drawn = {
        (row["panel"], row["series"], row["repetitions"])
        for row in level_rows(repetitions_chart(means))
    }
    assert drawn == {
        ("SMDP", "no privacy", 1), ("DP-SGD", "no privacy", 1), ("SMDP", "2", 1), ("SMDP", "∞", 10),
        ("DP-SGD", "8", 1),
    }  # fmt: skip


def test_of_several_ways_to_rank_the_surest_is_drawn() -> None:
    means = [level_mean("SMDP", 2.0, 1, "extrapolated"), level_mean("SMDP", 2.0, 5, "sampled")]
    assert [row["repetitions"] for row in level_rows(repetitions_chart(means))] == [5]


def test_ends_alone_have_a_panel() -> None:
    chart = repetitions_chart(
        [level_mean("no privacy", None, 1), level_mean("random output", None, 1)]
    )
    assert {row["panel"] for row in level_rows(chart)} == {"without a level"}
    assert chart.content("svg").startswith(b"<svg")


def test_ends_are_seen_where_there_is_no_line() -> None:
    means = [
        level_mean("no privacy", None, 1),
        level_mean("random output", None, 1),
        level_mean("SMDP", 2.0, 1),
    ]
    points = repetitions_chart(means).spec["spec"]["layer"][1]
    assert points["mark"]["filled"]
    shape = points["encoding"]["shape"]["scale"]
    found = dict(zip(shape["domain"], shape["range"], strict=True))
    assert len(set(found.values())) == 3
    assert "stroke" not in found.values()  # filled, it has no area


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one"):
        repetitions_chart([])
