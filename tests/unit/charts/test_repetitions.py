"""Mean exposure against repetitions: lines by level, and the two ends in every panel."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sfumato.charts.chart import Chart
from sfumato.charts.exposure import MeanExposure, repetitions_chart
from sfumato.core.errors import InvalidArgument


def mean(method: str, level: float | None, times: int, how: str = "exact") -> MeanExposure:
    return MeanExposure(
        method=method, level=level, repetitions=times, exposure=times + 0.5, low=None, high=None,
        how=how,
    )  # fmt: skip


def rows(chart: Chart) -> list[dict[str, Any]]:
    data = chart.spec["data"]
    found: list[dict[str, Any]] = data.get("values") or chart.spec["datasets"][data["name"]]
    return found


def test_a_panel_for_each_method_with_both_ends() -> None:
    means = [
        mean("no privacy", None, 1), mean("SMDP", 2.0, 1), mean("SMDP", math.inf, 10),
        mean("DP-SGD", 8.0, 1),
    ]  # fmt: skip
    drawn = {
        (row["panel"], row["series"], row["repetitions"]) for row in rows(repetitions_chart(means))
    }
    assert drawn == {
        ("SMDP", "no privacy", 1), ("DP-SGD", "no privacy", 1), ("SMDP", "2", 1), ("SMDP", "∞", 10),
        ("DP-SGD", "8", 1),
    }  # fmt: skip


def test_of_several_ways_to_rank_the_surest_is_drawn() -> None:
    means = [mean("SMDP", 2.0, 1, "extrapolated"), mean("SMDP", 2.0, 5, "sampled")]
    assert [row["repetitions"] for row in rows(repetitions_chart(means))] == [5]


def test_ends_alone_have_a_panel() -> None:
    chart = repetitions_chart([mean("no privacy", None, 1), mean("random output", None, 1)])
    assert {row["panel"] for row in rows(chart)} == {"without a level"}
    assert chart.content("svg").startswith(b"<svg")


def test_ends_are_seen_where_there_is_no_line() -> None:
    means = [mean("no privacy", None, 1), mean("random output", None, 1), mean("SMDP", 2.0, 1)]
    points = repetitions_chart(means).spec["spec"]["layer"][1]
    assert points["mark"]["filled"]
    shape = points["encoding"]["shape"]["scale"]
    found = dict(zip(shape["domain"], shape["range"], strict=True))
    assert len(set(found.values())) == 3
    assert "stroke" not in found.values()  # filled, it has no area


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one"):
        repetitions_chart([])
