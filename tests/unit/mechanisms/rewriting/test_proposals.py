"""Proposals from a quick product: bounds that hold, a law that is exact, and twins of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting import proposals
from sfumato.mechanisms.rewriting.candidate_law import ByCosine
from sfumato.mechanisms.rewriting.law import SentenceLaw
from sfumato.mechanisms.rewriting.pool import Pool, in_singles
from sfumato.mechanisms.rewriting.proposals import CutCosines, Proposals, Whole

CASES = [(0.0, 0.1, 0.7), (3.0, 0.1, 0.7), (30.0, 0.1, 0.4), (15.0, -1.0, 1.0), (400.0, 0.3, 0.31)]


def vectors_of(count: int, size: int, seed: int) -> Floats:
    found = np.random.default_rng(seed).normal(size=(count, size))
    # Every third coordinate nearly cancels the one before: sums in single precision lose most.
    found[:, 2::3] = -found[:, 1:-1:3][:, : found[:, 2::3].shape[1]] * (1 + 1e-6)
    unit: Floats = found / np.linalg.norm(found, axis=1, keepdims=True)
    return unit


def made(beta: float, low: float, high: float, count: int = 300, size: int = 48) -> CutCosines:
    public = in_singles(vectors_of(count, size, 1))
    return CutCosines(public=public, beta=beta, low=low, high=high)


def every(cosines: CutCosines, vectors: Floats) -> Iterator[tuple[Floats, Proposals]]:
    for vector, found in zip(vectors, cosines.propose_each(vectors), strict=True):
        yield vector[None], quick(found)
    yield vectors, quick(cosines.propose(vectors))
    yield vectors[:0], quick(cosines.propose(vectors[:0]))


def quick(found: Proposals | Whole) -> Proposals:
    assert isinstance(found, Proposals)
    return found


def chances(cosines: CutCosines, vectors: Floats, found: Proposals) -> Floats:
    """The law of a draw, computed from what is proposed and what is taken."""
    proposed = np.exp(found.tops[found.steps] - found.tops.max())
    exact = np.array([cosines.exact(vectors, one) for one in range(len(cosines.public))])
    taken = np.minimum(1.0, np.exp(exact - found.tops[found.steps]))
    whole: Floats = proposed * taken / (proposed * taken).sum()
    return whole


@pytest.mark.parametrize(("beta", "low", "high"), CASES)
def test_no_score_is_above_the_top_of_its_step_and_the_law_is_exact(
    beta: float, low: float, high: float
) -> None:
    cosines = made(beta, low, high)
    # Some vectors of the pool itself, so that cosines reach the upper end; one without any.
    near = np.vstack([vectors_of(4, 48, 2), cosines.public[:3].astype(float), np.zeros((1, 48))])
    for vectors, found in every(cosines, near):
        exact = np.array([cosines.exact(vectors, one) for one in range(len(cosines.public))])
        tops = found.tops[found.steps]
        assert (exact <= tops).all()
        assert (tops - exact).max() <= 0.26 + 2 * beta * cosines.slack(max(1, len(vectors)))
        expected = np.exp(exact - exact.max())
        expected /= expected.sum()
        assert np.allclose(chances(cosines, vectors, found), expected, rtol=1e-12, atol=0)


def test_the_law_is_that_of_the_plain_way() -> None:
    vectors = vectors_of(300, 48, 1)
    names = tuple(map(str, range(300)))
    pool = Pool("made up", names, in_singles(vectors), np.zeros(48))
    near = vectors_of(3, 48, 5)
    each = SentenceLaw(pool=pool, beta=20.0, low=0.1, high=0.7)
    whole = ByCosine(pool=pool, beta=20.0, low=0.1, high=0.7, most=3)
    cosines = CutCosines(public=pool.vectors, beta=20.0, low=0.1, high=0.7)
    for vector, found in zip(near, cosines.propose_each(near), strict=True):
        mine = chances(cosines, vector[None], quick(found))
        assert np.allclose(mine, np.exp(each.log_rows(vector[None])[0]), rtol=1e-9)
    mine = chances(cosines, near, quick(cosines.propose(near)))
    assert np.allclose(mine, np.exp(whole.log_row(near)), rtol=1e-9)


def test_the_twin_without_slack_has_scores_above_their_tops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cosines = made(900.0, 0.1, 0.4, count=4000)
    near = vectors_of(6, 48, 3)

    def above() -> int:
        return sum(
            cosines.exact(vectors, one) > found.tops[found.steps[one]]
            for vectors, found in list(every(cosines, near))[:6]
            for one in np.flatnonzero(found.steps).tolist()
        )

    assert above() == 0
    monkeypatch.setattr(CutCosines, "slack", lambda *_: 0.0)
    monkeypatch.setattr(proposals, "_WIDER", 1 - 1e-4)
    assert above() > 0


def test_the_twin_that_leaves_sentences_out_has_another_law() -> None:
    """An index of the nearest alone, as libraries have it."""
    cosines = made(10.0, 0.1, 0.7)
    vector = vectors_of(1, 48, 2)
    (found,) = cosines.propose_each(vector)
    nearest = np.argsort(-(cosines.public @ vector[0]))[:50]
    index = replace(cosines, public=cosines.public[nearest])
    (short,) = index.propose_each(vector)
    mine, theirs = chances(cosines, vector, quick(found)), np.zeros(300)
    theirs[nearest] = chances(index, vector, quick(short))
    assert (theirs == 0).sum() == 250
    assert not np.allclose(mine, theirs, rtol=0.01)
    assert (mine > 0).all()


def test_draws_are_numbers_of_the_pool_whatever_is_beside() -> None:
    cosines = made(12.0, 0.1, 0.7)
    vectors = vectors_of(70, 48, 9)
    each = [one.draw(1, Randomness.reproducible(4)) for one in cosines.propose_each(vectors)]
    alone = [
        next(cosines.propose_each(one[None])).draw(1, Randomness.reproducible(4)) for one in vectors
    ]
    assert all(0 <= int(one[0]) < 300 for one in each)
    # Steps may differ in a last digit, so nothing is said of all of them.
    assert sum(int(a[0]) == int(b[0]) for a, b in zip(each, alone, strict=True)) >= 65
    assert cosines.propose(vectors[:2]).draw(500, Randomness.secure()).shape == (500,)


def around_the_window(cosines: CutCosines) -> Floats:
    """A vector whose cosines with part of the pool lie inside of a narrow window."""
    first, second = cosines.public[:2].astype(float)
    away = second - (second @ first) * first
    found: Floats = (0.1 + 4e-7) * first + np.sqrt(0.98) * away / np.linalg.norm(away)
    return found[None]


def test_a_narrow_window_takes_exact_scores_of_the_whole_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cosines = made(3e6, 0.1, 0.1 + 1e-6)
    vectors = np.vstack([around_the_window(cosines), vectors_of(2, 48, 6)])
    assert cosines.too_coarse(1)
    wholes = [*cosines.propose_each(vectors), cosines.propose(vectors)]
    assert all(isinstance(one, Whole) for one in wholes)
    assert set(wholes[0].draw(50, Randomness.secure()).tolist()) <= set(range(300))
    monkeypatch.setattr(proposals, "_COARSE", np.inf)
    # Both ways have one law, but the quick one would take next to nothing.
    for (mine, found), whole in zip(list(every(cosines, vectors))[:4], wholes, strict=True):
        assert isinstance(whole, Whole)
        weights = np.exp(whole.scores)
        assert np.allclose(weights / weights.sum(), chances(cosines, mine, found), rtol=1e-9)
        exact = np.array([cosines.exact(mine, one) for one in range(300)])
        assert np.allclose(whole.scores, exact, rtol=0, atol=1e-9)
        assert np.exp(exact - found.tops[found.steps]).max() < 1e-3
    assert 0.5 < cosines.exact(vectors[:1], 0) < 2.5


def test_both_ways_have_one_law_where_either_does(monkeypatch: pytest.MonkeyPatch) -> None:
    cosines, vectors = made(20.0, 0.1, 0.7), vectors_of(3, 48, 5)
    expected = [chances(cosines, *one) for one in every(cosines, vectors)]
    monkeypatch.setattr(proposals, "_COARSE", -1.0)
    wholes = [*cosines.propose_each(vectors), *map(cosines.propose, (vectors, vectors[:0]))]
    for whole, law in zip(wholes, expected, strict=True):
        assert isinstance(whole, Whole)
        weights = np.exp(whole.scores)
        assert np.allclose(weights / weights.sum(), law, rtol=1e-12, atol=0)


@pytest.mark.parametrize("beta", [0.9, 1.1])
def test_proposals_end_where_a_quarter_of_them_is_no_longer_taken(beta: float) -> None:
    cosines = made(1.0, 0.1, 0.1001)
    edge = replace(cosines, beta=beta * 0.5 / cosines.slack(1))
    vector = vectors_of(1, 48, 2)
    (found,) = edge.propose_each(vector)
    assert isinstance(found, Whole) == (beta > 1)
    if isinstance(found, Proposals):
        exact = np.array([edge.exact(vector, one) for one in range(300)])
        assert np.exp(exact - found.tops[found.steps]).min() > 0.25
