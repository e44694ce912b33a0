"""Where draws are spent, and what is proven by those that decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.audits import falsify as module
from sfumato.audits.candidates import color_space
from sfumato.audits.company import Drawn, on_company
from sfumato.audits.events import Choice, DrawnSample, Event, Examined, Pair, Score, decide_event
from sfumato.audits.falsify import DrawPlan, falsify, leading
from sfumato.audits.points import sample_pairs
from sfumato.audits.subject import DrawsTogether, Subject, VectorSubject, WordSubject
from sfumato.audits.verdict import Finding, Witness
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from statistical import budget
from unit.audits.subjects import answers

# Shared out among the claims below that are true.
ALPHA = budget.level("audits: true claims", "known laws") / 4


def judged(subject: Subject, *, draws: int = 20_000, seed: int = 3) -> Finding:
    return falsify(
        subject,
        draws=draws,
        alpha=ALPHA,
        randomness=Randomness.reproducible(seed),
        advance=lambda _: None,
    )


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


def test_a_delta_is_subtracted_from_what_is_likely() -> None:
    # 1.3 against a claim of 1.0 is refuted; with the difference as a delta it is not.
    kept = 1 / (1 + math.exp(-1.3))
    needed = kept - math.e * (1 - kept)
    assert judged(answers(epsilon=1.0, truth=1.3, delta=0.3 * needed)).refuted
    assert not judged(answers(epsilon=1.0, truth=1.3, delta=needed)).refuted


def test_nothing_beyond_the_reach_of_draws_is_ever_shown() -> None:
    # Two inputs that are told apart always: the loss is infinite, what is shown is not.
    finding = judged(answers(epsilon=1.0, truth=50.0), draws=2000)
    assert finding.witness is not None
    most = DrawPlan.of(2, 2000, 1).reach(ALPHA)
    assert finding.witness.loss <= most
    assert finding.witness.loss == pytest.approx(most, abs=0.1)


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
    assert accused == (orders > 1 / (module.REPEAT_SHARE * ALPHA))
    assert finding.refuted == accused
    assert bool(finding.defect) == accused


@pytest.mark.parametrize(("inputs", "pairs"), [(2, 1), (5, 10), (6, 15), (41, 820)])
def test_no_more_is_drawn_than_if_all_inputs_got_the_same(inputs: int, pairs: int) -> None:
    plan = DrawPlan.of(inputs, 1000, pairs)
    again, deciding = min(inputs, module.LOOKED_AT_AGAIN), min(inputs, module.DECIDED)
    total = inputs * plan.first + again * plan.second + deciding * plan.held
    assert 0.99 * inputs * 1000 <= total <= inputs * 1000
    # Where many are looked at, those that are decided on get many times what they got before.
    assert plan.held >= (500 if inputs < 41 else 2500)
    assert plan.pairs == min(pairs, module.DECIDED_PAIRS)


def test_what_promises_most_is_kept_as_long_as_it_needs_few_inputs() -> None:
    score = Score("the number", lambda outputs: outputs.astype(np.float64))
    choices = [
        Choice(Pair(*pair, 1.0, 1.0), Event(score, 0.0, above=True), False, promise)
        for pair, promise in [((0, 1), 1.0), ((2, 3), 5.0), ((3, 4), 3.0), ((2, 4), 0.5)]
    ]
    kept = [choice.inputs for choice in leading(choices, 3)]
    assert kept == [(2, 3), (3, 4), (2, 4)]


def test_the_budget_is_that_of_all_questions_together(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[float] = []

    def deciding(
        subject: Examined, choice: Choice, held: Mapping[int, DrawnSample], alpha: float
    ) -> Witness:
        spent.append(2 * alpha)
        return decide_event(subject, choice, held, alpha)

    def beside(
        subject: DrawsTogether, drawn: Mapping[int, Drawn], alpha: float, randomness: Randomness
    ) -> Witness | None:
        spent.append(alpha)
        return on_company(subject, drawn, alpha, randomness)

    monkeypatch.setattr(module, "decide_event", deciding)
    monkeypatch.setattr(module, "on_company", beside)
    mechanism = Laplace(space=color_space(1.0), epsilon=1.0)
    pairs = sample_pairs(mechanism, (), None, Randomness.reproducible(1))
    subject = WordSubject(mechanism=mechanism, chosen=pairs)
    finding = judged(subject, draws=400)
    assert len(spent) == module.DECIDED_PAIRS + 1
    assert sum(spent) + module.REPEAT_SHARE * ALPHA == pytest.approx(ALPHA)
    assert finding.confidence == 1 - ALPHA
    assert finding.decided == module.DECIDED_PAIRS


def test_what_decides_is_drawn_after_everything_was_chosen() -> None:
    seen: list[tuple[int, ...]] = []

    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        seen.append((number, *randomness.path))
        return number + randomness.normal(count, 1)

    names = tuple(map(str, range(7)))
    judged(VectorSubject(claim="…", epsilon=9.0, inputs=names, source=source), draws=400)
    # No stream is used twice: no draw that chose could come again among those that decide.
    assert len(set(seen)) == len(seen)
