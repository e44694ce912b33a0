"""Learned events: what is found, on which draws, and what is proven by them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import beta

from sfumato.audits import events
from sfumato.audits.events import Parts, chosen, falsify, reach, witness_of
from sfumato.audits.subject import Event, Pair, Sample, Score
from sfumato.audits.vectors import VectorSubject
from sfumato.audits.verdict import Finding
from sfumato.core.randomness import Randomness
from statistical import budget
from unit.audits.subjects import answers

# Shared out among the four claims below that are true.
ALPHA = budget.level("audits: true claims", "known laws") / 4


def judged(subject: VectorSubject, *, draws: int = 20_000, seed: int = 3) -> Finding:
    return falsify(
        subject,
        draws=draws,
        alpha=ALPHA,
        randomness=Randomness.reproducible(seed),
        advance=lambda _: None,
    )


def sample(*draws: float) -> Sample:
    return Sample.of(np.array(draws)[:, None])


IDENTITY = Score("the number", lambda outputs: np.asarray(outputs[:, 0], dtype=np.float64))


def test_a_claim_below_the_truth_is_refuted_and_one_above_is_not() -> None:
    assert judged(answers(epsilon=1.0, truth=1.3)).refuted
    assert not judged(answers(epsilon=1.3, truth=1.3)).refuted
    assert not judged(answers(epsilon=1.6, truth=1.3)).refuted


def test_the_witness_holds_the_pair_the_event_and_limits_on_both_sides_of_the_truth() -> None:
    finding = judged(answers(epsilon=1.0, truth=1.3))
    witness = finding.witness
    assert witness is not None
    assert {witness.first, witness.second} == {"no", "yes"}
    assert "coordinate 1" in witness.event
    kept = 1 / (1 + math.exp(-1.3))
    assert witness.likelier < kept
    assert witness.unlikelier > 1 - kept
    assert witness.loss == pytest.approx(math.log(witness.likelier / witness.unlikelier))
    assert 1.0 < witness.loss < 1.3
    assert not witness.exact
    assert (finding.pairs, finding.inputs, finding.draws) == (1, 2, 20_000)
    assert finding.confidence == 1 - ALPHA


def test_the_limits_are_clopper_and_pearsons_at_half_the_level_of_a_pair() -> None:
    pair = Pair(0, 1, 0.5, 0.5)
    many = sample(*[0.0] * 10, *[1.0] * 90)
    few = sample(*[0.0] * 90, *[1.0] * 10)
    parts = {0: Parts(many, many, many), 1: Parts(few, few, few)}
    witness = witness_of(answers(epsilon=0.5, truth=2.0), pair, parts, 0.001)
    assert witness is not None
    assert witness.likelier == pytest.approx(beta.ppf(0.001, 90, 11))
    assert witness.unlikelier == pytest.approx(beta.isf(0.001, 11, 90))


def test_the_event_is_fixed_before_the_held_out_half_is_looked_at() -> None:
    pair, subject = Pair(0, 1, 0.1, 0.1), answers(epsilon=0.1, truth=1.0)
    ones, zeros = sample(*[1.0] * 50), sample(*[0.0] * 50)
    told, turned = (
        witness_of(
            subject,
            pair,
            {0: Parts(ones, ones, held[0]), 1: Parts(zeros, zeros, held[1])},
            0.01,
        )
        for held in ((ones, zeros), (zeros, ones))
    )
    assert told is not None
    assert turned is not None
    assert told.event == turned.event
    assert told.first == turned.first
    # What the second half says decides, although the first said the opposite.
    assert told.excess > 0
    assert turned.loss == -math.inf


def test_the_best_threshold_and_direction_are_found() -> None:
    first = sample(*[1.0] * 400, *[2.0] * 300, *[3.0] * 300)
    second = sample(*[1.0] * 400, *[2.0] * 590, *[3.0] * 10)
    choice = chosen([IDENTITY], Pair(0, 1, 0.1, 0.1), (first, second), 0.01, 0.0)
    assert choice is not None
    assert (choice.event.threshold, choice.event.above, choice.turned) == (3.0, True, False)
    swapped = chosen([IDENTITY], Pair(0, 1, 0.1, 0.1), (second, first), 0.01, 0.0)
    assert swapped is not None
    assert (swapped.event.threshold, swapped.event.above, swapped.turned) == (3.0, True, True)


def test_a_direction_of_which_nothing_is_claimed_is_left_alone() -> None:
    first, second = sample(*[3.0] * 300, *[1.0] * 300), sample(*[1.0] * 600)
    choice = chosen([IDENTITY], Pair(0, 1, math.inf, 0.1), (first, second), 0.01, 0.0)
    assert choice is None or choice.turned


def test_outputs_without_a_score_belong_to_no_event() -> None:
    def masked(outputs: object) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        values = np.asarray(outputs, dtype=np.float64)[:, 0]
        return np.where(values == 3.0, np.nan, values)

    score = Score("masked", masked)
    # Only the output without a score tells the two apart; what is left is the same for both.
    first = sample(*[1.0] * 400, *[2.0] * 400, *[3.0] * 400)
    second = sample(*[1.0] * 600, *[2.0] * 600)
    choice = chosen([score], Pair(0, 1, 0.0, 0.0), (first, second), 0.01, 0.0)
    assert choice is not None
    assert choice.event.hits(first) <= 800
    for above in (True, False):
        assert Event(score, 2.5, above).hits(first) == (0 if above else 800)


def test_where_no_output_has_a_score_there_is_no_event() -> None:
    nothing = Score("nothing", lambda outputs: np.full(len(outputs), np.nan))
    both = (sample(1.0, 2.0), sample(3.0, 4.0))
    assert chosen([nothing], Pair(0, 1, 0.0, 0.0), both, 0.01, 0.0) is None
    found = chosen([nothing, IDENTITY], Pair(0, 1, 0.0, 0.0), both, 0.01, 0.0)
    assert found is None or found.event.score is IDENTITY


def test_a_delta_is_subtracted_from_what_is_likely() -> None:
    # 1.3 against a claim of 1.0 is refuted; with the difference as a delta it is not.
    kept = 1 / (1 + math.exp(-1.3))
    needed = kept - math.e * (1 - kept)
    assert judged(answers(epsilon=1.0, truth=1.3, delta=0.5 * needed)).refuted
    assert not judged(answers(epsilon=1.0, truth=1.3, delta=needed)).refuted


def test_nothing_beyond_the_reach_of_draws_is_ever_shown() -> None:
    # Two inputs that are told apart always: the loss is infinite, what is shown is not.
    finding = judged(answers(epsilon=1.0, truth=50.0), draws=2000)
    assert finding.witness is not None
    most = reach(2000, 1, ALPHA)
    assert finding.witness.loss <= most
    assert finding.witness.loss == pytest.approx(most, abs=0.1)


def test_draws_are_split_into_two_quarters_and_a_half() -> None:
    parts = events._split(np.arange(1001))
    assert (parts.learn.total, parts.choose.total, parts.hold.total) == (250, 250, 501)
    assert set(parts.learn.outputs.tolist()).isdisjoint(parts.hold.outputs.tolist())


def test_the_same_seed_gives_the_same_finding() -> None:
    assert judged(answers(epsilon=1.0, truth=1.3)) == judged(answers(epsilon=1.0, truth=1.3))
    other = judged(answers(epsilon=1.0, truth=1.3), seed=4)
    assert other.witness != judged(answers(epsilon=1.0, truth=1.3)).witness


def repeating(draws: Sequence[float]) -> VectorSubject:
    """The same outputs at every call, whatever the randomness."""
    return VectorSubject(
        claim="…",
        epsilon=1.0,
        inputs=("one", "other"),
        source=lambda *_: np.array(draws)[:, None],
    )


@pytest.mark.parametrize(("rare", "accused"), [(0, False), (1, False), (4, False), (9, True)])
def test_draws_that_repeat_accuse_only_where_chance_would_not(rare: int, accused: bool) -> None:
    # Of 400 draws, 0, 1, 4 or 9 are another output: 1, 400, 1.1e9 or 6e17 orders.
    draws = np.zeros(400)
    draws[50 : 50 + rare] = 1.0
    finding = judged(repeating(draws.tolist()), draws=400)
    orders = math.comb(400, rare)
    assert accused == (orders > 1 / (events.REPEAT_SHARE * ALPHA))
    assert finding.refuted == accused
    assert bool(finding.defect) == accused


def test_the_budget_is_that_of_both_questions_together(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[float] = []

    def witness(subject: object, pair: object, parts: object, alpha: float) -> None:
        del subject, pair, parts
        spent.append(2 * alpha)

    monkeypatch.setattr(events, "witness_of", witness)
    finding = judged(answers(epsilon=1.0, truth=1.0), draws=400)
    assert sum(spent) + events.REPEAT_SHARE * ALPHA == pytest.approx(ALPHA)
    assert finding.confidence == 1 - ALPHA
