"""The control without a model, and the logistic regression that it fits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from sfumato.attacks.membership import classifier
from sfumato.attacks.membership.candidates import Candidates
from sfumato.attacks.membership.classifier import (
    Logistic,
    auc_without_model,
    fit_logistic,
    fold_scores,
    hash_words,
)
from sfumato.attacks.membership.evidence import Evidence, OtherModels, ScoreTable
from sfumato.attacks.membership.signals import learn_from_shadows
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.statistics.ranking import auc
from unit.attacks.membership.small import documents, made_up, table

Mask = NDArray[np.bool_]


def test_texts_of_another_month_are_told_apart() -> None:
    members = [f"{text} in march" for text in made_up(60, 1)]
    others = [f"{text} in april" for text in made_up(60, 2)]
    found = auc_without_model(members, others, Randomness.reproducible(1))
    assert found is not None
    assert found.low is not None
    assert found.low > 0.8
    assert (found.metric, found.n) == ("auc without the model", 120)


def test_longer_texts_are_told_apart() -> None:
    found = auc_without_model(made_up(60, 1, 3), made_up(60, 2, 30), Randomness.reproducible(1))
    assert found is not None
    assert found.value > 0.9


def test_every_text_is_asked_about_once_by_a_classifier_that_has_not_seen_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members, others = made_up(33, 1), made_up(27, 2)
    rows = {side: hash_words(side_texts) for side, side_texts in (("m", members), ("o", others))}
    every = np.concatenate([rows["m"], rows["o"]])
    learned: list[NDArray[np.floating]] = []

    def watched(some: NDArray[np.floating], labels: NDArray[np.bool_]) -> Logistic:
        learned.append(some)
        return fit_logistic(some, labels)

    monkeypatch.setattr(classifier, "fit_logistic", watched)
    folds = fold_scores(members, others, Randomness.secure())
    assert sorted(len(one) for one, _ in folds) == [6, 6, 7, 7, 7]
    assert sorted(len(one) for _, one in folds) == [5, 5, 5, 6, 6]
    for some, fold in zip(learned, folds, strict=True):
        assert len(some) == len(every) - len(fold[0]) - len(fold[1])


@pytest.mark.parametrize("count", [5, 20])
def test_few_texts_of_one_kind_are_not_said_to_differ(count: int) -> None:
    """Resampling within folds alone left out one half three times in four with five of a side."""
    wrong = 0
    for seed in range(20):
        texts = made_up(2 * count, seed)
        found = auc_without_model(texts[:count], texts[count:], Randomness.reproducible(seed))
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        wrong += not found.low <= 0.5 <= found.high
    assert wrong <= 2


@pytest.mark.parametrize("texts", [[], ["one"]])
def test_too_few_texts_have_no_control(texts: list[str]) -> None:
    assert auc_without_model(texts, made_up(9, 1), Randomness.secure()) is None


def test_rows_have_length_one_even_of_nothing() -> None:
    rows = hash_words(["", "🦊", "the same word", "the same word"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    assert np.array_equal(rows[2], rows[3])
    assert not np.array_equal(rows[0], rows[2])


def test_of_too_many_texts_some_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier, "MOST", 10)
    found = auc_without_model(made_up(30, 1), made_up(8, 2), Randomness.secure())
    assert found is not None
    assert found.n == 18


def test_a_text_counts_once_and_on_one_side() -> None:
    members, others = made_up(6, 1), made_up(6, 2)
    found = Candidates.of(documents([*members, *members]), documents([*others, members[0]]))
    assert [one.text for one in found.members] == members
    assert [one.text for one in found.others] == others
    assert "6 repetitions" in found.notes[0]
    assert "1 texts are in both files" in found.notes[1]
    high, low = found.split(np.arange(12.0))
    assert (high.tolist(), low.tolist()) == ([0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11])


def test_of_very_many_the_same_ones_are_taken_each_time() -> None:
    found = Candidates.of(documents(made_up(50, 1)), documents(made_up(5, 2)), 10)
    assert [one.text for one in found.members] == made_up(50, 1)[::5]
    assert len(found.others) == 5
    assert "40 texts were left out" in found.notes[0]


def test_a_handful_is_too_few() -> None:
    with pytest.raises(BadInput, match=r"0 others .* are too few"):
        Candidates.of(documents(made_up(9, 1)), documents(made_up(9, 1)))


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
