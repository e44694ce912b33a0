"""Noise and exact search against a plain matrix product, and against the peer mldp-text.

The product is the work that an exact search cannot avoid: every noisy vector against every word,
in float32. It is given its output array beforehand. The faster of numpy's and torch's counts.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.inputs import SEED, spaces
from benchmarks.peer import Peer
from benchmarks.timing import Row, Timing, Work, by_turns, spread
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.vectors.space import Space


def run(quick: bool) -> list[Row]:
    """Both shapes; the peer on the first, which is its own."""
    rows: list[Row] = []
    for number, (name, (space, epsilons)) in enumerate(spaces().items()):
        laplace = Laplace(space=space, epsilon=epsilons[1])
        rows += _against_products(name, laplace, quick)
        if number == 0:
            rows.append(_against_peer(name, laplace, quick))
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
    products = _products(noisy.astype(np.float32), laplace.space)
    timings = by_turns({**ours, **products}, 3 if quick else 15)
    fastest = min(products, key=lambda product: float(np.median(timings[product].wall)))
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


def _products(queries: Any, space: Space) -> dict[str, Work]:
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


def _against_peer(name: str, laplace: Laplace, quick: bool) -> Row:
    count, ours = 20 if quick else 200, 512 if quick else 4096
    points = Randomness.reproducible(SEED).integers(len(laplace.space), ours)
    randomness = Randomness.secure()
    with Peer.started(laplace.space, laplace.epsilon) as peer:
        if isinstance(peer, str):
            return {"space": name, "what": f"mldp-text was SKIPPED: {peer}"}
        timings = by_turns(
            {
                "ours": lambda: laplace.privatize(points, randomness),
                "peer": lambda: peer.replace_words(count),
            },
            2 if quick else 7,
        )
    both = zip(timings["ours"].wall, timings["peer"].wall, strict=True)
    return {
        "space": name,
        "what": "Laplace.privatize",
        "words/s": timings["ours"].rate(ours),
        "ratio": spread([(theirs / count) / (our / ours) for our, theirs in both]),
        "compared with": f"mldp-text at {timings['peer'].rate(count)} words/s",
    }
