"""The space: every surface form has one public point, and the centroid is never a word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import MalformedVectors
from sfumato.vectors.space import Space, _fold


def toy(*words: str) -> Space:
    return Space("toy", list(words), np.arange(2 * len(words), dtype=np.float32).reshape(-1, 2))


def test_a_word_is_looked_up_as_spelled_then_without_case_then_as_unknown() -> None:
    space = toy("rome", "Paris", "paris", "Oslo")
    assert space.point_of("Paris") == 1
    assert space.point_of("paris") == 2
    assert space.point_of("PARIS") == 1, "the more frequent spelling comes first"
    assert space.point_of("oslo") == 3
    assert space.point_of("Atlantis") == space.unknown == 4


def test_of_two_entries_with_one_spelling_the_first_wins() -> None:
    space = toy("one", "two", "one", "Two")
    assert space.point_of("one") == 0
    assert space.point_of("TWO") == 1


@pytest.mark.parametrize(
    "spelling", ["it’s", "IT'S", "It\u2019S"], ids=["curly", "capitals", "both"]
)
def test_apostrophes_and_case_are_spellings_of_one_word(spelling: str) -> None:
    assert toy("x", "it's").point_of(spelling) == 1


def test_composed_and_decomposed_letters_are_one_word() -> None:
    assert toy("x", "zoë").point_of("zoe\u0308") == 1
    assert toy("x", "zoe\u0308").point_of("Zoë") == 1


@given(st.text())
def test_every_string_has_a_point(word: str) -> None:
    space = toy("rome", "paris", "straße")
    assert 0 <= space.point_of(word) <= space.unknown
    assert space.points([word, word]).tolist() == [space.point_of(word)] * 2


def test_the_centroid_stands_for_unknown_words_and_for_no_word(small_space: Space) -> None:
    place = small_space.at(np.array([small_space.unknown]))[0]
    assert place == pytest.approx(small_space.vectors.astype(np.float64).mean(axis=0))
    assert small_space.distances_from(small_space.unknown).min() > 0.3


def test_vectors_come_out_in_double_precision_and_as_a_copy(small_space: Space) -> None:
    points = np.array([3, 12, 3])
    vectors = small_space.at(points)
    assert vectors.dtype == np.float64
    assert (vectors[0] == small_space.vectors[3]).all()
    vectors[:] = 0
    assert (small_space.at(points)[0] == small_space.vectors[3]).all()
    assert (small_space.centroid != 0).any()


def test_distances_are_euclidean(small_space: Space) -> None:
    for point in range(len(small_space) + 1):
        here = small_space.at(np.array([point]))[0]
        naive = [float(np.linalg.norm(vector - here)) for vector in small_space.vectors]
        assert small_space.distances_from(point) == pytest.approx(naive)


def test_the_metric_names_the_space(small_space: Space) -> None:
    assert small_space.metric.startswith("Euclidean distance")
    assert small_space.name in small_space.metric


@pytest.mark.parametrize(
    ("words", "vectors", "reason"),
    [
        (["a", "b"], np.zeros((3, 2)), "do not fit"),
        (["a", "b"], np.zeros(2), "do not fit"),
        (["a"], np.zeros((1, 2)), "at least two words"),
        (["a", "b"], np.zeros((2, 0)), "at least two words"),
        (["a", "b"], np.array([[0.0], [np.nan]]), "not finite"),
        (["a", "b"], np.array([[0.0], [np.inf]]), "not finite"),
    ],
)
def test_what_is_no_space_is_refused(
    words: list[str], vectors: np.ndarray[tuple[int, ...], np.dtype[np.float64]], reason: str
) -> None:
    with pytest.raises(MalformedVectors, match=reason):
        Space("bad", words, vectors.astype(np.float32))


@given(
    words=st.lists(
        st.text(alphabet="aAbBßẞſsIiİı'\u2019é\u0301eǰ", min_size=1, max_size=3),
        min_size=2,
        max_size=12,
        unique=True,
    ),
    asked=st.lists(st.text(alphabet="aAbBßẞſsIiİı'\u2019é\u0301eǰ", max_size=3), max_size=20),
)
def test_a_word_is_found_as_spelled_or_by_the_most_frequent_of_its_form(
    words: list[str], asked: list[str]
) -> None:
    space = Space("few", words, np.eye(len(words), dtype=np.float32))
    exact = {word: point for point, word in reversed(list(enumerate(words)))}
    folded = {_fold(word): point for point, word in reversed(list(enumerate(words)))}
    for word in [*words, *asked, *map(_fold, words), *map(str.upper, words)]:
        expected = exact.get(word, folded.get(_fold(word), space.unknown))
        assert space.point_of(word) == expected
