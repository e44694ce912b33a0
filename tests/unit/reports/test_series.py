"""Which figure is shown first, and means over seeds."""

from __future__ import annotations

import pytest

from sfumato.reports.series import headline, points, quantities, telling
from sfumato.results.row import LEAKAGE, NO_PRIVACY, RANDOM_OUTPUT, UTILITY, Row


def row(metric: str, value: float | None, **more: object) -> Row:
    given: dict[str, object] = {
        "cell": "c", "method": "SMDP", "parameter": "epsilon", "level": 1.0, "role": LEAKAGE,
        "by": "exposure", "better": "lower", "metric": metric, "value": value,
    }  # fmt: skip
    return Row.from_dict({**given, **more})


def ends(metric: str, most: float, least: float, **more: object) -> list[Row]:
    at = {"parameter": None, "level": None}
    return [
        row(metric, 1.0, **more),
        row(metric, most, method=NO_PRIVACY, **at, **more),
        row(metric, least, method=RANDOM_OUTPUT, **at, **more),
    ]


def test_of_an_attack_the_figure_is_shown_that_tells_the_ends_apart() -> None:
    rows = [*ends("at 1 repetition", 1.5, 1.4), *ends("at 60 repetitions", 9.0, 1.4)]
    # Larger without privacy is what leakage means; a figure that runs the other way is none.
    rows += ends("chance of the largest", 0.01, 90.0)
    assert [one.metric for one in telling(rows)] == ["at 60 repetitions"]


def test_a_figure_that_varies_widely_tells_less() -> None:
    rows = [*ends("narrow", 3.0, 1.0), *ends("wide", 5.0, 1.0, low=0.0, high=9.0)]
    assert [one.metric for one in telling(rows)] == ["narrow"]


def test_the_headline_speaks_of_most_levels() -> None:
    rows = [
        row("a", 1.0),
        row("b", 1.0, by="membership"),
        row("b", 2.0, by="membership", level=2.0),
    ]
    found = headline(rows, LEAKAGE)
    assert found is not None
    assert found.by == "membership"
    assert headline(rows, UTILITY) is None
    assert headline([row("a", None)], LEAKAGE) is None


def test_of_equals_the_headline_is_about_models() -> None:
    rows = [row("stays", 1.0, by="deniability"), row("bits", 1.0, by="exposure")]
    text, model = headline(rows, LEAKAGE), headline(rows, LEAKAGE, {"exposure"})
    assert text is not None
    assert model is not None
    assert (text.by, model.by) == ("deniability", "exposure")


def test_a_single_figure_keeps_its_interval_and_seeds_have_their_own() -> None:
    alone = row("a", 1.0, low=0.9, high=1.3)
    (point,) = points([alone], quantities([alone])[0])
    assert (point.value, point.low, point.high, point.seeds) == (1.0, 0.9, 1.3, 1)
    several = [row("a", float(seed), seed=seed) for seed in (1, 2, 3)]
    (mean,) = points(several, quantities(several)[0])
    assert (mean.value, mean.seeds) == (2.0, 3)
    # Student's interval for three values with deviation 1.
    assert mean.low == pytest.approx(2 - 4.303 / 3**0.5, abs=0.01)


def test_seeds_that_look_at_the_same_texts_are_no_more_texts() -> None:
    several = [row("a", 1.0, seed=seed, n=50) for seed in (1, 2, 3)]
    (mean,) = points(several, quantities(several)[0])
    assert (mean.n, mean.seeds) == (50, 3)
