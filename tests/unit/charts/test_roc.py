"""The ROC chart draws the points it was given, on logarithmic axes."""

from __future__ import annotations

import json

import pytest

from sfumato.charts.roc import roc_chart
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


def test_without_a_curve_there_is_no_chart() -> None:
    with pytest.raises(InvalidArgument, match="at least one curve"):
        roc_chart({}, {})
