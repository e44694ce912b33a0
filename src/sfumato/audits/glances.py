"""A few draws for every word, to see where to look.

A mechanism may be honest for all words but one. So before some words are looked at in depth, every
word of a space is drawn a few times (of a very large space, a share of its words), once in each
call, as words stand in a text. A word is suspect if what comes out for it most often comes out less
often for the word nearest to it than the claim allows, or everything else too often.

These draws only say where to look. Whatever is found there is shown by other draws, so a glance
costs nothing of the false-alarm budget and needs no proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.choosing import nearest_others
from sfumato.audits.drawing import draw_once_each
from sfumato.audits.words import WordSubject
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.claims import loss_bounds
from sfumato.mechanisms.mechanism import PointMechanism

# Up to so many words all are glanced at; of a larger space so many of them, unless more are asked.
ALL_GLANCED, SOME_GLANCED = 2048, 256
# How often a word is glanced at.
FEWEST, MOST = 8, 32
# Claims are looked up for those that stand out most: on a large space that takes time.
ALL_COMPARED, COMPARED = 128, 32
TINY = 1e-9

Points = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Glances:
    """How many draws may be made in all, for how many words at least, and what could be shown.

    A word of which more is allowed than draws could show is no use as a suspect.
    """

    draws: int
    words: int
    reach: float


def suspects(mechanism: PointMechanism, glances: Glances, randomness: Randomness) -> list[int]:
    """Words that stand out against their nearest, most suspect first."""
    size = len(mechanism.space)
    few = size if size <= ALL_GLANCED else min(size, max(SOME_GLANCED, glances.words))
    words = randomness.stream(0).choose(size, few).astype(np.intp)
    others, away = nearest_others(mechanism.space, words)
    points = np.union1d(words, others)
    passes = int(np.clip(glances.draws // len(points), FEWEST, MOST))
    subject = WordSubject(mechanism=mechanism, chosen=())
    outputs = draw_once_each(subject, points, passes, randomness.stream(1))
    mine = outputs[np.searchsorted(points, words)]
    theirs = outputs[np.searchsorted(points, others)]
    usual = most_frequent(mine)[:, None]
    often, elsewhere = (mine == usual).sum(axis=1), (theirs == usual).sum(axis=1)
    seems = np.maximum(apart(often, elsewhere), apart(passes - elsewhere, passes - often))
    # Of two that stand out equally, the one whose nearest is nearer: the stricter claim.
    first = np.lexsort((away, -seems))[: COMPARED if size > ALL_GLANCED else ALL_COMPARED]
    pairs = zip(words[first].tolist(), others[first].tolist(), strict=True)
    bounds = np.array([loss_bounds(mechanism, word)[other] for word, other in pairs])
    order = np.argsort(bounds - seems[first], kind="stable")
    order = order[bounds[order] <= glances.reach]
    return words[first[order]].tolist()  # type: ignore[no-any-return]


def apart(often: Points, seldom: Points) -> NDArray[np.float64]:
    """By how many nats one count exceeds another at least, if both are off by a standard error."""
    many, few = often + 0.5, seldom + 0.5
    least, most = np.maximum(many - np.sqrt(many), TINY), few + np.sqrt(few)
    found: NDArray[np.float64] = np.log(least / most)
    return found


def most_frequent(outputs: Points) -> Points:
    """Of each row, what is in it most often; of several, the smallest.

    >>> most_frequent(np.array([[3, 1, 3], [2, 0, 1]])).tolist()
    [3, 0]
    """
    ordered = np.sort(outputs, axis=1)
    counts = (ordered[:, :, None] == ordered[:, None, :]).sum(axis=2)
    places = counts.argmax(axis=1)
    found: Points = ordered[np.arange(len(ordered)), places]
    return found
