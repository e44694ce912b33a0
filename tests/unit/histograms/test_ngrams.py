"""N-grams, length by length: candidates are what was released, and all lengths are charged."""

from __future__ import annotations

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.histograms.ngrams import _Cut, count_ngrams
from sfumato.histograms.thresholds import Contribution, levels_delta
from sfumato.histograms.words import Budget
from sfumato.text.document import Document

BUDGET = Budget(epsilon=4.0, delta=1e-4, contribution=Contribution(words=10))
COMMON = "Good morning, how are you"
DOCUMENTS = [Document(f"{COMMON}, number{n}? I am person{n}.") for n in range(400)]


def test_what_many_say_comes_through_and_nothing_else() -> None:
    found = count_ngrams(DOCUMENTS, 3, BUDGET, Randomness.reproducible(1))
    words, pairs, triples = (set(level.counts) for level in found.levels)
    assert {"good", "morning", "how", "are", "you", "am"} <= words
    assert {"good morning", "how are", "i am"} <= pairs
    assert {"good morning how", "how are you"} <= triples
    assert not any("number" in one or "person" in one for one in words | pairs | triples)
    assert len(found) == len(words) + len(pairs) + len(triples)
    assert all(abs(count - 400) < 200 for level in found.levels for count in level.counts.values())


def test_all_lengths_are_charged_together() -> None:
    found = count_ngrams(DOCUMENTS, 3, BUDGET, Randomness.reproducible(1))
    (noise,) = {level.noise for level in found.levels}
    assert noise.count == 3
    assert levels_delta(4.0, noise) <= 1e-4
    assert (found.guarantee.epsilon, found.guarantee.delta) == (4.0, 1e-4)
    single = count_ngrams(DOCUMENTS, 1, BUDGET, Randomness.reproducible(1)).levels[0].noise
    assert noise.deviation > 3**0.5 * single.deviation
    # Twin: the noise of one length at every length is not private at this level.
    cheap = type(single)(**vars(single) | {"count": 3})
    assert levels_delta(4.0, cheap) > 1e-4


def test_candidates_are_those_whose_parts_came_through() -> None:
    cut = _Cut(2, frozenset({"a", "b"}))
    assert list(cut("a B c a, b")) == ["a b", "a b"]
    assert list(_Cut(3, frozenset({"a b"}))("a b a b")) == []
    assert list(_Cut(3, frozenset({"a b", "b a"}))("a b a b")) == ["a b a", "b a b"]
    assert list(_Cut(1, frozenset())("A b")) == ["a", "b"]


def test_each_contributor_draws_anew_under_a_seed() -> None:
    """With one draw for all, rare words would be kept or lost together."""
    few = Budget(epsilon=4.0, delta=1e-4, contribution=Contribution(words=1))
    texts = [Document("one two three four five six")] * 900
    found = count_ngrams(texts, 1, few, Randomness.reproducible(5))
    assert set(found.levels[0].counts) == {"one", "two", "three", "four", "five", "six"}


def test_authors_are_units_here_too() -> None:
    own = Budget(epsilon=4.0, delta=1e-3, contribution=Contribution(words=10), unit="author")
    by_few = [Document(COMMON, author=f"a{n % 3}") for n in range(600)]
    found = count_ngrams(by_few, 2, own, Randomness.reproducible(1))
    assert found.levels[0].contributors == 3
    assert len(found) == 0
    assert found.guarantee.unit == "author"


@pytest.mark.parametrize("longest", [0, 21, 1.5])
def test_impossible_lengths_are_refused(longest: int) -> None:
    with pytest.raises(InvalidArgument, match="n="):
        count_ngrams(DOCUMENTS, longest, BUDGET, Randomness.secure())
