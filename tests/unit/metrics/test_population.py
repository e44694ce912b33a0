"""Which words are looked at, and how often each occurs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.metrics.population import alone_selected, frequent_words, select_words
from sfumato.policies.lexicon import Lexicon
from sfumato.policies.patterns import Digits, Everything, Nothing
from sfumato.text.document import Document
from sfumato.vectors.space import Space

TEXTS = ["Paris and rome, PARIS!", "a cat 12 7 99", ""]


def documents() -> list[Document]:
    return [Document(text) for text in TEXTS]


def test_words_are_counted_as_points_and_unknown_ones_by_occurrence(small_space: Space) -> None:
    found = select_words(documents(), Everything(), small_space)
    words = [small_space.words[point] for point in found.points]
    assert dict(zip(words, found.counts.tolist(), strict=True)) == {
        "paris": 2, "rome": 1, "cat": 1, "12": 1, "7": 1,
    }  # fmt: skip
    assert found.unknown == 3  # and, a, 99
    assert found.occurrences == 9
    assert found.private


def test_only_what_the_policy_selects_counts(small_space: Space) -> None:
    found = select_words(documents(), Digits(), small_space)
    assert [small_space.words[point] for point in found.points] == ["12", "7"]
    assert found.unknown == 1


def test_public_words_are_not_private(small_space: Space) -> None:
    found = frequent_words(small_space)
    assert len(found) == len(small_space)
    assert not found.private
    assert found.unknown == 0


def test_a_list_alone_looks_the_vocabulary_through(small_space: Space) -> None:
    found = alone_selected(Lexicon(("quark", "canary")), small_space)
    assert [small_space.words[point] for point in found.points] == ["quark"]
    assert found.private


@pytest.mark.parametrize(
    ("texts", "policy", "complaint"),
    [
        ([], Everything(), "no document"),
        (["cat"], Nothing(), "selects no word"),
        (["Zyxquorthane"], Everything(), "all 1 words .* outside the vocabulary"),
    ],
)
def test_nothing_to_measure_is_said_without_the_words(
    small_space: Space, texts: list[str], policy: Everything | Nothing, complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint) as raised:
        select_words([Document(text) for text in texts], policy, small_space)
    assert "Zyx" not in str(raised.value)


def test_a_sample_holds_different_words_of_the_population(random_space: Space) -> None:
    population = frequent_words(random_space)
    sample = population.some(50, Randomness.reproducible(1))
    assert len(set(sample.tolist())) == 50
    assert (population.some(500, Randomness.secure()) == population.points).all()


def test_running_words_come_as_often_as_they_occur(small_space: Space) -> None:
    texts = [Document("paris " * 300 + "cat " * 100 + "quark")]
    population = select_words(texts, Everything(), small_space)
    drawn = population.running_words(200, Randomness.reproducible(4))
    counts = Counter(small_space.words[point] for point in drawn)
    assert sum(counts.values()) == 200
    # Without replacement: three of four are "paris", and "quark" comes once at most.
    assert 120 < counts["paris"] < 180
    assert counts["quark"] <= 1
    everything = population.running_words(1000, Randomness.secure())
    assert (np.bincount(everything, minlength=12)[population.points] == population.counts).all()


def test_a_population_does_not_show_its_words(small_space: Space) -> None:
    assert repr(select_words(documents(), Everything(), small_space)) == "Population(5 words)"
