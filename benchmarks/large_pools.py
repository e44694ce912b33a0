"""Draws from large pools: a quick product with rejection against exact scores of everything.

The plain way multiplies every sentence with the whole pool in double precision and weighs all of
it. Both have the same law (``mechanisms/rewriting/proposals.py``). Vectors are random: how long a
draw takes does not depend on what they mean. Measured by turns in one process, in processor time.
"""

from __future__ import annotations

import numpy as np

from benchmarks.timing import Row, by_turns
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting.candidate_law import ByCosine
from sfumato.mechanisms.rewriting.draw import Weighted
from sfumato.mechanisms.rewriting.law import SentenceLaw
from sfumato.mechanisms.rewriting.pool import Pool, in_singles

SIZES = ((8_000, 384), (200_000, 384), (1_000_000, 50))
SENTENCES = 32
SEED = 1


def run(quick: bool) -> list[Row]:
    """Pools of several sizes."""
    rows: list[Row] = []
    for size, dimension in ((2_000, 50),) if quick else SIZES:
        rows += _of_size(size, dimension, 2 if quick else 5)
        print(rows[-3:], flush=True)
    return rows


def _of_size(size: int, dimension: int, repetitions: int) -> list[Row]:
    generator = np.random.default_rng(SEED)
    vectors = in_singles(_unit(generator.standard_normal((size, dimension))))
    pool = Pool("random", tuple(map(str, range(size))), vectors, np.zeros(dimension))
    law = SentenceLaw(pool=pool, beta=30.0, low=0.1, high=0.7)
    document = ByCosine(pool=pool, beta=8.0, low=0.1, high=0.4, most=12)
    texts = _unit(generator.standard_normal((SENTENCES, dimension)))
    few, randomness = texts[:4], Randomness.secure()
    work = {
        "plain, one by one": lambda: [_plain(law.scores(one), randomness) for one in few],
        "one by one": lambda: [law.draw(one, randomness) for one in few],
        "32 at once": lambda: law.draw_each(texts, randomness),
        "plain, a document of 12": lambda: _plain(document.scores(texts[:12]), randomness),
        "a document of 12": lambda: document.draw(texts[:12], randomness),
    }
    counts = dict(zip(work, (len(few), len(few), SENTENCES, 1, 1), strict=True))
    taken = by_turns(work, repetitions)
    each = {
        name: [seconds / counts[name] for seconds in timing.cpu] for name, timing in taken.items()
    }
    rows: list[Row] = []
    for name, against in (
        ("one by one", "plain, one by one"),
        ("32 at once", "plain, one by one"),
        ("a document of 12", "plain, a document of 12"),
    ):
        ratios = [old / new for old, new in zip(each[against], each[name], strict=True)]
        rows.append(
            {
                "pool": f"{size:,}",
                "dimensions": dimension,
                "draws": name,
                "ms each": f"{1e3 * float(np.median(each[name])):.2f}",
                "plain, ms each": f"{1e3 * float(np.median(each[against])):.2f}",
                "times as fast": f"{np.median(ratios):.1f} ({min(ratios):.1f}–{max(ratios):.1f})",
            }
        )
    return rows


def _plain(scores: Floats, randomness: Randomness) -> object:
    return Weighted.of(np.exp(scores)).draw(1, randomness)


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
