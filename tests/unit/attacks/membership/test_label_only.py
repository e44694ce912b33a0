"""Altered copies: how many, how much is altered, and that members and others are treated alike."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks.membership import label_only
from sfumato.attacks.membership.evidence import Evidence
from sfumato.attacks.membership.label_only import Answers, alter, ask_copies
from sfumato.attacks.membership.signals import right, robustness
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.space import Space

SEED = Randomness.reproducible
TEXT = "Ten words that no public vector knows; so all are deleted."


@pytest.fixture
def space() -> Space:
    words = ["one", "uno", "two", "duo", "three", "trio"]
    vectors = np.array([[0, 0], [0, 1], [4, 0], [4, 1], [8, 0], [8, 1]], np.float32)
    return Space("toy", words, vectors)


def test_later_copies_are_altered_more_and_all_texts_alike(space: Space) -> None:
    (copies,) = alter([TEXT], space, 10, SEED(1))
    assert [len(Words.of(copy)) for copy in copies] == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert all("  " not in copy and copy == copy.strip() for copy in copies)
    again = alter([TEXT, TEXT], space, 10, SEED(1))
    assert again[0] == copies
    assert [len(one) for one in again] == [10, 10]


def test_words_are_deleted_or_replaced_by_near_ones(space: Space) -> None:
    copies = [one for some in alter(["one two"] * 200, space, 1, SEED(2)) for one in some]
    kinds = {tuple(Words.of(one)) for one in copies}
    assert ("two",) in kinds
    assert ("uno", "two") in kinds
    assert ("one", "two") not in kinds
    assert not any(len(one) == 0 for one in kinds)


def test_a_text_of_one_word_keeps_one_and_one_without_has_no_copy(space: Space) -> None:
    single, unknown, none = alter(["one", "Xyz", " … "], space, 3, SEED(3))
    assert all(list(Words.of(one)) not in ([], ["one"]) for one in single)
    assert unknown == ["Xyz"] * 3
    assert none == []


def test_shares_are_those_of_each_text(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Document] = []

    def answer(target: ModelTarget, documents: list[Document], done: object) -> Floats:
        del target, done
        asked.extend(documents)
        return np.array([np.nan if not one.text else float("a" in one.text) for one in documents])

    monkeypatch.setattr(label_only, "ask", answer)
    documents = [Document("x", labels=("k",)), Document("y", labels=("m",)), Document("z")]
    target = ModelTarget(None, "digest")  # type: ignore[arg-type]
    found = ask_copies(target, documents, [["a", "b", "ab", ""], [], ["b"]])
    assert found[0] == 0.5
    assert np.isnan(found[1])
    assert found[2] == 0.0
    assert asked[0].labels == ("k",)
    assert np.isnan(ask_copies(target, documents[:1], [[]])).all()


def test_signals_without_answers_are_refused() -> None:
    evidence = Evidence(texts=("x",), target=())
    with pytest.raises(InvalidArgument, match="labels that a classifier gives"):
        right(evidence)
    for answers in (None, Answers(np.ones(1))):
        known = Evidence(texts=("x",), target=(), answers=answers)
        with pytest.raises(InvalidArgument, match="gives to copies"):
            robustness(known)
