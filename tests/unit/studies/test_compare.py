from __future__ import annotations

from typing import Any

from sfumato.results.row import Row
from sfumato.studies.compare import compare_studies


def _row(value: float | None, **more: Any) -> Row:
    settings: dict[str, Any] = {
        "cell": "c", "method": "m", "parameter": "epsilon", "level": 2.0, "role": "utility",
        "by": "perplexity", "metric": "perplexity", "better": "lower", "value": value,
    }  # fmt: skip
    return Row(**(settings | more))


def test_the_mean_over_seeds_is_compared_with_students_interval() -> None:
    first = [_row(10.0, seed=1), _row(12.0, seed=2), _row(14.0, seed=3)]
    (found,) = compare_studies(first, [_row(30.0, low=29.0, high=31.0)])
    assert found.first is not None
    assert found.second is not None
    assert (found.first.value, found.first.seeds) == (12.0, 3)
    # 4.303 · 2 / √3
    assert found.first.high is not None
    assert abs(found.first.high - (12 + 4.968)) < 1e-3
    assert found.clear is True


def test_intervals_that_meet_are_no_clear_difference() -> None:
    (found,) = compare_studies([_row(1.0, low=0.5, high=1.5)], [_row(1.6, low=1.2, high=2.0)])
    assert found.clear is False


def test_without_an_interval_nothing_is_clear() -> None:
    (found,) = compare_studies([_row(1.0)], [_row(100.0, low=99.0, high=101.0)])
    assert found.clear is None


def test_what_only_one_study_has_is_shown_alone() -> None:
    found = compare_studies(
        [_row(1.0)], [_row(1.0, level=4.0), _row(2.0, group="GB", group_field="g")]
    )
    assert [(one.first is None, one.second is None) for one in found] == [
        (False, True),
        (True, False),
        (True, False),
    ]
    assert all(one.clear is None for one in found)


def test_costs_and_missing_values_are_left_out() -> None:
    assert compare_studies([_row(3.0, role="cost")], [_row(None)]) == []


def test_it_can_be_written_as_json() -> None:
    import json

    found = compare_studies([_row(1.0)], [_row(2.0)])
    written = json.loads(json.dumps([one.as_dict() for one in found]))
    assert written[0]["first"]["value"] == 1.0
    assert written[0]["method"] == "m"


def test_many_seeds_have_students_interval_too() -> None:
    """Twelve seeds: 2.201 standard errors, where the normal law would say 1.96."""
    (found,) = compare_studies(
        [_row(float(seed % 2), seed=seed) for seed in range(12)], [_row(9.0)]
    )
    assert found.first is not None
    assert found.first.high is not None
    assert abs(found.first.high - (0.5 + 2.201 * 0.522233 / 12**0.5)) < 1e-3


def test_seeds_of_which_one_is_infinite_have_no_interval() -> None:
    rows = [_row(1.0, seed=1, low=0.9, high=1.1), _row(float("inf"), seed=2)]
    (found,) = compare_studies(rows, [_row(9.0, low=8.0, high=10.0)])
    assert found.clear is None
