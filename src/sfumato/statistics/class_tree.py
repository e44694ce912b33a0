"""Classes as paths in a public tree, and how well a classifier tells them apart at every level.

A class is written as a path, ``health/cancer``: its parts lie below each other. A class may end at
any depth, and also at a node that others lie below; further down it is then its own only part.

Figures
    ``accuracy, level 1`` and so on: the share of documents whose part of the path is right down to
    this level. ``precision``, ``recall`` and ``f1, hierarchical`` compare the paths: each document
    has the nodes of its true path and those of the one that was said (the root, which all
    share, is no part of them), and what both have in common counts. So a class beside the true one
    is less wrong than one in another branch. Over all documents, precision is what is common by all
    that was said, recall by all that is true. Intervals are as those of ``classification``.

Reference
    Kiritchenko, Matwin, Nock and Famili 2006, "Learning and evaluation in the presence of class
    hierarchies: application to text categorization".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.measured import SHARE, Measured
from sfumato.statistics.classification import Classified, owners_of
from sfumato.statistics.shares import clustered_share, figure_of_sums, resample_sums

OF_PATHS = "hierarchical"
# What stands below the nodes in common: those that were said, those that are true, or their mean.
_BELOW = {"precision": (1.0, 0.0), "recall": (0.0, 1.0), "f1": (0.5, 0.5)}


@dataclass(frozen=True)
class ClassTree:
    """The tree of some classes, whose parts a separator divides.

    >>> tree = ClassTree(("health/cancer", "health/flu", "sport"), "/")
    >>> tree.depth, tree.levels.tolist()
    (2, [[0, 0, 1], [0, 1, 2]])
    >>> tree.path(1)
    ('health', 'health/flu')
    """

    classes: tuple[str, ...]
    separator: str

    def __post_init__(self) -> None:
        if not self.separator:
            raise InvalidArgument("classes in a tree need what separates the parts of a path")
        for name in self.classes:
            if not all(part.strip() for part in name.split(self.separator)):
                raise InvalidArgument(
                    f"the class {name!r} is a path with an empty part; write what is above and "
                    f"below on either side of {self.separator!r}"
                )
        if self.depth < 2:
            raise InvalidArgument(
                f"no class has {self.separator!r} in it, so there is no tree; classes are paths "
                f"such as health{self.separator}cancer"
            )

    @cached_property
    def depth(self) -> int:
        """How many levels there are."""
        return max(len(name.split(self.separator)) for name in self.classes)

    def path(self, number: int) -> tuple[str, ...]:
        """The nodes from below the root down to a class."""
        parts = self.classes[number].split(self.separator)
        return tuple(self.separator.join(parts[: place + 1]) for place in range(len(parts)))

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """For each level, the number of the node that each class lies in, or is."""
        found = np.empty((self.depth, len(self.classes)), dtype=np.int64)
        for level in range(self.depth):
            nodes: dict[tuple[str, bool], int] = {}
            for number in range(len(self.classes)):
                path = self.path(number)
                # One that ends above is a node of its own here, beside those below it.
                ends, node = level >= len(path), path[min(level, len(path) - 1)]
                found[level, number] = nodes.setdefault((node, ends), len(nodes))
        return found

    def choose(self, scores: Floats) -> int:
        """The class that is reached by taking the likeliest node at every level.

        ``scores`` are logarithms of the probabilities of classes, up to a constant. Each node is
        chosen below the one before, so what is said of a document is one path.
        """
        left = np.arange(len(self.classes))
        for nodes in self.levels:
            here = np.unique(nodes[left])
            sums = [np.logaddexp.reduce(scores[left[nodes[left] == one]]) for one in here]
            left = left[nodes[left] == here[int(np.argmax(sums))]]
        return int(left[0])


def measure_tree(
    documents: Sequence[Classified], tree: ClassTree, randomness: Randomness
) -> list[Measured]:
    """Accuracy at every level, and precision, recall and F1 of paths.

    >>> tree = ClassTree(("a/x", "a/y", "b"), "/")
    >>> found = measure_tree([Classified(0, 1), Classified(2, 2)], tree, Randomness.reproducible(1))
    >>> [f"{one.metric}: {one.value:.2g}" for one in found[::2]]
    ['accuracy, level 1: 1', 'precision, hierarchical: 0.67', 'f1, hierarchical: 0.67']
    """
    owners = owners_of(documents)
    truth = np.array([one.truth for one in documents])
    said = np.array([one.said for one in documents])
    found = [
        clustered_share(f"accuracy, level {level + 1}", nodes[truth] == nodes[said], owners)
        for level, nodes in enumerate(tree.levels)
    ]
    paths = [frozenset(tree.path(number)) for number in range(len(tree.classes))]
    sums = np.zeros((int(owners.max()) + 1, 3))
    for owner, true, other in zip(owners, truth.tolist(), said.tolist(), strict=True):
        common = len(paths[true] & paths[other])
        sums[owner] += common, len(paths[other]), len(paths[true])
    resampled = resample_sums(sums, randomness)
    for metric, weights in _BELOW.items():
        figure = figure_of_sums(
            f"{metric}, {OF_PATHS}", sums, resampled, partial(_share, weights), SHARE
        )
        if figure.low == figure.high:
            figure = replace(figure, low=None, high=None)
        found.append(replace(figure, n=len(documents)))
    return found


def _share(weights: tuple[float, float], sums: Floats) -> Floats:
    found: Floats = sums[:, 0] / (sums[:, 1:] @ np.array(weights))
    return found
