"""Which points of a space to look at, when all pairs are too many.

Wrong mechanisms break where the claim is strict: at near-duplicates, at words that share a place,
at the point of unknown words; and where neighborhoods are odd: at hubs, which are near to many
words, and at lonely words. All of this is read off public vectors and off the claim itself. Words
that a glance found suspect come on top of it. No draw that decides is looked at, so choosing costs
nothing of the false-alarm budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, zip_longest

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.subject import Pair
from sfumato.core.arrays import Points
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.claims import loss_bounds
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.search import NearestTwo
from sfumato.vectors.space import Space

# Words whose nearest other word is looked up, to find near-duplicates and hubs.
LOOKED_UP = 2048
# Around a word: so many points of which the strictest claims are made, and one anywhere.
NEAR_EXACT, NEAR_SAMPLED = 4, 2
# Up to this many points all pairs are sampled; of a larger space pairs among some points.
ALL_SAMPLED, SOME_SAMPLED = 64, 40


def anchors(space: Space, randomness: Randomness) -> list[int]:
    """Words to look around: near-duplicates, hubs, lonely ones and any, in turn."""
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
    """Of each of these words, which other word is nearest, and how far away it is."""
    words, away = NearestTwo(np.asarray(space.vectors)).find(space.at(looked))
    # A word's nearest is itself, unless another shares its place and comes first.
    itself = words[:, 0] == looked
    other = np.where(itself, words[:, 1], words[:, 0])
    return other, np.where(itself, away[:, 1], away[:, 0])


def around(mechanism: PointMechanism, point: int, near: int, randomness: Randomness) -> list[int]:
    """A point, those of which the strictest claims are made from there, and one anywhere."""
    bounds = loss_bounds(mechanism, point)
    claimed = np.flatnonzero(np.isfinite(bounds) & (np.arange(len(bounds)) != point))
    strict = claimed[np.argsort(bounds[claimed], kind="stable")[:near]]
    anywhere = claimed[randomness.integers(len(claimed), 1)] if len(claimed) else claimed
    return [point, *strict.tolist(), *anywhere.tolist()]


def batches(
    mechanism: PointMechanism, pairs: int, most: int, randomness: Randomness
) -> Iterator[Points]:
    """Points to compare with each other, about ``most`` at once, until there are enough pairs."""
    centers = iter(anchors(mechanism.space, randomness))
    while pairs > 0 and (center := next(centers, None)) is not None:
        wanted = min(most, points_for(pairs))
        ahead = chain([center], centers)
        points = _gather(mechanism, ahead, (wanted, NEAR_EXACT), randomness)
        pairs -= len(points) * (len(points) - 1) // 2
        yield points


def points_for(pairs: int) -> int:
    """How many points it takes to make so many pairs.

    >>> points_for(1), points_for(3), points_for(4)
    (2, 3, 4)
    """
    return math.ceil((1 + math.sqrt(1 + 8 * pairs)) / 2)


def sample_pairs(
    mechanism: PointMechanism, suspects: Sequence[int], pairs: int | None, randomness: Randomness
) -> list[Pair]:
    """Pairs that a claim is made of, the strictest first: all of a small space, some of a large.

    ``suspects`` are words to look around first, ``pairs`` is how many are asked for.
    """
    points = np.arange(len(mechanism.space) + 1, dtype=np.intp)
    if len(points) > ALL_SAMPLED:
        wanted = max(SOME_SAMPLED, points_for(pairs or 0))
        turns = zip_longest(suspects, anchors(mechanism.space, randomness))
        centers = (word for turn in turns for word in turn if word is not None)
        points = _gather(mechanism, centers, (wanted, NEAR_SAMPLED), randomness)
    return sorted(_pairs_among(mechanism, points), key=strictness)


def thin(pairs: list[Pair], most: int, suspects: Sequence[int] = ()) -> list[Pair]:
    """So many of the pairs: half of them the strictest of each suspect, the rest of every kind.

    Near-duplicates show jumps, pairs that are farther apart show too little noise.
    """
    if len(pairs) <= most:
        return pairs
    kept = list(_strictest_of(suspects[: most // 2], pairs))
    rest = [pair for pair in pairs if pair not in kept]
    places = np.linspace(0, len(rest) - 1, most - len(kept)).round().astype(int)
    return sorted([*kept, *(rest[place] for place in places.tolist())], key=strictness)


def _strictest_of(suspects: Sequence[int], pairs: list[Pair]) -> Iterator[Pair]:
    """Of each suspect one pair, and none twice; ``pairs`` holds the strictest first."""
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
    """About so many points: the unknown one with what is near it, then around one word by one."""
    wanted, near = size
    found = dict.fromkeys(around(mechanism, mechanism.space.unknown, near, randomness))
    while len(found) < wanted and (center := next(centers, None)) is not None:
        found.update(dict.fromkeys(around(mechanism, center, near, randomness)))
    return np.sort(np.fromiter(found, dtype=np.intp))


def bounds_among(mechanism: PointMechanism, points: Points) -> NDArray[np.float64]:
    """What is claimed of each ordered pair; infinite where nothing is."""
    return np.stack([loss_bounds(mechanism, point)[points] for point in points.tolist()])


def _pairs_among(mechanism: PointMechanism, points: Points) -> list[Pair]:
    bounds = bounds_among(mechanism, points)
    return [
        Pair(int(points[i]), int(points[j]), float(bounds[i, j]), float(bounds[j, i]))
        for i, j in combinations(range(len(points)), 2)
        if np.isfinite(min(bounds[i, j], bounds[j, i]))
    ]
