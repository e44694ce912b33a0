"""What is fit for release: proven, attacked by something that works, and found quiet."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sfumato.guarantees.guarantee import Guarantee, metric_dp, no_guarantee
from sfumato.reports.decision import Choice, Decision, Found, find_other_leaks, judge
from sfumato.reports.page import NO, UNKNOWN, YES
from sfumato.reports.sections.tradeoff import QuantityPlace, places
from sfumato.reports.series import Quantity, SeriesPoint
from sfumato.reports.words import best_guess, protected_what, proven_in_words, times_likelier
from sfumato.results.row import LEAKAGE, NO_PRIVACY, RANDOM_OUTPUT, UTILITY, Row
from sfumato.studies.cell import ATTACK

LEAKS = Quantity(role=LEAKAGE, by="exposure", metric="exposure", better="lower")
KEEPS = Quantity(role=UTILITY, by="perplexity", metric="perplexity", better="lower")
PROVEN = metric_dp(epsilon=2.0, metric="Euclidean distance")


def point(value: float, wide: float | None = 0.2, chance: float | None = 1.44) -> SeriesPoint:
    fields: dict[str, Any] = {
        "method": "m", "parameter": "epsilon", "level": 2.0, "group": None, "value": value,
        "low": None if wide is None else value - wide,
        "high": None if wide is None else value + wide, "n": 9, "seeds": 1, "chance": chance,
    }  # fmt: skip
    return SeriesPoint(**fields)


Points = dict[QuantityPlace, SeriesPoint]
ENDS: Points = {(NO_PRIVACY, None, None): point(7.9), (RANDOM_OUTPUT, None, None): point(1.4)}


@pytest.mark.parametrize(
    ("found", "is_found"),
    [
        (point(1.5), Found.QUIET),
        (point(4.0), Found.LEAKS),
        (point(1.5, wide=9.0), Found.UNCLEAR),
        (point(1.5, wide=None), Found.ALONE),
        (None, Found.NOTHING),
    ],
)
def test_what_an_attack_tells(found: SeriesPoint | None, is_found: Found) -> None:
    assert judge(found, ENDS, LEAKS) is is_found


def test_inner_intervals_tell_figures_apart_that_outer_ones_do_not() -> None:
    wide = point(3.0, wide=4.0)
    apart = replace(wide, inner=(1.0, 6.0)), replace(point(7.9, wide=2.0), inner=(6.2, 9.0))
    meeting = replace(wide, inner=(1.0, 6.4)), apart[1]
    for (found, most), is_found in ((apart, Found.QUIET), (meeting, Found.UNCLEAR)):
        ends: Points = {**ENDS, (NO_PRIVACY, None, None): most}
        assert judge(found, ends, LEAKS) is is_found
    # Without inner intervals the outer ones decide.
    assert judge(wide, {**ENDS, (NO_PRIVACY, None, None): point(7.9, wide=2.0)}, LEAKS) is (
        Found.UNCLEAR
    )


def test_few_cases_in_random_output_do_not_excuse_a_leak() -> None:
    ends: Points = {**ENDS, (RANDOM_OUTPUT, None, None): point(1.4, wide=3.0)}
    assert judge(point(4.0), ends, LEAKS) is Found.LEAKS
    # Where chance is not known, random output with its interval is all there is.
    unknown = {place: replace(one, chance=None) for place, one in ends.items()}
    assert judge(point(4.0, chance=None), unknown, LEAKS) is Found.QUIET


def test_an_attack_that_never_works_tells_nothing() -> None:
    blind: Points = {**ENDS, (NO_PRIVACY, None, None): point(1.5)}
    assert judge(point(1.5), blind, LEAKS) is Found.BLIND
    untried: Points = {(RANDOM_OUTPUT, None, None): point(1.4)}
    assert judge(point(1.5), untried, LEAKS) is Found.UNTRIED


def test_figures_that_run_the_other_way() -> None:
    """Of deniability more is better; no privacy has the least."""
    hidden = Quantity(role=LEAKAGE, by="d", metric="d", better="higher")
    ends: Points = {
        (NO_PRIVACY, None, None): point(0.1, 0.05, None),
        (RANDOM_OUTPUT, None, None): point(0.9, 0.05, None),
    }
    assert judge(point(0.88, 0.05, None), ends, hidden) is Found.QUIET
    assert judge(point(0.5, 0.05, None), ends, hidden) is Found.LEAKS


def choice(found: Found = Found.QUIET, **other: Any) -> Choice:
    given: dict[str, Any] = {
        "method": "m", "parameter": "epsilon", "level": 2.0, "guarantee": PROVEN,
        "leakage": point(1.5), "utility": point(30.0), "found": found, "refuted": False,
    }  # fmt: skip
    return Choice(**{**given, **other})


def attacked(**other: Any) -> SimpleNamespace:
    """A study in which membership is quiet and one more figure is given."""

    def row(method: str, value: float, **more: Any) -> Row:
        level = None if method in (NO_PRIVACY, RANDOM_OUTPUT) else 2.0
        given: dict[str, Any] = {
            "cell": "c", "method": method, "parameter": None if level is None else "epsilon",
            "level": level, "role": LEAKAGE, "by": "membership", "metric": "auc",
            "better": "lower", "value": value, "low": value - 0.02, "high": value + 0.02,
            "chance": 0.5, "n": 400,
        }  # fmt: skip
        return Row(**{**given, **more})

    ends = ((NO_PRIVACY, 0.9), (RANDOM_OUTPUT, 0.5))
    rows = [row(method, value) for method, value in (*ends, ("m", 0.5))]
    rows += [row(method, value, **other) for method, value in (*ends, ("m", 0.8))] if other else []
    names = {"membership", *([other["by"]] if other.get("by", "text") != "text" else [])}
    cells = [SimpleNamespace(kind=ATTACK, name=name) for name in names]
    return SimpleNamespace(rows=rows, cells=cells)


HEADLINE = Quantity(role=LEAKAGE, by="membership", metric="auc", better="lower")


@pytest.mark.parametrize(
    ("other", "leaks"),
    [
        ({}, False),
        ({"metric": "tpr"}, True),
        ({"by": "extraction"}, True),
        ({"group_field": "country", "group": "fr"}, True),
        ({"by": "text"}, False),  # a measure of the text is no attack
    ],
)
def test_any_attack_figure_or_group_may_show_a_leak(other: dict[str, str], leaks: bool) -> None:
    study: Any = attacked(**other)
    assert (("m", "epsilon", 2.0) in find_other_leaks(study, HEADLINE)) is leaks
    # A twin that asks the first figure alone sees nothing of it.
    mine = places([row for row in study.rows if row.group is None], HEADLINE)
    assert judge(mine["m", "epsilon", 2.0], mine, HEADLINE) is Found.QUIET


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (choice(), YES),
        (choice(guarantee=PROVEN.reproducible()), YES),  # once it is made again without a seed
        (choice(guarantee=replace(PROVEN, for_release=False).reproducible()), NO),
        (choice(guarantee=replace(PROVEN, delta=1.0)), NO),
        (choice(Found.LEAKS), NO),
        (choice(leaks_elsewhere=True), NO),
        (choice(unfinished=True), UNKNOWN),
        (choice(refuted=True), NO),
        (choice(guarantee=no_guarantee(unit="word")), NO),
        (choice(guarantee=metric_dp(epsilon=2.0, metric="d").leaking("x")), YES),
        (choice(Found.UNCLEAR), UNKNOWN),
        (choice(Found.ALONE), UNKNOWN),
        (choice(Found.BLIND), UNKNOWN),
        (choice(Found.NOTHING), UNKNOWN),
        (choice(guarantee=None), UNKNOWN),
    ],
)
def test_the_verdict(given: Choice, kind: str) -> None:
    assert given.verdict.kind == kind
    assert given.verdict.why.endswith(".")


def decision(*choices: Choice, public: bool = True) -> Decision:
    return Decision(
        leakage=LEAKS, utility=KEEPS, choices=choices, leaked={}, kept={}, public=public
    )


def test_the_most_useful_fit_choice_is_recommended() -> None:
    poor = choice(method="poor", utility=point(60.0))
    good = choice(method="good", utility=point(30.0))
    like = choice(method="like", utility=point(30.3))
    leaky = choice(Found.LEAKS, method="leaky", utility=point(20.0))
    found = decision(poor, good, like, leaky)
    assert found.recommended is good
    assert found.not_worse(good) == [like]
    assert decision(leaky).recommended is None


def test_more_privacy_is_taken_where_it_costs_nothing_that_can_be_told() -> None:
    strong = choice(level=2.0, utility=point(30.2))
    weak = choice(level=8.0, utility=point(30.0))
    assert decision(strong, weak).recommended is strong
    # The twin: where the cost can be told, the more useful level is taken.
    costly = choice(level=2.0, utility=point(40.0))
    assert decision(costly, weak).recommended is weak


def test_nothing_is_recommended_by_private_figures() -> None:
    """Choosing by them would reveal something that no guarantee covers."""
    assert decision(choice(), public=False).recommended is None
    assert decision(choice(), public=True).recommended is not None


def test_levels_are_rounded_up_for_people() -> None:
    assert times_likelier(1.99998) == "e² ≈ 7.4"
    said = proven_in_words(_dp(7.99996))
    assert said.startswith("ε ≤ 8, δ ≤ 1e-05 for one document: ")
    assert "e⁸ ≈ 2,981" in said
    assert protected_what(_dp(1.0)) == "whether any one document was used"
    assert protected_what(no_guarantee(unit="word")) == "nothing"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0])
def test_randomized_response_reaches_the_best_guess_and_nothing_beats_it(epsilon: float) -> None:
    """The worst case: an answer that is true with probability e^ε / (e^ε + 1), or revealed."""
    delta = 1e-5
    bound = best_guess(_dp(epsilon, delta))
    assert bound is not None
    truth = math.exp(epsilon) / (math.exp(epsilon) + 1)
    right = delta + (1 - delta) * truth
    assert right == pytest.approx(bound, abs=1e-12)
    # The twin: a bound without delta would be exceeded.
    assert right > truth
    assert best_guess(PROVEN) is None


def _dp(epsilon: float, delta: float = 1e-5) -> Guarantee:
    from sfumato.guarantees.guarantee import Notion

    return Guarantee(
        notion=Notion.APPROXIMATE_DP, unit="document", neighbors="a document more or less",
        epsilon=epsilon, delta=delta,
    )  # fmt: skip
