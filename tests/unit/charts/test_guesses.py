"""The chart of guesses: three lines, drawn from numbers alone."""

from __future__ import annotations

import pytest

from sfumato.charts.guesses import SERIES, guesses_chart
from sfumato.core.errors import InvalidArgument

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


def test_nothing_is_not_drawn() -> None:
    with pytest.raises(InvalidArgument, match="at least one point"):
        guesses_chart([], title="", subtitle="")
