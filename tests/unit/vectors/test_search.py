"""The nearest word equals what a naive search in double precision finds.

The approximate search is nearly always right, and total.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.core.errors import UnknownName
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.vectors import search as module
from sfumato.vectors.load import default_space
from sfumato.vectors.search import ClusteredSearch, NearestSearch
from sfumato.vectors.space import Space


def naive(vectors: NDArray[np.float32], queries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of every query to every word, one by one and in double precision."""
    words = vectors.astype(np.float64)
    distances = np.empty((len(queries), len(words)))
    for row, query in zip(distances, queries, strict=True):
        row[:] = np.sqrt(np.square(words - query).sum(axis=1))
    return distances


def assert_nearest(vectors: NDArray[np.float32], queries: NDArray[np.float64]) -> None:
    found = NearestSearch(vectors).nearest(queries)
    distances = naive(vectors, queries)
    chosen = distances[np.arange(len(queries)), found]
    # Two words may be closer to a tie than float32 can tell: then either of them will do.
    size = np.abs(distances).max(axis=1) + np.abs(vectors).max()
    assert (chosen - distances.min(axis=1) <= 1e-5 * size).all()


def sample(words: int, dimension: int, seed: int) -> NDArray[np.float32]:
    return Randomness.reproducible(seed).normal(words, dimension).astype(np.float32)


@pytest.mark.parametrize(
    ("words", "dimension", "queries"),
    [
        (2, 1, 1),
        (13, 3, 700),
        (module.WORDS, 5, module.QUERIES),
        (module.WORDS + 1, 5, module.QUERIES + 1),
        (2 * module.WORDS + 77, 8, 2 * module.QUERIES - 1),
        (500, 300, 40),
        (7, 4, 0),
    ],
)
def test_the_nearest_word_is_the_naive_one(words: int, dimension: int, queries: int) -> None:
    vectors = sample(words, dimension, seed=1)
    assert_nearest(vectors, 2 * sample(queries, dimension, seed=2).astype(np.float64))


@pytest.mark.parametrize("offset", [0.0, 10.0, 1000.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_the_scale_of_the_queries_and_the_origin_do_not_matter(offset: float, scale: float) -> None:
    vectors = sample(300, 6, seed=3) + np.float32(offset)
    assert_nearest(vectors, scale * sample(300, 6, seed=4).astype(np.float64) + offset)


def test_blocks_do_not_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = sample(100, 4, seed=5), sample(90, 4, seed=6).astype(np.float64)
    whole = NearestSearch(vectors).nearest(queries)
    monkeypatch.setattr(module, "WORDS", 7)
    monkeypatch.setattr(module, "QUERIES", 11)
    assert (NearestSearch(vectors).nearest(queries) == whole).all()


def test_a_word_is_nearest_to_itself_in_every_block() -> None:
    vectors = sample(2 * module.WORDS + 5, 20, seed=7)
    places = np.array([0, module.WORDS - 1, module.WORDS, 2 * module.WORDS, len(vectors) - 1])
    found = NearestSearch(vectors).nearest(vectors[places].astype(np.float64))
    assert (found == places).all()


def test_of_words_at_one_place_the_first_is_found() -> None:
    vectors = np.array([[5, 5], [1, 2], [1, 2], [1, 2]], dtype=np.float32)
    assert NearestSearch(vectors).nearest(np.array([[1.0, 2.0]])).tolist() == [1]


def test_a_search_that_forgets_the_lengths_of_the_words_is_caught() -> None:
    # The twin: by inner product alone, long words win.
    vectors, queries = sample(50, 3, seed=8), sample(200, 3, seed=9).astype(np.float64)
    twin = NearestSearch(vectors)
    twin._table[-1] = 0
    distances = naive(vectors, queries)
    chosen = distances[np.arange(200), twin.nearest(queries)]
    assert (chosen - distances.min(axis=1) > 0.1).any()


def test_queries_are_not_changed() -> None:
    queries = sample(10, 3, seed=10).astype(np.float64)
    before = queries.copy()
    NearestSearch(sample(20, 3, seed=11)).nearest(queries)
    assert (queries == before).all()


@given(
    st.integers(2, 40),
    st.integers(1, 6),
    st.integers(0, 30),
    st.integers(0, 2**32),
    st.floats(0, 9),
)
def test_the_nearest_word_is_the_naive_one_for_any_shape(
    words: int, dimension: int, queries: int, seed: int, spread: float
) -> None:
    vectors = sample(words, dimension, seed)
    assert_nearest(vectors, spread * sample(queries, dimension, seed + 1).astype(np.float64))


@pytest.mark.parametrize(("words", "queries"), [(3, 1), (3, 500), (50, 2)])
def test_a_small_search_takes_no_more_memory_than_its_scores(
    words: int, queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    search = NearestSearch(sample(words, 2, seed=12))
    inner = search._nearest

    def watched(block: NDArray[np.float32], scores: NDArray[np.float32]) -> NDArray[np.intp]:
        given.append(scores.size)
        return inner(block, scores)

    monkeypatch.setattr(search, "_nearest", watched)
    search.nearest(sample(queries, 2, seed=13).astype(np.float64))
    assert given == [words * queries]


def test_the_scores_of_a_large_search_stay_within_one_block() -> None:
    # Tens of megabytes, whatever the number of words and queries.
    assert module.QUERIES * module.WORDS * np.dtype(np.float32).itemsize <= 32 << 20


def test_a_query_finds_the_same_word_alone_and_among_others() -> None:
    vectors, queries = sample(400, 6, seed=14), sample(60, 6, seed=15).astype(np.float64)
    search = NearestSearch(vectors)
    together = search.nearest(queries)
    alone = [int(search.nearest(queries[row : row + 1])[0]) for row in range(len(queries))]
    assert alone == together.tolist()


@pytest.mark.parametrize(("epsilon", "share"), [(0.01, 0.7), (5.0, 0.98), (12.0, 0.98)])
def test_the_approximate_search_agrees_with_the_exact_one_where_the_output_is_not_mere_noise(
    epsilon: float, share: float
) -> None:
    exact = Laplace(space=default_space(), epsilon=epsilon)
    quick = Laplace(space=replace(default_space(), search_kind="approximate"), epsilon=epsilon)
    points = np.arange(0, 60_000, 60, dtype=np.intp)
    same = exact.privatize(points, Randomness.reproducible(1)) == quick.privatize(
        points, Randomness.reproducible(1)
    )
    assert same.mean() > share


def test_a_twin_that_reads_too_little_agrees_less() -> None:
    space = default_space()
    noisy = space.at(np.arange(0, 60_000, 60, dtype=np.intp)) + Laplace(
        space=space, epsilon=5.0
    ).noise(1000, Randomness.reproducible(1))
    exact = space.search.nearest(noisy)
    assert (ClusteredSearch(space.vectors, reach=0.0).nearest(noisy) == exact).mean() < 0.9


@pytest.mark.parametrize("words", [2, 3, 12, 65])
def test_clusters_of_small_and_repeated_vectors_are_no_trouble(words: int) -> None:
    vectors = np.zeros((words, 2), dtype=np.float32)
    vectors[0] = 1.0
    search = ClusteredSearch(vectors)
    found = search.nearest(np.array([[5.0, 5.0], [-5.0, -5.0], [0.0, 0.0]]))
    assert found[0] == 0
    assert (found[1:] > 0).all()


def test_an_unknown_kind_of_search_is_guessed() -> None:
    with pytest.raises(UnknownName, match="did you mean 'approximate'"):
        Space("x", ["a", "b"], np.eye(2, dtype=np.float32), "aproximate")
