"""The chart of groups draws every group, and intervals where they are known."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.charts.chart import Chart
from sfumato.charts.groups import GroupPoint, groups_chart
from sfumato.core.errors import InvalidArgument


def point(place: str, group: str, value: float, low: float | None = None) -> GroupPoint:
    high = None if low is None else value + 1
    return GroupPoint(place=place, group=group, value=value, low=low, high=high, n=10)


def rows(chart: Chart, layer: int) -> list[dict[str, Any]]:
    data = chart.spec["layer"][layer]["data"]
    found: list[dict[str, Any]] = data.get("values") or chart.spec["datasets"][data["name"]]
    return found


def test_every_group_is_drawn_in_the_order_given() -> None:
    points = [point("b", "US", 2.0, 1.0), point("b", "GB", 3.0), point("a", "US", 4.0, 3.0)]
    chart = groups_chart(points, metric="perplexity", field="country")
    assert [row["value"] for row in rows(chart, 1)] == [2.0, 3.0, 4.0]
    assert [row["value"] for row in rows(chart, 0)] == [2.0, 4.0]
    encoding = chart.spec["layer"][1]["encoding"]
    assert encoding["y"]["sort"] == ["b", "a"]
    assert encoding["color"]["scale"]["domain"] == ["US", "GB"]
    assert encoding["shape"]["scale"]["domain"] == ["US", "GB"]
    assert encoding["x"]["title"] == "perplexity"


def test_more_groups_than_colors_are_drawn() -> None:
    many = [point("a", f"g{number}", float(number)) for number in range(12)]
    chart = groups_chart(many, metric="m", field="f")
    assert len(chart.spec["layer"][1]["encoding"]["color"]["scale"]["range"]) == 12
    assert chart.content("svg").startswith(b"<svg")


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one"):
        groups_chart([], metric="m", field="f")
