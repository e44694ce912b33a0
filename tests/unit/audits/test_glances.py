"""Every word is glanced at, and the one that stands out comes first."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.audits import falsify
from sfumato.audits.falsify import Glances, most_frequent, suspects
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from unit.audits.subjects import OneInTheClear, Twin, words_in_space

FEW = Glances(draws=3000, words=0, reach=8.0)


def source() -> Randomness:
    return Randomness.reproducible(41)


@dataclass(frozen=True)
class Counted(Twin):
    """Counts how often each point was drawn."""

    seen: list[NDArray[np.intp]] = field(default_factory=list)

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        self.seen.append(points.copy())
        return super().privatize(points, randomness)


@pytest.mark.parametrize("word", [0, 33, 119])
def test_a_word_in_the_clear_stands_out(word: int) -> None:
    honest = Laplace(space=words_in_space(120), epsilon=1.0)
    # The words whose nearest is this one stand out as well: what it gives, they do not.
    assert word in suspects(OneInTheClear(honest, honest, word=word), FEW, source())[:3]


def test_every_word_is_drawn_a_few_times_and_once_in_each_call() -> None:
    honest = Laplace(space=words_in_space(120), epsilon=1.0)
    counted = Counted(honest, honest)
    suspects(counted, FEW, source())
    assert (np.bincount(np.concatenate(counted.seen)) == 3000 // 120).all()
    assert all(len(np.unique(call)) == len(call) for call in counted.seen)


def test_of_a_larger_space_some_words_are_drawn_and_as_many_as_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(falsify, "ALL_GLANCED", 100)
    monkeypatch.setattr(falsify, "SOME_GLANCED", 10)
    honest = Laplace(space=words_in_space(120), epsilon=1.0)
    for asked, least, most in ((0, 10, 20), (30, 30, 60), (500, 120, 120)):
        counted = Counted(honest, honest)
        suspects(counted, replace(FEW, words=asked), source())
        assert least <= len(np.unique(np.concatenate(counted.seen))) <= most


def test_words_that_draws_could_not_tell_apart_are_no_suspects() -> None:
    honest = Laplace(space=words_in_space(120), epsilon=1.0)
    assert suspects(honest, replace(FEW, reach=-1.0), source()) == []


def test_what_is_in_a_row_most_often_is_found() -> None:
    rows = np.array([[5, 5, 1, 1, 5], [2, 9, 9, 2, 9], [4, 3, 2, 1, 0]])
    assert most_frequent(rows).tolist() == [5, 9, 0]
