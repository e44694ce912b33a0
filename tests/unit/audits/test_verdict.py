"""Verdicts say plainly what was found, and can be written."""

from __future__ import annotations

import json
import math

import pytest

from sfumato.audits.verdict import Finding, Verdict, Witness


def witness(loss: float, bound: float, *, exact: bool = True) -> Witness:
    return Witness(
        first="'a'",
        second="'b'",
        event="the output is 'c'",
        likelier=0.5,
        unlikelier=0.25,
        loss=loss,
        bound=bound,
        exact=exact,
    )


def finding(loss: float, bound: float, *, exact: bool = True, where: str = "toy") -> Finding:
    return Finding(
        method="exact" if exact else "sampled",
        where=where,
        pairs=10,
        inputs=5,
        refuted=loss > bound,
        witness=witness(loss, bound, exact=exact),
        draws=0 if exact else 1000,
        confidence=1.0 if exact else 0.99,
    )


def verdict(*findings: Finding) -> Verdict:
    return Verdict(claim="For every word, …", findings=findings, confidence=0.99)


def test_a_refutation_names_the_pair_the_event_the_ratio_and_the_bound() -> None:
    sentence = verdict(finding(math.log(2), 0.5)).sentence()
    assert sentence == (
        "REFUTED: the output is 'c' with probability 0.5 for 'a' and 0.25 for 'b', a ratio of "
        "exp(0.6931) = 2, while the claim allows exp(0.5) = 1.649."
    )


def test_limits_from_draws_are_called_limits() -> None:
    sentence = verdict(finding(math.log(2), 0.5, exact=False)).sentence()
    assert "at least 0.5 for 'a' and at most 0.25 for 'b'" in sentence
    assert "a ratio of at least exp(0.6931)" in sentence


def test_not_refuted_is_not_called_proven() -> None:
    sentence = verdict(finding(0.4, 0.5)).sentence()
    assert sentence.startswith("Not refuted: none of 10 pairs")
    assert "the closest used 80% of it" in sentence
    assert "This is no proof" in sentence


def test_one_round_that_refutes_is_enough_and_is_the_one_shown() -> None:
    both = verdict(finding(0.99, 1.0, where="first"), finding(1.1, 1.0, where="second"))
    assert both.refuted
    assert both.decisive.where == "second"
    assert both.pairs == 20


def test_of_rounds_that_do_not_refute_the_closest_is_shown() -> None:
    # Ten nats from a bound of twenty is farther off than one from a bound of two.
    both = verdict(finding(10.0, 20.0, where="far"), finding(1.9, 2.0, where="near"))
    assert both.decisive.where == "near"


def test_a_defect_is_a_refutation_with_a_reason() -> None:
    broken = Finding(
        method="exact", where="toy", pairs=0, inputs=0, refuted=True, defect="it is no law"
    )
    assert verdict(broken, finding(2.0, 1.0)).sentence() == "REFUTED: it is no law."


def test_where_nothing_could_be_tested_that_is_said() -> None:
    nothing = Finding(method="sampled", where="toy", pairs=0, inputs=0, refuted=False, note="why")
    assert "no pair that could be tested" in verdict(nothing).sentence()
    assert verdict(nothing).bound is None


def test_what_was_measured_is_a_lower_bound_with_its_confidence() -> None:
    bound = verdict(finding(0.9, 0.5, exact=False)).bound
    assert bound is not None
    assert (bound.epsilon, bound.confidence, bound.samples) == (0.9, 0.99, 1000)
    assert bound.compared == "'a' against 'b'"
    assert bound.refutes(0.5)


@pytest.mark.parametrize("loss", [0.4, 2.0, 900.0, math.inf, -math.inf])
def test_everything_can_be_written_as_json(loss: float) -> None:
    shown = verdict(finding(loss, 1.0))
    values = json.loads(json.dumps(shown.as_dict(), allow_nan=False))
    assert values["refuted"] is (loss > 1)
    assert {"claim", "sentence", "witness", "rounds", "confidence", "measured"} <= set(values)
    assert {"first", "second", "event", "ratio", "bound"} <= set(values["witness"])
    assert values["false_alarm_budget"] == 0.01
