"""What an attacker guesses of one word from what it became, quickly enough for a slider.

The attacker knows the mechanism, its level, and how frequent words are in public (``priors``). They
see the word y that came out and guess x = g(y).

What is proven
    *Any* rule g is a possible attacker, so what one reaches is a lower bound on what the best one
    reaches; and the best one is Bayes' (``bayes``). Both are about the mean over all words, each
    counted by its prior. For one word alone there is no best attacker: whoever always says "Paris"
    is always right about Paris. So the figure of a word is that of the rule, for that word, and the
    rule must not know the word: here a guess depends on y and on public vectors alone.

Rows
    The guess is the best of the ``frequent`` likeliest words and y itself, by prior × P[y | x]. It
    is *settled*, that is Bayes' guess among all words, where no other word can reach its value:
    P[y | x] <= P[y | y] for all x, and for the exponential mechanism P[y | x] <= exp(−epsilon/2 ·
    d(x, y)), because the sum that it is divided by has a 1 in it (``own_and_rivals``). It is also
    settled where all words that can become y were looked at. (Chances are right to some three
    digits, so a guess must be better by one percent, and near-ties among the words that were
    looked at may fall either way.)

Noise
    P[y | x] is not known. The guess is the best of the first words and y itself by ln prior(x) −
    ``WEIGHT`` · epsilon · d(x, y). Metric DP bounds how far ln P[y | x] can lie below ln P[y | y]:
    by epsilon · d(x, y); how much of it is used up was tried on public words, and little depends on
    it. This attacker is valid and not the best. From the other side, ``guess_from_places`` is an
    attacker who sees the noisy place before a word is read off it. Their posterior is exact, prior
    × density. The word is made from that place without looking at the original, so in the mean
    over words nobody who sees the word alone is right more often.

Reference
    Shokri et al. 2012 (see ``bayes``); for noise, the data-processing inequality.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np

from sfumato.attacks.inference.bayes import Likelihood
from sfumato.attacks.inference.observed import Spelling
from sfumato.attacks.inference.priors import Prior, prior_of
from sfumato.core.arrays import Flags, Floats, Points
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.noise import ByNoise, Places
from sfumato.mechanisms.rows import FromRows, RowMechanism
from sfumato.vectors.space import Space

# How much of the bound between two words a guess counts on (see above).
WEIGHT = 0.5
# Of so many first words a guess by distance is chosen: rarer ones hardly ever win.
FIRST = 10_000
# By how much a guess must exceed all rivals: more than chances may be off by rounding.
MARGIN = 1.01
# Places compared with all words at once.
AT_ONCE = 50


@runtime_checkable
class KnowsSources(Protocol):
    """A mechanism that knows which words can become a word."""

    def sources(self, word: int) -> Points:
        """All words that can become it."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Public:
    """What everybody knows before seeing anything: how words are spelled and how likely they are.

    ``seen_as`` is as in ``Spelling``; ``shares`` has the prior of every point, 0 for points that no
    word has.
    """

    space: Space
    seen_as: Points
    prior: Prior
    shares: Floats

    @property
    def spelled_apart(self) -> bool:
        """Whether no two words look the same."""
        return bool((self.seen_as == np.arange(len(self.seen_as))).all())


@lru_cache(maxsize=4)
def public_knowledge(space: Space, case: str) -> Public:
    """The public frequencies of words, by the order of the space."""
    _, seen_as = Spelling(space, case).table()
    possible = np.flatnonzero(space.points(space.words) == np.arange(len(space)))
    prior = prior_of("unigram", space, possible)
    shares = np.zeros(space.unknown + 1)
    shares[prior.points] = prior.shares
    return Public(space, seen_as, prior, shares)


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """A guess for each output, and whether it is proven to be Bayes' among all words."""

    points: Points
    settled: Flags


