"""Laplace noise and exact search against a plain matrix product.

The product is the work that an exact search cannot avoid: every noisy vector against every word,
in float32. It is given its output array beforehand. The faster of numpy's and torch's counts.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.inputs import SEED, spaces
from benchmarks.timing import Row, Timing, Work, by_turns
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.vectors.space import Space


def run(quick: bool) -> list[Row]:
    """Both shapes."""
    rows: list[Row] = []
    for name, (space, epsilons) in spaces().items():
        rows += _against_products(name, Laplace(space=space, epsilon=epsilons[1]), quick)
    return rows


def _against_products(name: str, laplace: Laplace, quick: bool) -> list[Row]:
    count = 1024 if quick else 4096
    points = Randomness.reproducible(SEED).integers(len(laplace.space), count)
    randomness = Randomness.secure()
    noisy = laplace.space.at(points) + laplace.noise(count, randomness)
    ours: dict[str, Work] = {
        "Laplace.privatize": lambda: laplace.privatize(points, randomness),
        "search alone": lambda: laplace.space.search.nearest(noisy),
    }
    plain = products(noisy.astype(np.float32), laplace.space)
    timings = by_turns({**ours, **plain}, 3 if quick else 15)
    fastest = min(plain, key=lambda product: float(np.median(timings[product].wall)))
    return [
        _row(name, piece, timings[piece], timings[fastest], count) | {"compared with": fastest}
        for piece in (*ours, fastest)
    ]


def _row(name: str, piece: str, timing: Timing, product: Timing, count: int) -> Row:
    return {
        "space": name,
        "what": piece,
        "words/s": timing.rate(count),
        "ratio": timing.ratio(product),
        "ratio of processor time": timing.cpu_ratio(product),
    }


def products(queries: Any, space: Space) -> dict[str, Work]:
    """Queries against all words, by each library that is installed."""
    table = np.ascontiguousarray(space.vectors.T)
    scores = np.empty((len(queries), len(space)), dtype=np.float32)
    products: dict[str, Work] = {"numpy product": lambda: np.matmul(queries, table, out=scores)}
    if find_spec("torch") is not None:
        products["torch product"] = _torch_product(queries, table, scores)
    return products


def _torch_product(queries: Any, table: Any, scores: Any) -> Callable[[], object]:
    from importlib import import_module

    torch = import_module("torch")
    left, right, out = (torch.from_numpy(array) for array in (queries, table, scores))
    return lambda: torch.matmul(left, right, out=out)
