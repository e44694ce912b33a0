"""The table of utility at equal leakage, what it is made from, and what it refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sfumato.calibration import fitness
from sfumato.calibration.equal_leakage import calibrate_methods
from sfumato.calibration.inverse import ABOVE_EVERYWHERE, BELOW_EVERYWHERE, UNFIT_CURVE
from sfumato.calibration.permission import basis
from sfumato.calibration.results import NOT_A_GUARANTEE, Calibration
from sfumato.calibration.select import select_rows
from sfumato.core.errors import BadInput, InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.results.row import Row
from unit.calibration.sweeps import LEVELS, Noise, anchors, logistic, row, sweep, useful


def cost(level: float) -> float:
    """Perplexity: better at weaker levels."""
    return 60 - 5 * math.log(level)


def made(
    shape: Callable[[float], float] = logistic, noise: float = 0.1, seeds: int = 3
) -> list[Row]:
    leaking = sweep(shape, LEVELS, seeds, Noise(noise), np.random.default_rng(3))
    return [*leaking, *useful(leaking, cost), *anchors(7.0, 0.0)]


def found(rows: list[Row], *targets: float, **names: str) -> Calibration:
    return calibrate_methods(
        select_rows(rows, **names),
        targets,
        basis=basis(public=True),
    )


def test_level_and_utility_at_a_target_are_those_of_the_curves() -> None:
    (method,) = found(made(), 3.0).methods
    (at,) = method.targets
    true = math.exp(1.5)
    assert method.fitness.verdict == "fit"
    assert at.inversion.level == pytest.approx(true, rel=0.2)
    assert at.utility is not None
    assert at.inversion.level is not None
    # The curve of utility is straight on the scale of the levels, so it is read off exactly.
    assert at.utility.value == pytest.approx(cost(at.inversion.level))
    assert at.utility.low is not None
    assert at.utility.high is not None
    assert at.utility.low <= cost(true) <= at.utility.high


def test_the_interval_of_utility_covers_that_of_the_level() -> None:
    (at,) = found(made(noise=0.3), 3.0).methods[0].targets
    inversion, use = at.inversion, at.utility
    assert inversion.low is not None
    assert inversion.high is not None
    assert use is not None
    assert use.low is not None
    assert use.high is not None
    assert use.low < cost(inversion.high) < cost(inversion.low) < use.high


def test_targets_out_of_reach_have_a_status_and_no_utility() -> None:
    below, above = found(made(), -5.0, 20.0).methods[0].targets
    assert (below.inversion.status, below.utility) == (ABOVE_EVERYWHERE, None)
    assert (above.inversion.status, above.utility) == (BELOW_EVERYWHERE, None)


def test_an_unfit_curve_is_not_inverted() -> None:
    (method,) = found(made(lambda level: 4 * math.sin(math.log(level))), 1.0).methods
    assert method.fitness.verdict == "unfit"
    assert method.fit is None
    assert method.targets[0].inversion.status == UNFIT_CURVE
    assert method.targets[0].inversion.level is None


def test_a_figure_that_is_better_when_higher_is_turned_round_and_back() -> None:
    plain = found(made(), 3.0)
    turned = [
        replace(one, value=-one.value, better="higher")
        if one.role == "leakage" and one.value is not None
        else one
        for one in made()
    ]
    other = found(turned, -3.0)
    assert other.methods[0].fitness.verdict == "fit"
    assert (
        other.methods[0].targets[0].inversion.level == plain.methods[0].targets[0].inversion.level
    )
    assert other.methods[0].targets[0].inversion.target == -3.0
    assert other.methods[0].fit == pytest.approx([-one for one in plain.methods[0].fit or ()])


def test_groups_and_rows_without_a_value_are_left_out_and_counted() -> None:
    extra = [
        replace(row(1.0, 99.0), group_field="language", group="nan"),
        row(1.0, None, 9),
        row(2.0, math.nan, 9),
        row(math.nan, 1.0, 9),
    ]
    plain, other = found(made(), 3.0), found([*extra, *made()], 3.0)
    assert other.methods[0].targets == plain.methods[0].targets
    assert other.selected.left_out == {
        "of groups": 1, "without a finite value": 2, "without a proper level": 1,
    }  # fmt: skip
    assert "left out: 2 row(s) without a finite value" in other.notes


def test_anchors_and_methods_without_a_level_stand_beside_the_curves() -> None:
    result = found([*made(), row(None, 2.5, 1, "redact"), row(None, 2.5, 2, "redact")], 3.0)
    assert [(one.name, one.leakage and one.leakage.value) for one in result.anchors] == [
        ("no privacy", 7.0), ("random output", 0.0),
    ]  # fmt: skip
    assert [one.name for one in result.fixed] == ["redact"]
    missing = found([one for one in made() if not one.anchor], 3.0)
    assert missing.anchors[0].leakage is None
    assert "not measured, and not drawn: the anchor(s) no privacy, random output" in missing.notes


def test_a_jump_between_neighboring_levels_is_named() -> None:
    result = found(made(lambda level: 0.0 if level < 3 else 6.0), 3.0)
    assert any("jumps between 2 and 4" in note for note in result.notes)


def test_a_sweep_that_shows_little_of_the_range_is_named() -> None:
    small = found([*made(lambda level: logistic(level) / 20, 0.01)], 0.1)
    assert any("of the range between the anchors" in note for note in small.notes)


def test_it_can_be_written_as_json_and_says_what_it_is_not() -> None:
    rows = [*made(), *(row(math.inf, 6.5, seed) for seed in range(3))]
    written = json.loads(json.dumps(found(rows, 3.0, 6.2).as_dict(), allow_nan=False))
    assert written["sentence"].startswith(NOT_A_GUARANTEE)
    assert written["methods"][0]["leakage"][-1]["level"] == "inf"
    assert {one["method"] for one in written["anchors"]} == {"no privacy", "random output"}


def test_names_are_looked_up_and_defaults_are_the_first() -> None:
    rows = made()
    other = [replace(one, by="membership", metric="auc") for one in rows if one.role == "leakage"]
    chosen = select_rows([*rows, *other])
    assert (chosen.leakage.by, chosen.utility and chosen.utility.metric) == (
        "exposure",
        "perplexity",
    )
    assert select_rows([*rows, *other], attack="membership").leakage.metric == "auc"
    with pytest.raises(UnknownName, match="did you mean 'exposure'"):
        select_rows(rows, attack="exposur")
    with pytest.raises(UnknownName, match="figure of exposure"):
        select_rows(rows, metric="rank")
    with pytest.raises(UnknownName, match="figure of utility"):
        select_rows(rows, utility="bleu")


def test_without_leakage_or_without_levels_there_is_nothing_to_calibrate() -> None:
    with pytest.raises(BadInput, match="no figure of leakage"):
        select_rows([one for one in made() if one.role == "utility"])
    with pytest.raises(BadInput, match="several levels"):
        found(anchors(7.0, 0.0), 3.0)
    with pytest.raises(BadInput, match="no finite figure"):
        select_rows([row(1.0, None)])
    with pytest.raises(InvalidArgument, match="target"):
        found(made(), math.nan)


def test_without_utility_levels_are_found_all_the_same() -> None:
    result = found([one for one in made() if one.role == "leakage"], 3.0)
    assert result.utility is None
    assert result.methods[0].targets[0].inversion.level is not None
    assert result.methods[0].targets[0].utility is None


@pytest.mark.parametrize("proxy", [None, "", "  "])
def test_private_figures_are_refused(proxy: str | None) -> None:
    with pytest.raises(InvalidArgument, match="public_proxy"):
        basis(public=False, proxy=proxy)


def test_a_named_stand_in_is_named_in_the_result() -> None:
    allowed = basis(public=False, proxy=" WikiText-2 ")
    result = calibrate_methods(select_rows(made()), [3.0], basis=allowed)
    assert "WikiText-2" in result.sentence
    assert result.as_dict()["public_proxy"] == "WikiText-2"


def test_p_values_follow_from_the_figures_alone() -> None:
    """Whoever asks again, alone or beside other methods, is told the same."""
    rows = made(noise=2.0)
    others = [replace(one, method="Other") for one in made(noise=0.5)]
    first = found(rows).methods[0].fitness
    beside = {one.name: one.fitness for one in found([*others, *rows]).methods}
    assert first == found(rows).methods[0].fitness == beside["M"]
    assert first.trend_p is not None
    assert "public shuffles" in found(rows).as_dict()["resampling"]


def test_other_shuffles_would_give_another_p_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin draws anew each time; figures with little trend show it."""
    rows = made(shape=lambda _: 1.0, noise=1.0)
    fixed = found(rows).methods[0].fitness.trend_p
    monkeypatch.setattr(
        fitness, "public_resampling", lambda purpose: Randomness.reproducible(7).stream(purpose)
    )
    assert found(rows).methods[0].fitness.trend_p != fixed