def guess_by_rows(
    mechanism: RowMechanism, known: Public, outputs: Points, frequent: int
) -> Guesses:
    """The likeliest original of each output, among frequent words and the output itself."""
    prior = known.prior
    if isinstance(mechanism, KnowsSources) and known.spelled_apart:
        listed = [mechanism.sources(word) for word in outputs.tolist()]
        looked_at = np.unique(np.concatenate(listed)) if listed else outputs
        looked_at = looked_at[np.argsort(-known.shares[looked_at], kind="stable")]
        complete = True
    else:
        looked_at = prior.points[:frequent]
        complete = len(looked_at) == len(prior.points)
    chances = _chances(mechanism, known, looked_at, outputs)
    values = known.shares[looked_at, None] * chances
    best = values.argmax(axis=0)
    value, guesses = values[best, np.arange(len(outputs))], looked_at[best]
    if complete:
        return Guesses(np.where(value > 0, guesses, outputs), np.ones(len(outputs), dtype=np.bool_))
    left = known.shares[:-1].copy()
    left[looked_at] = 0.0
    own, rivals = _own_and_rivals(mechanism, known, outputs, left)
    # Of equals the more frequent word is guessed, as everywhere.
    better = known.shares[outputs] * own > value
    guesses = np.where(better | (value == 0), outputs, guesses)
    value = np.maximum(value, known.shares[outputs] * own)
    return Guesses(guesses, (MARGIN * rivals <= value) & (value > 0))


def _own_and_rivals(
    mechanism: RowMechanism, known: Public, outputs: Points, left: Floats
) -> tuple[Floats, Floats]:
    """P[y | y] of each output, and a bound on what any word that is left can reach."""
    if isinstance(mechanism, FromRows) and known.spelled_apart:
        return mechanism.own_and_rivals(outputs, left)
    own = np.diagonal(_chances(mechanism, known, outputs, outputs)).copy()
    return own, np.full(len(outputs), np.inf)


def _chances(mechanism: RowMechanism, known: Public, originals: Points, outputs: Points) -> Floats:
    """P[y | x], one row for each original."""
    if isinstance(mechanism, FromRows) and known.spelled_apart:
        return mechanism.chances(originals, outputs)
    likelihood = Likelihood(mechanism, known.seen_as, 1, Randomness.secure())
    found = np.empty((len(originals), len(outputs)))
    for block, chances in likelihood.blocks(originals, outputs):
        found[block] = chances
    return found


def guess_by_distance(mechanism: ByNoise, known: Public, outputs: Points) -> Points:
    """A guess for each output by frequency and distance (see the module)."""
    first = min(FIRST, len(known.space))
    with np.errstate(divide="ignore"):  # a point that no word has: ln 0
        logs = np.log(known.shares)
    guesses = np.empty(len(outputs), dtype=np.intp)
    for start in range(0, len(outputs), AT_ONCE):
        block = outputs[start : start + AT_ONCE]
        scores = mechanism.distances_from(mechanism.places(block), first)
        scores *= -WEIGHT * mechanism.epsilon
        scores += logs[:first].astype(np.float32)
        best = scores.argmax(axis=1)
        own = logs[block] >= scores[np.arange(len(block)), best]
        guesses[start : start + AT_ONCE] = np.where(own, block, best)
    return guesses


def guess_from_places(
    mechanism: ByNoise, known: Public, places: Places, point: int
) -> tuple[Points, Floats]:
    """Guesses of who sees the noisy places, and the probability they give to one point."""
    with np.errstate(divide="ignore"):
        logs = np.log(known.shares[:-1]).astype(np.float32)
    guesses, beliefs = np.empty(len(places), dtype=np.intp), np.zeros(len(places))
    for start in range(0, len(places), AT_ONCE):
        block = slice(start, start + AT_ONCE)
        scores = mechanism.distances_from(places[block])
        scores *= -mechanism.epsilon
        scores += logs
        best = scores.argmax(axis=1)
        guesses[block] = best
        scores -= scores[np.arange(len(scores)), best][:, None]
        np.exp(scores, out=scores)
        if point < len(known.space):
            beliefs[block] = scores[:, point] / scores.sum(axis=1, dtype=np.float64)
    return guesses, beliefs


Rule = Callable[[Points], Guesses]


def rule_for(mechanism: PointMechanism, known: Public, frequent: int) -> Rule:
    """How an attacker guesses who sees outputs of a mechanism."""
    if isinstance(mechanism, RowMechanism):
        return lambda outputs: guess_by_rows(mechanism, known, outputs, frequent)
    if isinstance(mechanism, ByNoise):
        return lambda outputs: _unsettled(guess_by_distance(mechanism, known, outputs))
    # Nothing is known of the law: the attacker takes what came out at its word.
    return _unsettled


def _unsettled(guesses: Points) -> Guesses:
    return Guesses(guesses, np.zeros(len(guesses), dtype=np.bool_))
