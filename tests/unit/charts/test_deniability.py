"""The chart of deniability: what it draws is what it was given."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from sfumato.charts.chart import Chart
from sfumato.charts.deniability import LevelLabels, LevelRow, deniability_chart
from sfumato.core.errors import InvalidArgument

ROW = LevelRow(
    epsilon=5.0, keep_low=0.1, keep_median=0.3, keep_high=0.6, keep_worst=0.9,
    outputs_worst=1, outputs_low=20, outputs_median=300, outputs_high=4000,
)  # fmt: skip
LABELS = LevelLabels(title="laplace in toy", subtitle="12 words", outputs_title="fewest words (S)")


def rows(*levels: float) -> list[LevelRow]:
    return [replace(ROW, epsilon=level) for level in levels]


def data_of(chart: Chart) -> list[dict[str, Any]]:
    (name, *_) = chart.spec["datasets"]
    found: list[dict[str, Any]] = chart.spec["datasets"][name]
    return found


def axes(chart: Chart, axis: str) -> list[dict[str, Any]]:
    panels = chart.spec["hconcat"]
    return [
        panel["encoding"]["x"] if axis == "x" else panel["layer"][2]["encoding"]["y"]
        for panel in panels
    ]


def test_it_draws_the_rows_and_nothing_else() -> None:
    chart = deniability_chart(rows(8.0, 1.0, 3.0), LABELS)
    assert data_of(chart) == [asdict(row) for row in rows(1.0, 3.0, 8.0)]
    fields = {
        layer["encoding"]["y"]["field"]
        for panel in chart.spec["hconcat"]
        for layer in panel["layer"]
    }
    assert fields == {
        "keep_low", "keep_median", "keep_worst", "outputs_low", "outputs_median", "outputs_worst",
    }  # fmt: skip


def test_probabilities_stand_on_a_straight_scale_and_counts_on_a_logarithmic_one() -> None:
    keep, outputs = axes(deniability_chart(rows(1, 3, 8), LABELS), "y")
    assert keep["scale"]["domain"] == [0, 1]
    assert outputs["scale"]["type"] == "log"
    assert outputs["scale"]["domain"] == [1, 10_000]


@pytest.mark.parametrize(("levels", "kind"), [((1, 3, 10), "log"), ((5, 6, 8), None), ((5,), None)])
def test_levels_far_apart_stand_on_a_logarithmic_scale(
    levels: tuple[float, ...], kind: str | None
) -> None:
    for axis in axes(deniability_chart(rows(*levels), LABELS), "x"):
        low, high = axis["scale"]["domain"]
        assert 0 < low < min(levels)
        assert max(levels) < high
        assert axis["scale"].get("type") == kind
        assert axis["axis"]["values"] == list(levels)


def test_many_levels_are_not_all_marked() -> None:
    for axis in axes(deniability_chart(rows(*range(1, 40)), LABELS), "x"):
        assert "values" not in axis["axis"]


def test_what_draws_can_show_at_most_is_marked_inside_the_picture() -> None:
    low = [replace(ROW, outputs_median=2, outputs_high=3, outputs_low=1)]
    labels = replace(LABELS, ceiling=(129.0, "most that draws can show"))
    chart = deniability_chart(low, labels)
    assert axes(deniability_chart(low, LABELS), "y")[1]["scale"]["domain"] == [1, 10]
    assert axes(chart, "y")[1]["scale"]["domain"] == [1, 1000]
    assert b"most that draws can show" in chart.content("svg")


def test_every_label_is_in_the_picture() -> None:
    picture = deniability_chart(rows(1, 3, 10), LABELS).content("svg").decode()
    for text in (LABELS.title, LABELS.subtitle, LABELS.outputs_title, "median word"):
        assert f">{text}<" in picture
    for mark in (">1<", ">3<", ">10<"):
        assert mark in picture


@pytest.mark.parametrize("levels", [(5,), (1, 3, 10)])
def test_it_is_drawn_for_one_level_and_for_several(levels: tuple[float, ...]) -> None:
    chart = deniability_chart(rows(*levels), LABELS)
    assert chart.content("png").startswith(b"\x89PNG")
    assert json.loads(chart.content("json"))["title"]["text"] == LABELS.title


def test_without_levels_there_is_no_chart() -> None:
    with pytest.raises(InvalidArgument, match="at least one level"):
        deniability_chart([], LABELS)
