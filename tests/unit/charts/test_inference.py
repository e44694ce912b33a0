"""Charts of inference attacks draw the numbers that they were given."""

from __future__ import annotations

import json

import pytest

from sfumato.charts.inference import SERIES, guesses_chart, roc_chart
from sfumato.core.errors import InvalidArgument

CURVES = {
    "loss": [(0.0, 0.0), (0.0, 0.25), (0.02, 0.5), (1.0, 1.0)],
    "zlib": [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)],
}
AREAS = {"loss": 0.71, "zlib": 0.5}


def test_points_stand_where_they_belong_and_zeros_at_the_edge() -> None:
    spec = roc_chart(CURVES, AREAS).spec
    rows = [row for some in spec["datasets"].values() for row in some if "signal" in row]
    drawn = [(row["fpr"], row["tpr"]) for row in rows if row["signal"].startswith("loss")]
    assert drawn == [(0.01, 0.01), (0.01, 0.25), (0.02, 0.5), (1.0, 1.0)]
    for layer in spec["layer"]:
        for axis in ("x", "y"):
            assert layer["encoding"][axis]["scale"] == {"type": "log", "domain": [0.01, 1.0]}
            assert layer["encoding"][axis]["axis"]["values"] == [0.01, 0.1, 1.0]


def test_the_legend_names_the_areas() -> None:
    chart = roc_chart(CURVES, AREAS)
    picture = chart.content("svg").decode()
    assert ">loss (AUC 0.710)<" in picture
    assert ">zlib (AUC 0.500)<" in picture
    assert json.loads(chart.content("json"))["title"]["text"]
    assert chart.content("png").startswith(b"\x89PNG")


def test_more_curves_than_colors_differ_in_their_dashes() -> None:
    many = {f"signal {number}": CURVES["loss"] for number in range(11)}
    spec = roc_chart(many, dict.fromkeys(many, 0.7)).spec
    looks = spec["layer"][1]["encoding"]
    pairs = zip(
        looks["color"]["scale"]["range"], looks["strokeDash"]["scale"]["range"], strict=True
    )
    assert len({(color, tuple(dash)) for color, dash in pairs}) == 11


def test_without_a_curve_there_is_no_roc_chart() -> None:
    with pytest.raises(InvalidArgument, match="at least one curve"):
        roc_chart({}, {})


POINTS = [
    {"guesses": 1, "share": 0.4, "control": 0.05, "chance": 0.06},
    {"guesses": 2, "share": 0.5, "control": 0.1, "chance": 0.12},
]


def test_every_series_is_drawn_at_every_number_of_guesses() -> None:
    chart = guesses_chart(POINTS, title="Words", subtitle="20 words")
    (values,) = chart.spec["datasets"].values()
    assert len(values) == len(POINTS) * len(SERIES)
    assert {value["series"] for value in values} == set(SERIES.values())
    assert {"guesses": 2, "found": 0.1, "series": "null control"} in values
    assert chart.content("svg").startswith(b"<svg")


def test_without_a_point_there_is_no_chart_of_guesses() -> None:
    with pytest.raises(InvalidArgument, match="at least one point"):
        guesses_chart([], title="", subtitle="")
