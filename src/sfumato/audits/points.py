"""Which points of a space to test, when all pairs are too many.

Wrong mechanisms fail where the claim is strict: at near-duplicates, at words that share a point, at
the point of unknown words; and where neighborhoods are unusual: at hubs, which are the nearest word
of many others, and at isolated words. All of this is computed from public vectors and from the
claim itself.

A mechanism may also be honest for all words but one. So every word of a space is drawn a few times
(of a very large space, a part of its words), once in each call, as in a text. A word is suspect if
its most frequent output is rarer for the nearest other word than the claim allows, or if all other
outputs are too frequent there.

These draws only choose what to test. Whatever is found is tested with other draws, so choosing
costs nothing of the false-alarm budget and needs no proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, zip_longest

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.company import draw_once_each
from sfumato.audits.events import Pair
from sfumato.audits.subject import WordSubject
from sfumato.core.arrays import Points
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.claims import loss_bounds
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.search import NearestTwo
from sfumato.vectors.space import Space

# Words whose nearest other word is looked up, to find near-duplicates and hubs.
LOOKED_UP = 2048
# Around a word: how many points with the strictest claims are tested (and one at random).
NEAR_EXACT, NEAR_SAMPLED = 4, 2
# Up to this many points all pairs are sampled; in a larger space, pairs among so many points.
ALL_SAMPLED, SOME_SAMPLED = 64, 40
# Up to this many words all are drawn a few times; of a larger space so many, or more if asked.
ALL_GLANCED, SOME_GLANCED = 2048, 256
# The fewest and the most draws of a word.
FEWEST, MOST = 8, 32
# Claims are looked up for the words that stand out most; in a large space a lookup takes time.
ALL_COMPARED, COMPARED = 128, 32
TINY = 1e-9


def anchors(space: Space, randomness: Randomness) -> list[int]:
    """Words to test around: near-duplicates, hubs, random words and isolated ones, in turn."""
    size = min(LOOKED_UP, len(space))
    looked = randomness.choose(len(space), size).astype(np.intp)
    other, distance = nearest_others(space, looked)
    by_distance = looked[np.argsort(distance, kind="stable")].tolist()
    hubs = np.argsort(-np.bincount(other, minlength=len(space)), kind="stable")[:size].tolist()
    anyhow = looked[randomness.choose(size, size // 2)].tolist()
    kinds = (by_distance, hubs, anyhow, reversed(by_distance))
    turns = chain.from_iterable(zip_longest(*kinds))
    return list(dict.fromkeys(word for word in turns if word is not None))


def nearest_others(space: Space, looked: Points) -> tuple[Points, NDArray[np.float64]]:
    """The nearest other word of each of these words, and its distance."""
    words, away = NearestTwo(np.asarray(space.vectors)).find(space.at(looked))
    # The nearest word is the word itself, unless another word with the same vector comes first.
    itself = words[:, 0] == looked
    other = np.where(itself, words[:, 1], words[:, 0])
    return other, np.where(itself, away[:, 1], away[:, 0])


def around(mechanism: PointMechanism, point: int, near: int, randomness: Randomness) -> list[int]:
    """A point, the points with the strictest claims against it, and a random one."""
    bounds = loss_bounds(mechanism, point)
    claimed = np.flatnonzero(np.isfinite(bounds) & (np.arange(len(bounds)) != point))
    strict = claimed[np.argsort(bounds[claimed], kind="stable")[:near]]
    anywhere = claimed[randomness.integers(len(claimed), 1)] if len(claimed) else claimed
    return [point, *strict.tolist(), *anywhere.tolist()]


def batches(
    mechanism: PointMechanism, pairs: int, most: int, randomness: Randomness
) -> Iterator[Points]:
    """Batches of about ``most`` points to compare with each other, until there are enough pairs."""
    centers = iter(anchors(mechanism.space, randomness))
    while pairs > 0 and (center := next(centers, None)) is not None:
        wanted = min(most, points_for(pairs))
        ahead = chain([center], centers)
        points = _gather(mechanism, ahead, (wanted, NEAR_EXACT), randomness)
        pairs -= len(points) * (len(points) - 1) // 2
        yield points


def points_for(pairs: int) -> int:
    """The smallest number of points that makes so many pairs.

    >>> points_for(1), points_for(3), points_for(4)
    (2, 3, 4)
    """
    return math.ceil((1 + math.sqrt(1 + 8 * pairs)) / 2)


def sample_pairs(
    mechanism: PointMechanism, suspects: Sequence[int], pairs: int | None, randomness: Randomness
) -> list[Pair]:
    """Pairs with a claim, the strictest first: all pairs of a small space, some of a large one.

    ``suspects`` are words to test around first; ``pairs`` is the number asked for.
    """
    points = np.arange(len(mechanism.space) + 1, dtype=np.intp)
    if len(points) > ALL_SAMPLED:
        wanted = max(SOME_SAMPLED, points_for(pairs or 0))
        turns = zip_longest(suspects, anchors(mechanism.space, randomness))
        centers = (word for turn in turns for word in turn if word is not None)
        points = _gather(mechanism, centers, (wanted, NEAR_SAMPLED), randomness)
    return sorted(_pairs_among(mechanism, points), key=strictness)


def thin(pairs: list[Pair], most: int, suspects: Sequence[int] = ()) -> list[Pair]:
    """At most ``most`` of the pairs: the strictest of each suspect, up to half, and an even sample.

    Near-duplicates reveal jumps; pairs that are farther apart reveal too little noise.
    """
    if len(pairs) <= most:
        return pairs
    kept = list(_strictest_of(suspects[: most // 2], pairs))
    rest = [pair for pair in pairs if pair not in kept]
    places = np.linspace(0, len(rest) - 1, most - len(kept)).round().astype(int)
    return sorted([*kept, *(rest[place] for place in places.tolist())], key=strictness)


def _strictest_of(suspects: Sequence[int], pairs: list[Pair]) -> Iterator[Pair]:
    """One pair for each suspect, none twice; ``pairs`` is sorted, the strictest first."""
    taken: set[int] = set()
    for word in suspects:
        own = (
            place
            for place, pair in enumerate(pairs)
            if word in (pair.first, pair.second) and place not in taken
        )
        if (place := next(own, None)) is not None:
            taken.add(place)
            yield pairs[place]


def strictness(pair: Pair) -> float:
    """The smaller of the two bounds."""
    return min(pair.forward, pair.backward)


def _gather(
    mechanism: PointMechanism,
    centers: Iterator[int],
    size: tuple[int, int],
    randomness: Randomness,
) -> Points:
    """About ``wanted`` points: the unknown one with its neighbors, then those around centers."""
    wanted, near = size
    found = dict.fromkeys(around(mechanism, mechanism.space.unknown, near, randomness))
    while len(found) < wanted and (center := next(centers, None)) is not None:
        found.update(dict.fromkeys(around(mechanism, center, near, randomness)))
    return np.sort(np.fromiter(found, dtype=np.intp))


def bounds_among(mechanism: PointMechanism, points: Points) -> NDArray[np.float64]:
    """The claimed bound of each ordered pair; infinite where nothing is claimed."""
    return np.stack([loss_bounds(mechanism, point)[points] for point in points.tolist()])


def _pairs_among(mechanism: PointMechanism, points: Points) -> list[Pair]:
    bounds = bounds_among(mechanism, points)
    return [
        Pair(int(points[i]), int(points[j]), float(bounds[i, j]), float(bounds[j, i]))
        for i, j in combinations(range(len(points)), 2)
        if np.isfinite(min(bounds[i, j], bounds[j, i]))
    ]


@dataclass(frozen=True, slots=True)
class Glances:
    """How many draws to make in all, for how many words at least, and the largest testable bound.

    A word whose claim allows more than draws could show is useless as a suspect.
    """

    draws: int
    words: int
    reach: float


def suspects(mechanism: PointMechanism, glances: Glances, randomness: Randomness) -> list[int]:
    """Words that stand out against their nearest neighbor, the most suspect first."""
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
    # Of two that stand out equally, the one with the nearer neighbor, whose claim is stricter.
    first = np.lexsort((away, -seems))[: COMPARED if size > ALL_GLANCED else ALL_COMPARED]
    pairs = zip(words[first].tolist(), others[first].tolist(), strict=True)
    bounds = np.array([loss_bounds(mechanism, word)[other] for word, other in pairs])
    order = np.argsort(bounds - seems[first], kind="stable")
    order = order[bounds[order] <= glances.reach]
    return words[first[order]].tolist()  # type: ignore[no-any-return]


def apart(often: Points, seldom: Points) -> NDArray[np.float64]:
    """The log-ratio of two counts, after moving each by a standard error towards the other."""
    many, few = often + 0.5, seldom + 0.5
    least, most = np.maximum(many - np.sqrt(many), TINY), few + np.sqrt(few)
    found: NDArray[np.float64] = np.log(least / most)
    return found


def most_frequent(outputs: Points) -> Points:
    """The most frequent value of each row; of several, the smallest.

    >>> most_frequent(np.array([[3, 1, 3], [2, 0, 1]])).tolist()
    [3, 0]
    """
    ordered = np.sort(outputs, axis=1)
    counts = (ordered[:, :, None] == ordered[:, None, :]).sum(axis=2)
    places = counts.argmax(axis=1)
    found: Points = ordered[np.arange(len(ordered)), places]
    return found
