"""On simulated text the Bayes attacker reaches what is possible, and no more; where nothing can
leak, nobody finds anything.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sfumato.attacks.inference.attackers import Attacker, right, shuffle_unrelated
from sfumato.attacks.inference.bayes import Bayes, Likelihood
from sfumato.attacks.inference.observed import Observed, Truth, observe
from sfumato.attacks.inference.priors import prior_of
from sfumato.attacks.inference.token_inference import TokenInference
from sfumato.attacks.text_target import TextTarget
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.text.document import Document
from sfumato.vectors.space import Space
from statistical.budget import fits_share, rejects
from statistical.hidden_rows import WithoutRows
from unit.attacks.inference.made import drawn_words, everything, privatized, rows_of, written

CHECK = "attacks: token inference"
WORDS = 20_000


def simulated(space: Space, mechanism: PointMechanism) -> tuple[TextTarget, list[Document]]:
    """A text of independent words from the prior, privatized."""
    prior = prior_of("unigram", space, np.arange(len(space)))
    words = drawn_words(space, prior.shares, WORDS, seed=5)
    target, originals = privatized(everything(mechanism), written(space, words), seed=6)
    return target, originals


def mechanism_of(name: str, space: Space) -> PointMechanism:
    if name == "exponential":
        return build_mechanism(name, space=space, epsilon=2.0)
    return build_mechanism(
        name, space=space, epsilon=3.0, settings={"sensitive_share": 0.5, "p": 0.8}
    )


def most(space: Space, mechanism: PointMechanism) -> float:
    """The closed form: Σ_y max_x prior(x) · P[y | x]."""
    prior = prior_of("unigram", space, np.arange(len(space)))
    return float((prior.shares[:, None] * rows_of(mechanism)).max(axis=0).sum())


@pytest.mark.parametrize("name", ["exponential", "sanitize-plus"])
def test_success_agrees_with_the_closed_form(small_space: Space, name: str) -> None:
    mechanism = mechanism_of(name, small_space)
    target, originals = simulated(small_space, mechanism)
    expected = most(small_space, mechanism)
    scores = TokenInference(top=3).score(
        target,
        originals,
        Randomness.reproducible(7),
    )
    figure = scores.figure("top-1")
    assert figure.n == WORDS
    hits = round(figure.value * WORDS)
    assert not rejects(CHECK, name, [fits_share(hits, WORDS, expected)])
    # The twin's posterior is without the prior.
    seen, truth = observe(target, originals)
    even = Bayes(prior_of("uniform", small_space, seen.possible))
    assert rejects(CHECK, name, [fits_share(_hits(even, seen, truth), WORDS, expected)])


def test_a_transposed_likelihood_is_found_out(small_space: Space) -> None:
    mechanism = mechanism_of("sanitize-plus", small_space)
    target, originals = simulated(small_space, mechanism)
    seen, truth = observe(target, originals)
    prior = prior_of("unigram", small_space, seen.possible)
    guess = (prior.shares[:, None] * rows_of(mechanism).T).argmax(axis=0)
    hits = int((guess[seen.outputs] == truth.originals).sum())
    share = most(small_space, mechanism)
    assert rejects(CHECK, "sanitize-plus", [fits_share(hits, WORDS, share)])


def test_nobody_beats_him(small_space: Space) -> None:
    """The nearest word is not better than the closed form, beyond chance; a peeking twin is."""
    mechanism = mechanism_of("exponential", small_space)
    target, originals = simulated(small_space, mechanism)
    share = most(small_space, mechanism)
    scores = TokenInference(attacker="nearest", top=3).score(
        target,
        originals,
        Randomness.reproducible(7),
    )
    hits = round(scores.figure("top-1").value * WORDS)
    better = stats.binomtest(hits, WORDS, share, alternative="greater").pvalue
    assert not rejects(CHECK, "nearest", [better])
    # The twin counts any of its guesses as its first.
    hits = round(scores.figure("top-3").value * WORDS)
    better = stats.binomtest(hits, WORDS, share, alternative="greater").pvalue
    assert rejects(CHECK, "nearest", [better])


def test_counted_rows_are_the_rows(small_space: Space) -> None:
    draws, every = 4000, np.arange(12)
    mechanism = mechanism_of("exponential", small_space)
    other = build_mechanism("exponential", space=small_space, epsilon=4.0)

    def values(drawn_from: PointMechanism) -> list[float]:
        likelihood = Likelihood(WithoutRows(drawn_from), every, draws, Randomness.reproducible(8))
        assert not likelihood.exact
        rows = rows_of(mechanism)
        return [
            fits_share(round(float(share) * draws), draws, float(rows[block][x, y]))
            for block, chances in likelihood.blocks(every, every)
            for (x, y), share in np.ndenumerate(chances)
        ]

    assert len(values(mechanism)) == 144
    assert not rejects(CHECK, "counted rows", values(mechanism))
    # The twin counts draws of another level.
    assert rejects(CHECK, "counted rows", values(other))


def test_where_nothing_can_leak_nothing_is_found(small_space: Space) -> None:
    """The control's success is that of guesses which know nothing of the originals."""
    mechanism = mechanism_of("exponential", small_space)
    target, originals = simulated(small_space, mechanism)
    seen, truth = observe(target, originals)
    prior = prior_of("unigram", small_space, seen.possible)
    rows = rows_of(mechanism)
    guess = (prior.shares[:, None] * rows).argmax(axis=0)
    chance_of = np.bincount(guess, prior.shares @ rows, minlength=12)
    expected = float(chance_of[truth.originals].sum())

    def by_chance(hits: float) -> float:
        # Hoeffding: the words are independent, each with a chance of its own.
        return min(1.0, 2 * math.exp(-2 * (hits - expected) ** 2 / WORDS))

    scores = TokenInference(top=3).score(target, originals, Randomness.reproducible(9))
    control = scores.control.figures[0]
    assert control.metric == "top-1"
    fresh = seen.with_outputs(shuffle_unrelated(seen, prior, Randomness.reproducible(10)))
    hits = _hits(Bayes(prior), fresh, truth)
    honest = [by_chance(control.value * WORDS), by_chance(hits)]
    assert not rejects(CHECK, "control", honest)
    # The twin's control is the text itself.
    assert rejects(CHECK, "control", [by_chance(_hits(Bayes(prior), seen, truth))])


def _hits(attacker: Attacker, seen: Observed, truth: Truth) -> int:
    guesses = attacker.guesses(seen, 3, Randomness.reproducible(1))
    return int(right(guesses, truth.originals)[:, 0].sum())
