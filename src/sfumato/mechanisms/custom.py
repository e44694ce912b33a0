"""A word of the same public group, the likelier the more similar it is.

Guarantee
    Local DP at level ``epsilon`` inside a group, and nothing across groups: for all words x, x' of
    one group and every word y, P[M(x) = y] <= exp(epsilon) * P[M(x') = y]. Two words of different
    groups have no output in common, so anyone who sees the output knows the group: the level there
    is infinite. All words outside the vocabulary share one point, which is one more input of the
    group of the word nearest to it.

Why it holds
    P[y | x] is proportional to exp(epsilon/2 · u(x, y)) over the group, u = 1 − d(x, y)/D with D
    the largest distance in the group, the unknown point included where it belongs to it. So u lies
    in [0, 1] and changes by at most 1 when x becomes x', the numerator by at most exp(epsilon/2),
    and the sum over the group, which is the same set for both, by at most exp(epsilon/2) again. D
    and the groups follow from public vectors alone.

Care
    Without the ½ the claim is false: the sum changes too. Choosing the ``size`` words nearest to
    the input gives neighboring inputs different sets of outputs, and then nothing is proven at
    all; here the groups are a partition. The vocabulary is cut into as many groups of ``size``
    words as it holds; what is left over is spread, so a group may be larger and never smaller.
    Epsilon is not per distance: inside every group it is shared out between the nearest and the
    farthest word.

Reference
    Chen et al. 2023, "A customized text sanitization mechanism with differential privacy"
    (CusText).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.draws import cumulate_rows, draw_columns
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.rows import CELLS, FromRows, log_normalized
from sfumato.vectors.groups import groups_of_similar
from sfumato.vectors.space import Space

# The distances inside a group are held at once, and a group may have almost twice its size.
LARGEST = 1000
NOBODY = -1


@dataclass(frozen=True, kw_only=True)
class Custom(FromRows):
    """Draw a word of the same group with a probability that falls off with distance.

    >>> from sfumato.vectors.load import default_space
    >>> custom = Custom(space=default_space(), epsilon=8)
    >>> points = custom.space.points(["london"] * 5)
    >>> replaced = custom.privatize(points, Randomness.reproducible(7))
    >>> bool((custom.groups[replaced] == custom.groups[points]).all())
    True
    >>> row = custom.row(points[0])
    >>> round(float(row.sum()), 9), int(np.count_nonzero(row))
    (1.0, 20)
    """

    space: Space
    epsilon: float
    size: int = 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_level(self.epsilon))
        if at_least("size", self.size, 2) > LARGEST:
            raise InvalidArgument(f"size={self.size} must be at most {LARGEST}")

    def guarantee(self) -> Guarantee:
        """Local DP between words of one group; which group it is, the output shows."""
        return Guarantee(
            notion=Notion.LDP_WITHIN_GROUPS,
            unit="word",
            neighbors="any two values of one word in the same group",
            epsilon=self.epsilon,
            leaks=(
                f"at any epsilon, which group each original is in (groups of {self._sizes} words "
                f"of {self.space.name} that are near each other; all words outside the vocabulary "
                "count as one word of one group)",
            ),
            uncovered=("which of two words stood there, when they are in different groups",),
            about=(self.space, self.size),
        )

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        """Epsilon for every point of the same group, infinity for all others."""
        bounds = np.where(self.groups == self.groups[point], self.epsilon, np.inf)
        bounds[point] = 0.0
        return bounds

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """The number of the group of every point, the unknown one last; public."""
        return self.space.derive(("groups", self.size), self._make_groups)

    def _make_groups(self) -> NDArray[np.intp]:
        groups = np.empty(len(self.space) + 1, dtype=np.intp)
        groups[:-1] = groups_of_similar(self.space.vectors, self.size)
        groups[-1] = groups[self.space.distances_from(self.space.unknown).argmin()]
        return groups

    @cached_property
    def members(self) -> NDArray[np.intp]:
        """The words of every group, in public order; a shorter row ends with ``NOBODY``."""
        return self.space.derive(("members", self.size), self._make_members)

    def _make_members(self) -> NDArray[np.intp]:
        sizes = np.bincount(self.groups[:-1])
        members = np.full((len(sizes), sizes.max()), NOBODY, dtype=np.intp)
        members[np.arange(sizes.max()) < sizes[:, None]] = self.groups[:-1].argsort(kind="stable")
        return members

    @cached_property
    def diameters(self) -> NDArray[np.float64]:
        """The largest distance in every group, the unknown point included where it belongs."""
        return self.space.derive(("diameters", self.size), self._make_diameters)

    def _make_diameters(self) -> NDArray[np.float64]:
        count, width = self.members.shape
        diameters = np.empty(count)
        step = max(1, CELLS // (width * max(width, self.space.dimension)))
        for start in range(0, count, step):
            members = self.members[start : start + step]
            # A missing member is replaced by the first, which makes no distance larger.
            words = self.space.at(np.where(members == NOBODY, members[:, :1], members))
            words -= words[:, :1].copy()
            lengths = np.einsum("gnd,gnd->gn", words, words)
            products = words @ words.transpose(0, 2, 1)
            squares = lengths[:, :, None] + lengths[:, None, :] - 2 * products
            diameters[start : start + step] = np.sqrt(squares.max(axis=(1, 2)))
        unknown = np.array([self.space.unknown], dtype=np.intp)
        reach = self._distances(unknown).max(initial=0.0, where=self._present(unknown))
        diameters[self.groups[-1]] = max(diameters[self.groups[-1]], reach)
        return diameters

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log-probability of every word, one row per point; −inf outside the point's group."""
        logs = np.full((len(points), len(self.space)), -np.inf)
        rows, columns = np.nonzero(self._present(points))
        words = self.members[self.groups[points]][rows, columns]
        logs[rows, words] = self.log_inside(points)[rows, columns]
        return logs

    def log_inside(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log-probability of every member of each point's group, −inf where there is none."""
        scores = self._distances(points)
        diameters = self.diameters[self.groups[points], None]
        # Words that all stand at one place have no distance to tell them apart by.
        np.divide(scores, diameters, out=scores, where=diameters > 0)
        # Rounding may not carry a similarity out of [0, 1]: the claim knows of no larger step.
        np.minimum(scores, 1.0, out=scores)
        scores *= -0.5 * self.epsilon
        scores[~self._present(points)] = -np.inf
        return log_normalized(scores)

    def sources(self, word: int) -> NDArray[np.intp]:
        """All words that can become a word: those of its group."""
        members = self.members[self.groups[word]]
        found: NDArray[np.intp] = members[members != NOBODY]
        return found

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent draw per input point; cost and memory follow the size of a group."""
        columns = draw_columns(
            lambda some: cumulate_rows(self.log_inside(some)),
            self.members.shape[1],
            points,
            randomness,
        )
        outputs: NDArray[np.intp] = self.members[self.groups[points], columns]
        return outputs

    def _present(self, points: NDArray[np.intp]) -> NDArray[np.bool_]:
        present: NDArray[np.bool_] = self.members[self.groups[points]] != NOBODY
        return present

    def _distances(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Distance from each point to the members of its group; of no meaning for ``NOBODY``."""
        members = self.members[self.groups[points]]
        found = np.empty(members.shape)
        step = max(1, CELLS // (members.shape[1] * self.space.dimension))
        for start in range(0, len(points), step):
            block = slice(start, start + step)
            steps = self.space.vectors[members[block]] - self.space.at(points[block])[:, None]
            found[block] = np.sqrt(np.einsum("pnd,pnd->pn", steps, steps))
        return found

    @property
    def _sizes(self) -> str:
        smallest, left = divmod(len(self.space), max(1, len(self.space) // self.size))
        return f"{smallest}" if not left else f"{smallest} or {smallest + 1}"
