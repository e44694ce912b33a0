"""Trees of classes: paths, choices that follow one path, and figures by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.statistics.class_tree import ClassTree, measure_tree
from sfumato.statistics.classification import Classified

TREE = ClassTree(("a/x", "a/y", "b/z/p", "b/z/q", "c"), "/")


def test_levels_and_paths() -> None:
    assert TREE.depth == 3
    assert TREE.levels.tolist() == [[0, 0, 1, 1, 2], [0, 1, 2, 2, 3], [0, 1, 2, 3, 4]]
    assert TREE.path(3) == ("b", "b/z", "b/z/q")
    above = ClassTree(("a", "a/x"), "/")
    assert above.levels.tolist() == [[0, 0], [0, 1]], "a class may have others below it"


def test_a_choice_follows_one_path() -> None:
    # The likeliest class is c, but the branch a is likelier, and in it x.
    scores = np.log(np.array([0.3, 0.25, 0.05, 0.05, 0.35]))
    assert int(scores.argmax()) == 4
    assert TREE.choose(scores) == 0
    draws = Randomness.reproducible(3)
    for _ in range(100):
        scores = draws.uniform(5) * 6
        chosen, left = TREE.choose(scores), set(range(5))
        for nodes in TREE.levels:
            masses = {
                node: np.exp(scores[[one for one in left if nodes[one] == node]]).sum()
                for node in {int(nodes[one]) for one in left}
            }
            best = max(masses, key=lambda node: float(masses[node]))
            left = {one for one in left if nodes[one] == best}
        assert left == {chosen}


def test_figures_are_those_of_the_paths() -> None:
    # Right; beside; another branch; a deeper one than the true one.
    documents = [Classified(2, 2), Classified(2, 3), Classified(0, 4), Classified(4, 2)]
    found = {one.metric: one for one in measure_tree(documents, TREE, Randomness.reproducible(1))}
    assert found["accuracy, level 1"].value == 0.5
    assert found["accuracy, level 2"].value == 0.5
    assert found["accuracy, level 3"].value == 0.25
    common, said, true = 3 + 2 + 0 + 0, 3 + 3 + 1 + 3, 3 + 3 + 2 + 1
    assert found["precision, hierarchical"].value == pytest.approx(common / said)
    assert found["recall, hierarchical"].value == pytest.approx(common / true)
    assert found["f1, hierarchical"].value == pytest.approx(2 * common / (said + true))
    assert {one.n for one in found.values()} == {4}


@pytest.mark.parametrize("classes", [("a", "b"), ("a/", "b"), ("a//x", "b"), ("/a", "b")])
def test_classes_that_are_no_paths_are_refused(classes: tuple[str, ...]) -> None:
    with pytest.raises(InvalidArgument, match=r"empty part|no tree"):
        ClassTree(classes, "/")
    with pytest.raises(InvalidArgument, match="separates"):
        ClassTree(("a/b", "c"), "")
