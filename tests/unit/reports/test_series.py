"""Which figure is shown first, and means over seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.calibration import curves
from sfumato.calibration.curves import curve_of
from sfumato.reports.series import headline, points, quantities, telling
from sfumato.results.row import LEAKAGE, NO_PRIVACY, RANDOM_OUTPUT, UTILITY, Row
from sfumato.studies.compare import compare_studies


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


def test_a_figure_whose_ends_have_no_width_is_not_preferred() -> None:
    """Two runs that agree by chance have an interval of no width; it says little."""
    mean = ends("mean", 6.0, 1.4)
    known = [replace(one, low=(one.value or 0) - 1, high=(one.value or 0) + 1) for one in mean]
    largest = ends("largest", 12.0, 5.0)
    agreeing = [replace(one, low=one.value, high=one.value) for one in largest]
    assert [one.metric for one in telling([*known, *agreeing])] == ["mean"]
    # The twin: with intervals of some width the larger difference is taken.
    wide = [replace(one, low=(one.value or 0) - 1, high=(one.value or 0) + 1) for one in largest]
    assert [one.metric for one in telling([*known, *wide])] == ["largest"]


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


def intervals(rows: list[Row]) -> tuple[list[object], list[object], list[object]]:
    """The intervals of one figure at its levels: calibrated, on a page, and in a comparison."""
    drawn = curve_of(rows, method="SMDP", parameter="epsilon")
    page = {one.level: (one.value, one.low, one.high) for one in points(rows, quantities(rows)[0])}
    compared = {one.figure.level: one.first for one in compare_studies(rows, [])}
    return (
        [(at.value, at.low, at.high) for at in map(drawn.at, range(len(drawn.levels)))],
        [page[level] for level in drawn.levels],
        [
            (one.value, one.low, one.high)
            for one in (compared[level] for level in drawn.levels)
            if one is not None
        ],
    )


def test_calibrations_pages_and_comparisons_state_the_same_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [
        row("share", value, level=level, seed=seed, low=value / 2, high=value + 0.1, least=0.0,
            most=1.0)
        for level, seed, value in [
            (1.0, 1, 0.05), (1.0, 2, 0.01), (2.0, 1, 0.3), (2.0, 2, 0.3001), (4.0, 1, 0.97)]
    ]  # fmt: skip
    calibrated, shown, compared = intervals(rows)
    assert calibrated == shown == compared
    assert all(0 <= end <= 1 for one in calibrated for end in one)  # type: ignore[attr-defined]
    # Sabotage of the one function changes them all, so there is no other.
    monkeypatch.setattr(curves, "over_seeds", lambda *_: (0.4, 0.5))
    assert intervals(rows)[0] != calibrated
    assert intervals(rows)[1] != shown
    assert intervals(rows)[2] != compared
