"""The approximate search: agreement with the exact one, and how much faster.

Beside it stands one that was tried and left out of the package, in ``candidates``.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.candidates import LeadingDimensions
from benchmarks.inputs import SEED, spaces
from benchmarks.timing import Row, by_turns
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.vectors.search import ClusteredSearch, NearestSearch
from sfumato.vectors.space import Space


def run(quick: bool) -> list[Row]:
    """Both shapes at three levels."""
    return [
        row
        for name, (space, epsilons) in spaces().items()
        for row in _compared(name, space, epsilons, quick)
    ]


def _compared(name: str, space: Space, epsilons: tuple[float, ...], quick: bool) -> list[Row]:
    count = 1024 if quick else 4096
    points = Randomness.reproducible(SEED).integers(len(space), count)
    searches: dict[str, NearestSearch] = {
        "clusters, reach 4": ClusteredSearch(space.vectors, 4.0),
        "clusters, reach 4.5": ClusteredSearch(space.vectors, 4.5),
        "leading half": LeadingDimensions(space.vectors, space.dimension // 2),
        "leading 4/5": LeadingDimensions(space.vectors, 4 * space.dimension // 5),
    }
    rows: list[Row] = []
    for epsilon in epsilons:
        noise = Laplace(space=space, epsilon=epsilon).noise(count, Randomness.secure())
        noisy = space.at(points) + noise
        exact = space.search.nearest(noisy)
        everything = {"exact": space.search} | searches
        work = {key: partial(one.nearest, noisy) for key, one in everything.items()}
        timings = by_turns(work, 2 if quick else 7)
        rows += [
            {
                "space": name,
                "ε": epsilon,
                "kept": f"{np.mean(exact == points):.2f}",
                "search": key,
                "agreement": f"{np.mean(one.nearest(noisy) == exact):.4f}",
                "times as fast": timings[key].ratio(timings["exact"]),
                "in processor time": timings[key].cpu_ratio(timings["exact"]),
            }
            for key, one in searches.items()
        ]
    return rows
