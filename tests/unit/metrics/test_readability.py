"""Readability: counts that can be checked by hand."""

from __future__ import annotations

import pytest

from sfumato.core.errors import BadInput
from sfumato.metrics.readability import Pairs, measure_readability, syllables


@pytest.mark.parametrize(
    ("word", "count"),
    [("cat", 1), ("table", 2), ("make", 1), ("reading", 2), ("banana", 3), ("the", 1), ("ale", 1),
     ("rhythm", 1), ("1984", 1), ("Zoë", 1), ("queue", 1), ("little", 2), ("日本", 1)],
)  # fmt: skip
def test_syllables(word: str, count: int) -> None:
    assert syllables(word) == count


def test_fleschs_formula() -> None:
    found = measure_readability(["The cat sat. The banana was ripe!"])
    assert found.words == 7
    # Two sentences; 3 and 1 + 3 + 1 + 1 syllables.
    assert found.ease == pytest.approx(206.835 - 1.015 * 7 / 2 - 84.6 * 9 / 7)
    assert found.variety == pytest.approx(6 / 7)
    assert found.familiar is None
    assert found.pairs == 5


def test_long_words_and_long_sentences_are_harder() -> None:
    easy = measure_readability(["The cat sat. The dog ran."])
    assert easy.ease > measure_readability(["The cat sat and the dog ran"]).ease
    assert (
        easy.ease > measure_readability(["Considerable difficulties. Extraordinary banality."]).ease
    )


def test_pairs_are_of_one_sentence() -> None:
    public = Pairs.of(["the cat sat. ran home", "A DOG"])
    assert public.known == {("the", "cat"), ("cat", "sat"), ("ran", "home"), ("a", "dog")}
    assert measure_readability(["The cat ran home"], public).familiar == pytest.approx(2 / 3)
    assert measure_readability(["a dog"], public).familiar == 1
    assert measure_readability(["dog a"], public).familiar == 0
    assert measure_readability(["dog"], public).familiar is None


def test_abbreviations_and_numbers_do_not_end_a_sentence_inside() -> None:
    assert measure_readability(["It costs 3.50 at example.org now"]).pairs == 5
    one, two = measure_readability(["a b c d"]), measure_readability(["a b\nc d"])
    assert one.ease - two.ease == pytest.approx(-1.015 * 2)


def test_no_words_are_refused() -> None:
    with pytest.raises(BadInput, match="no word to read"):
        measure_readability(["", "?!"])
    assert measure_readability(["", "word", "…"]).words == 1
