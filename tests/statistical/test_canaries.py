"""Canaries: words planted to see whether they come out at the other end.

A word outside the vocabulary must never survive, at any level. A word of the vocabulary may come
out by chance, but at a level near zero no more often than it comes out of any other word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.patterns import Everything
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space
from statistical import budget

# Each stands outside both vocabularies, in a script or a spelling of its own.
CANARIES = (
    "zxqv81723",
    "4111222233334444",
    "Þórðarson-Quillfeather",
    "Ὀδυσσεύς7",
    "xn__canary__42",
    "ЩукаКанарейка",
    "e\u0301\u0323zq\u0308x",
    "한글카나리아",
    "\U0001d54f\U0001d550\U0001d551",
    "\u0661\u0662\u0663\u0664\u0665\u0666\u0667",
    "\ue000\ue001",
)
TEXT = "The code is {canary}, I repeat:\t{canary}!\r\n«{canary}» 🙂 x{canary}x\n"
EPSILONS = (1e-6, 1e-3, 1.0, 10.0, 1e3, 1e6)


def selective(space: Space, epsilon: float, unknown: str = "centroid") -> Selective:
    points = Laplace(space=space, epsilon=epsilon)
    return Selective(policy=Everything(), mechanism=OverVocabulary(points=points, unknown=unknown))


def planted() -> list[Document]:
    return [Document(TEXT.format(canary=canary)) for canary in CANARIES]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("which", ["small", "embedded"])
def test_an_unknown_canary_never_survives(small_space: Space, which: str, epsilon: float) -> None:
    space = small_space if which == "small" else default_space()
    protecting, vocabulary = selective(space, epsilon), set(space.words)
    results = protecting.privatize(planted(), Randomness.reproducible(11))
    for canary, result in zip(CANARIES, results, strict=True):
        pieces = [piece for piece in Words.of(canary) if space.point_of(piece) == space.unknown]
        assert pieces, "the canary is meant to be unknown"
        assert canary not in result.text
        assert not any(piece in result.text for piece in pieces)
        assert result.selected == result.words
        assert result.uncovered == 0
        assert isinstance(protecting.mechanism, OverVocabulary)
        outputs = protecting.mechanism.privatize(pieces * 50, Randomness.reproducible(11))
        assert vocabulary.issuperset(outputs)


def test_all_unknown_canaries_go_through_the_same_point(small_space: Space) -> None:
    # The noise being equal, the output must be too: nothing but the point reaches the mechanism.
    for epsilon in EPSILONS:
        mechanism = selective(small_space, epsilon).mechanism
        assert isinstance(mechanism, OverVocabulary)
        outputs = {
            tuple(mechanism.privatize([canary] * 20, Randomness.reproducible(12)))
            for canary in CANARIES
        }
        assert len(outputs) == 1


def test_kept_unknown_canaries_survive_and_are_counted() -> None:
    # The twin of the first test: with this setting the papers' promise is not ours, and we say so.
    keeping = selective(default_space(), 1e-6, unknown="keep")
    results = keeping.privatize(planted(), Randomness.reproducible(13))
    for canary, result in zip(CANARIES, results, strict=True):
        pieces = [
            piece
            for piece in Words.of(canary)
            if default_space().point_of(piece) == default_space().unknown
        ]
        assert all(piece in result.text for piece in pieces)
        assert result.uncovered >= 3
    total = sum(result.uncovered for result in results)
    sentence = keeping.guarantee(total).sentence()
    assert f"not covered: {total:,} selected words outside the vocabulary" in sentence
    assert "stand unchanged" in sentence


def test_the_guarantee_over_all_words_leaves_no_word_out(small_space: Space) -> None:
    assert selective(small_space, 1.0).guarantee(0).uncovered == ()


# --- words of the vocabulary -----------------------------------------------------------------


Outputs = Mapping[int, NDArray[np.intp]]


def drawn(mechanism: Laplace, points: Sequence[int], draws: int) -> Outputs:
    """What comes out of each point, near level zero."""
    # At this level the allowed factor exp(epsilon·d) is one to five digits.
    assert mechanism.guarantee().epsilon <= 1e-6
    source = Randomness.reproducible(14)
    return {one: mechanism.privatize(np.full(draws, one), source.stream(one)) for one in points}


def keep_one_in_a_hundred(outputs: Outputs, space: Space) -> Outputs:
    """The twin of what was drawn: now and then a word stays what it was."""
    source = Randomness.reproducible(15)
    return {
        point: np.where(
            (source.stream(point).uniform(len(some)) < 0.01) & (point < space.unknown), point, some
        )
        for point, some in outputs.items()
    }


def survives_too_often(outputs: Outputs, canary: int, case: str) -> bool:
    """Whether a canary comes out of itself provably more often than out of another input."""
    each = budget.level("canary: survival", case) / len(outputs)
    hits = {point: int((some == canary).sum()) for point, some in outputs.items()}
    own = np.array([hits.pop(canary)])
    foreign = np.array(list(hits.values()))
    draws = len(outputs[canary])
    low = budget.lower_bounds(own, np.full(1, draws), each)
    high = budget.upper_bounds(foreign, np.full(len(foreign), draws), each)
    return bool((low > 1.0001 * high).any())


def test_near_level_zero_a_word_survives_no_more_often_than_by_chance(
    small_space: Space,
) -> None:
    honest = Laplace(space=small_space, epsilon=1e-6)
    # The one word inside the cluster has a bounded cell: by chance it comes out next to never.
    canary = small_space.point_of("paris")
    outputs = drawn(honest, range(len(small_space) + 1), 20_000)
    assert not survives_too_often(outputs, canary, "small space")
    twin = keep_one_in_a_hundred(outputs, small_space)
    assert survives_too_often(twin, canary, "small space")


def test_in_the_embedded_space_a_word_survives_no_more_often_than_by_chance() -> None:
    space = default_space()
    honest = Laplace(space=space, epsilon=1e-6)
    canary, *others = (space.point_of(word) for word in ("london", "aspirin", "zxqv8"))
    assert others[-1] == space.unknown
    outputs = drawn(honest, [canary, *others], 6000)
    assert not survives_too_often(outputs, canary, "embedded space")
    assert survives_too_often(keep_one_in_a_hundred(outputs, space), canary, "embedded space")
