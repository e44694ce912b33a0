"""Signals of membership: from token scores alone, and against other models."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.attacks.membership import signals
from sfumato.attacks.membership.evidence import (
    IMPOSSIBLE,
    Evidence,
    OtherModels,
    ScoreTable,
    losses,
    neutral,
)
from sfumato.attacks.membership.signals import (
    SIGNALS,
    Knobs,
    score_signal,
    standardize_tokens,
    statistic,
)
from sfumato.attacks.token_scores import TokenScores
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument
from unit.attacks.membership.small import table

TEXTS, MODELS = 9, 6

Mask = NDArray[np.bool_]
KNOBS = Knobs(share=0.2, gamma=1.0, offset=1.0)
TOKEN_SIGNALS = ("loss", "zlib", "min-k", "min-k++")
ROW = [-0.1, -4.0, -2.0, -0.3, -9.0, -0.2, -1.0, -0.5, -3.0, -0.4]


def drawn_losses(seed: int, models: int = MODELS) -> Floats:
    drawn = np.random.default_rng(seed).gamma(4, 0.5, (models, TEXTS))
    # As exact as the store keeps them.
    return drawn.astype(np.float32).astype(np.float64)


def as_table(row: Floats) -> ScoreTable:
    return table(*([-loss] for loss in row.tolist()))


def evidence(target: Floats, others: Floats, inside: Mask | None = None) -> Evidence:
    tables = tuple(as_table(row) for row in others)
    texts = tuple("x" for _ in target)
    if inside is None:
        return Evidence(
            texts=texts, target=as_table(target), references=OtherModels.strangers(tables)
        )
    return Evidence(texts=texts, target=as_table(target), shadows=OtherModels(tables, inside))


@pytest.fixture
def inside() -> Mask:
    """Each text in half of the models."""
    rng = np.random.default_rng(3)
    mask = np.zeros((MODELS, TEXTS), dtype=np.bool_)
    for text in range(TEXTS):
        mask[rng.choice(MODELS, MODELS // 2, replace=False), text] = True
    return mask


def logit(loss: float) -> float:
    p = math.exp(-loss)
    return math.log(p / (1 - p))


def test_difference_and_rank_are_those_of_the_references() -> None:
    target, others = drawn_losses(1, 1)[0], drawn_losses(2)
    given = evidence(target, others)
    for text in range(TEXTS):
        column = others[:, text]
        assert signals.difference(given)[text] == pytest.approx(
            mean(column.tolist()) - target[text], abs=1e-6
        )
        larger = sum(float(loss > target[text]) for loss in column) / MODELS
        assert signals.rank(given)[text] == pytest.approx(larger)
        called = target[text] < np.quantile(column, 0.1)
        assert signals.below_percentile(given, 0.1)[text] == called


def test_a_tie_with_a_reference_counts_half() -> None:
    given = evidence(np.array([1.0, 2.0]), np.array([[1.0, 1.0], [1.0, 3.0]]))
    assert signals.rank(given).tolist() == [0.5, 0.5]


def test_shadows_that_have_seen_a_text_are_no_references(inside: Mask) -> None:
    target, others = drawn_losses(1, 1)[0], drawn_losses(2)
    found = signals.difference(evidence(target, others, inside))
    for text in range(TEXTS):
        outside = [others[m, text] for m in range(MODELS) if not inside[m, text]]
        assert found[text] == pytest.approx(np.mean(outside) - target[text], abs=1e-6)


@pytest.mark.parametrize(("gamma", "a"), [(1.0, 1.0), (1.5, 0.3), (0.7, 0.0)])
def test_rmia_offline_is_the_papers_loop(gamma: float, a: float) -> None:
    target, others = drawn_losses(1, 1)[0], drawn_losses(2)
    found = signals.relative(evidence(target, others), gamma, a)

    def ratio(text: int) -> float:
        out = mean(math.exp(-others[model, text]) for model in range(MODELS))
        return math.exp(-target[text]) / (0.5 * ((1 + a) * out + (1 - a)))

    for x in range(TEXTS):
        beaten = [ratio(x) / ratio(z) >= gamma for z in range(TEXTS) if z != x]
        assert found[x] == pytest.approx(mean(map(float, beaten)))


def test_rmia_online_is_the_papers_loop(inside: Mask) -> None:
    target, others = drawn_losses(1, 1)[0], drawn_losses(2)
    found = signals.relative(evidence(target, others, inside), 1.2, 0.5)

    def ratio(text: int) -> float:
        sides = [
            mean(math.exp(-others[m, text]) for m in range(MODELS) if inside[m, text] == seen)
            for seen in (True, False)
        ]
        return math.exp(-target[text]) / mean(sides)

    for x in range(TEXTS):
        beaten = [ratio(x) / ratio(z) >= 1.2 for z in range(TEXTS) if z != x]
        assert found[x] == pytest.approx(mean(map(float, beaten)))


def test_lira_offline_is_the_papers_loop_with_shared_variance() -> None:
    target, others = drawn_losses(1, 1)[0], drawn_losses(2)
    found = signals.offline(evidence(target, others))
    columns = [[logit(loss) for loss in others[:, text].tolist()] for text in range(TEXTS)]
    shared = math.sqrt(mean(stdev(column) ** 2 for column in columns))
    for text in range(TEXTS):
        law = NormalDist(mean(columns[text]), shared)
        # One minus the chance of a larger statistic without the text, as in the paper.
        chance = law.cdf(logit(target[text]))
        assert NormalDist().cdf(found[text]) == pytest.approx(chance, abs=1e-5)


def test_lira_online_is_the_papers_loop_with_shared_variance(inside: Mask) -> None:
    target, others = drawn_losses(1, 1)[0], drawn_losses(2)
    found = signals.online(evidence(target, others, inside))

    def column(text: int, *, seen: bool) -> list[float]:
        return [logit(others[m, text]) for m in range(MODELS) if inside[m, text] == seen]

    laws = []
    for seen in (True, False):
        columns = [column(text, seen=seen) for text in range(TEXTS)]
        shared = math.sqrt(mean(stdev(one) ** 2 for one in columns))
        laws.append([NormalDist(mean(one), shared) for one in columns])
    for text in range(TEXTS):
        own = logit(target[text])
        ratio = laws[0][text].pdf(own) / laws[1][text].pdf(own)
        assert found[text] == pytest.approx(math.log(ratio), rel=1e-3, abs=1e-4)


def test_with_many_models_each_text_has_its_own_variance() -> None:
    target, others = drawn_losses(1, 1)[0], drawn_losses(2, 70)
    found = signals.offline(evidence(target, others))
    for text in range(TEXTS):
        column = [logit(loss) for loss in others[:, text].tolist()]
        expected = (logit(target[text]) - mean(column)) / stdev(column)
        assert found[text] == pytest.approx(expected, rel=1e-4)


def test_a_single_reference_orders_by_the_difference() -> None:
    target, others = drawn_losses(1, 1)[0], drawn_losses(2, 1)
    found = signals.offline(evidence(target, others))
    expected = statistic(target) - statistic(others[0])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_statistic_survives_certainty_and_despair() -> None:
    found = statistic(np.array([0.0, 1e-12, 1.0, 1e4]))
    assert np.isfinite(found).all()
    assert (np.diff(found) <= 0).all()


def test_a_text_without_tokens_is_no_number_and_spoils_no_other(inside: Mask) -> None:
    target, others = drawn_losses(1, 1)[0], drawn_losses(2)
    whole = evidence(target, others, inside)

    def without(row: Floats) -> ScoreTable:
        return table(*([-loss] if place else [] for place, loss in enumerate(row.tolist())))

    holed = Evidence(
        texts=whole.texts,
        target=without(target),
        shadows=OtherModels(tuple(without(row) for row in others), inside),
    )
    for signal in (
        signals.difference,
        signals.rank,
        signals.offline,
        signals.online,
        lambda given: signals.relative(given, 1.0, 1.0),
    ):
        found = signal(holed)
        assert np.isnan(found[0])
        assert np.isfinite(found[1:]).all()
    assert not signals.below_percentile(holed, 0.5)[0]
    kept = signals.difference(holed)[1:]
    np.testing.assert_allclose(kept, signals.difference(whole)[1:])


def test_masks_that_do_not_fit_are_refused() -> None:
    tables = (as_table(np.ones(3)),)
    with pytest.raises(InvalidArgument, match="do not fit"):
        OtherModels(tables, np.zeros((2, 3), np.bool_))
    with pytest.raises(BadInput, match="was not trained on it"):
        OtherModels(tables, np.ones((1, 3), np.bool_))
    with pytest.raises(InvalidArgument, match="at least one model"):
        OtherModels.strangers([])
    alone = Evidence(texts=("x",), target=as_table(np.ones(1)))
    with pytest.raises(InvalidArgument, match="references or shadows"):
        signals.difference(alone)
    with pytest.raises(InvalidArgument, match="needs shadows"):
        signals.online(alone)


def evidence_of(*rows: Sequence[float]) -> Evidence:
    return Evidence(texts=tuple("x" * len(row) for row in rows), target=table(*rows))


def test_each_is_its_formula() -> None:
    one = evidence_of(ROW)
    expected = {
        "loss": np.mean(ROW),
        "zlib": np.sum(ROW) / len(zlib.compress(b"x" * 10)),
        "min-k": np.mean([-9.0, -4.0]),
        "min-k++": np.mean([(-9.0 + 3) / 2, (-4.0 + 3) / 2]),
    }
    for name, value in expected.items():
        assert score_signal(name, one, KNOBS)[0] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("name", TOKEN_SIGNALS)
def test_a_more_probable_text_scores_higher(name: str) -> None:
    better = [value / 2 for value in ROW]
    low, high = score_signal(name, evidence_of(ROW, better), KNOBS)
    assert high > low


@pytest.mark.parametrize("name", TOKEN_SIGNALS)
def test_a_text_without_tokens_stands_in_the_middle(name: str) -> None:
    found = score_signal(
        name, evidence_of(ROW, [], [2 * one for one in ROW], [one / 2 for one in ROW]), KNOBS
    )
    assert found[1] == np.median(found[[0, 2, 3]])
    assert score_signal(name, evidence_of([], []), KNOBS).tolist() == [0.0, 0.0]


@given(st.lists(st.lists(st.floats(-1e6, 0), max_size=8), min_size=1, max_size=6))
@pytest.mark.parametrize("name", TOKEN_SIGNALS)
def test_no_text_is_too_short_or_too_strange(name: str, rows: list[list[float]]) -> None:
    assert np.isfinite(score_signal(name, evidence_of(*rows), KNOBS)).all()


def test_an_impossible_token_makes_nothing_infinite() -> None:
    assert losses(table([-np.inf, 0.0])).tolist() == [-IMPOSSIBLE / 2]
    for name in TOKEN_SIGNALS:
        assert np.isfinite(score_signal(name, evidence_of([-np.inf], ROW), KNOBS)).all()


def test_a_place_where_all_tokens_are_alike_surprises_nobody() -> None:
    flat = np.array([-2.0, -2.0], np.float32)
    deviation = np.array([0.0, 1.0], np.float32)
    scores = TokenScores(np.array([-2.0, -3.0], np.float32), flat, deviation)
    assert standardize_tokens(scores).tolist() == [0.0, -1.0]


def test_neutral_leaves_numbers_alone() -> None:
    values = np.array([3.0, 1.0])
    assert neutral(values).tolist() == [3.0, 1.0]
    assert SIGNALS.keys() >= set(TOKEN_SIGNALS)
