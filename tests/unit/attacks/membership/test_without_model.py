"""The control without a model: it sees a shift, and the candidates are counted once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.attacks.membership import without_model
from sfumato.attacks.membership.candidates import Candidates
from sfumato.attacks.membership.logistic import Logistic, fit_logistic
from sfumato.attacks.membership.without_model import auc_without_model, fold_scores, hash_words
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from unit.attacks.membership.small import documents, made_up


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

    monkeypatch.setattr(without_model, "fit_logistic", watched)
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
    monkeypatch.setattr(without_model, "MOST", 10)
    found = auc_without_model(made_up(30, 1), made_up(8, 2), Randomness.secure())
    assert found is not None
    assert found.n == 18


def test_a_text_counts_once_and_on_one_side() -> None:
    members, others = made_up(6, 1), made_up(6, 2)
    found = Candidates.of(documents([*members, *members]), documents([*others, members[0]]))
    assert [one.text for one in found.members] == members
    assert [one.text for one in found.others] == others
    assert "6 repetitions" in found.notes[0]
    assert "1 texts stand among members and others" in found.notes[1]
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
