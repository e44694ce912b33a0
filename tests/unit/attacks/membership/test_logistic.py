"""Logistic regression: the same classifier as scikit-learn's; and Shokri's use of it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from sfumato.attacks.membership.evidence import Evidence, OtherModels, ScoreTable
from sfumato.attacks.membership.logistic import fit_logistic
from sfumato.attacks.membership.signals import learn_from_shadows
from sfumato.statistics.ranking import auc
from unit.attacks.membership.small import table

Mask = NDArray[np.bool_]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_it_finds_the_classifier_of_scikit_learn(kind: type[np.float32 | np.float64]) -> None:
    rng = np.random.default_rng(1)
    rows: NDArray[np.floating] = rng.normal(size=(300, 5)).astype(kind)
    labels = rows @ np.array([1, -2, 0.5, 0, 0]) + rng.logistic(size=300) > 0.3
    found = fit_logistic(rows, labels, penalty=0.01)
    known = LogisticRegression(C=1 / (0.01 * 300), tol=1e-8).fit(rows, labels)
    assert found.weights == pytest.approx(known.coef_[0], abs=2e-3)
    assert found.intercept == pytest.approx(known.intercept_[0], abs=2e-3)
    assert found.score(rows) == pytest.approx(known.decision_function(rows), abs=2e-2)


def test_labels_that_are_all_alike_are_no_trouble() -> None:
    found = fit_logistic(np.ones((4, 2)), np.ones(4, np.bool_))
    assert np.isfinite(found.score(np.ones((1, 2)))).all()


def shadowed(shift: float) -> tuple[Evidence, Mask]:
    """A text's loss is smaller by ``shift`` in models that have seen it."""
    rng = np.random.default_rng(2)
    hardness = rng.gamma(20, 0.2, 60)
    inside = np.zeros((4, 60), np.bool_)
    for pair in (0, 2):
        inside[pair, rng.choice(60, 30, replace=False)] = True
        inside[pair + 1] = ~inside[pair]

    def model(seen: Mask) -> ScoreTable:
        drawn = rng.normal(-hardness[:, None] + shift * seen[:, None], 0.1, (60, 5))
        return table(*np.minimum(drawn, -0.01).tolist(), [])

    with_empty = np.column_stack([inside, [True, False] * 2])
    members = np.arange(60) < 30
    return (
        Evidence(
            texts=(*["x" * 5] * 60, ""),
            target=model(members),
            shadows=OtherModels(tuple(model(one) for one in inside), with_empty),
        ),
        members,
    )


def test_what_shadows_teach_holds_for_the_target() -> None:
    given, members = shadowed(2.0)
    found = learn_from_shadows(given, 0.2)
    assert np.isnan(found[-1])
    assert auc(found[:-1][members], found[:-1][~members]) > 0.9


def test_the_sign_is_learned_too() -> None:
    """Members that score *lower* in the shadows are found as such: the sign is learned."""
    given, members = shadowed(-2.0)
    found = learn_from_shadows(given, 0.2)[:-1]
    assert auc(found[members], found[~members]) > 0.9
