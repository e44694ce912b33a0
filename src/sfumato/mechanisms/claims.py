"""What a mechanism claims about pairs of inputs, as numbers that can be checked.

A guarantee is a sentence; to try and break it, its bound is needed for any two points. For two
inputs x and x' and every output y it says ln(P[y | x] / P[y | x']) <= bound(x, x'). Where a
mechanism is stated in the Euclidean distance of its space, or in no distance at all, the bound
follows from the guarantee; a mechanism with a distance of its own says it by ``loss_bounds``.
Whatever a mechanism says there, it is held to its sentence: where that is plain metric DP in the
Euclidean distance, no bound is looser than that and no output is left out.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.guarantee import Notion, metric_dp
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space


@runtime_checkable
class BoundsPairs(Protocol):
    """A mechanism that states its bound for pairs of points itself."""

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        """Bound on ln(P[y | point] / P[y | x']) for every point x', the unknown one last.

        It is infinite where nothing is claimed.
        """
        ...


@runtime_checkable
class CoversOutputs(Protocol):
    """A mechanism whose claim is about some of its outputs only."""

    def covered_outputs(self) -> NDArray[np.bool_]:
        """Of every word, whether the claim speaks of it as an output."""
        ...


def loss_bounds(mechanism: PointMechanism, point: int) -> NDArray[np.float64]:
    """The claimed bound from one point to every point, the unknown one last."""
    guarantee = mechanism.guarantee()
    if isinstance(mechanism, BoundsPairs):
        own = _check(mechanism, mechanism.loss_bounds(point))
        if not _is_plain(mechanism):
            return own
        return np.minimum(own, guarantee.epsilon * euclidean(mechanism.space, point))
    size = len(mechanism.space) + 1
    if guarantee.notion is Notion.NONE or np.isinf(guarantee.epsilon):
        return np.where(np.arange(size) == point, 0.0, np.inf)
    if not guarantee.metric:
        return np.where(np.arange(size) == point, 0.0, guarantee.epsilon)
    if guarantee.metric == mechanism.space.metric:
        return guarantee.epsilon * euclidean(mechanism.space, point)
    raise InvalidArgument(
        f"{type(mechanism).__name__} states its guarantee in a distance of its own; give it a "
        "method loss_bounds(point) that says the bound for each other point"
    )


def covered_outputs(mechanism: PointMechanism) -> NDArray[np.bool_]:
    """The outputs that the claim speaks of: all, unless the mechanism says otherwise."""
    if isinstance(mechanism, CoversOutputs) and not _is_plain(mechanism):
        return mechanism.covered_outputs()
    return np.ones(len(mechanism.space), dtype=np.bool_)


def euclidean(space: Space, point: int) -> NDArray[np.float64]:
    """Euclidean distance from one point to every point, the unknown one last."""
    here = space.at(np.array([point], dtype=np.intp))[0]
    found = np.empty(len(space) + 1)
    found[:-1] = space.distances_from(point)
    found[-1] = np.sqrt(np.square(space.centroid - here).sum())
    return found


def _check(mechanism: PointMechanism, bounds: object) -> NDArray[np.float64]:
    """One number per point: a claim that cannot be read must not pass for one that holds."""
    found = np.asarray(bounds)
    size = len(mechanism.space) + 1
    if found.shape != (size,) or found.dtype.kind not in "fiu" or np.isnan(found).any():
        raise InvalidArgument(
            f"{type(mechanism).__name__}.loss_bounds(point) must give {size} numbers, one for each "
            "point and the unknown one last, infinite where nothing is claimed; it gave "
            f"{found.dtype} numbers of shape {found.shape}"
            + (", some of which are nan" if found.shape == (size,) else "")
        )
    return found.astype(np.float64, copy=False)


def _is_plain(mechanism: PointMechanism) -> bool:
    """Whether the sentence is metric DP for any two words in the distance of the space."""
    guarantee, metric = mechanism.guarantee(), mechanism.space.metric
    return guarantee == metric_dp(epsilon=guarantee.epsilon, metric=metric)
