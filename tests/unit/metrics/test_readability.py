"""Readability by counting, and coherence: a factor between two perplexities."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.metrics.readability import Pairs, measure_coherence, measure_readability, syllables
from sfumato.results.measured import Predicted

SEED = Randomness.reproducible


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


def document(losses: list[float]) -> Predicted:
    return Predicted(np.array(losses), np.zeros(len(losses), dtype=np.bool_))


def test_the_same_text_has_not_changed() -> None:
    documents = [document([1.0, 4.0]), document([2.0]), document([])]
    found = measure_coherence(documents, documents, SEED(1))
    assert found.ratio.value == found.ratio.low == found.ratio.high == 1
    assert found.ratio.n == 2
    assert found.before.value == found.after.value


def test_documents_stay_together_with_what_became_of_them() -> None:
    """Documents differ much, but each has become stranger by the same factor."""
    before = [document([float(level)] * 3) for level in range(1, 9)]
    after = [document([level + 0.7] * 4) for level in range(1, 9)]
    found = measure_coherence(before, after, SEED(1))
    for value in (found.ratio.value, found.ratio.low, found.ratio.high):
        assert value == pytest.approx(math.exp(0.7))
    assert found.after.high is not None
    assert found.after.low is not None
    assert found.after.high > 2 * found.after.low


def test_one_document_has_no_interval_and_none_is_refused() -> None:
    one = measure_coherence([document([1.0])], [document([3.0])], SEED(1)).ratio
    assert one.value == pytest.approx(math.exp(2))
    assert (one.low, one.high) == (None, None)
    with pytest.raises(BadInput, match="1 documents before and 2 after"):
        measure_coherence([document([1.0])], [document([1.0])] * 2, SEED(1))
    with pytest.raises(BadInput, match="both before and after"):
        measure_coherence([document([1.0]), document([])], [document([]), document([1.0])], SEED(1))
    assert math.isfinite(
        measure_coherence([document([0.0])], [document([1e6])], SEED(1)).ratio.value
    )


@pytest.mark.resources
def test_a_public_model_finds_broken_text_stranger(resources: Path) -> None:
    """Real text under a real model, with words replaced at random."""
    from sfumato.models.load import load_model
    from sfumato.releases.privatizer import Privatizer
    from sfumato.text.document import Document
    from sfumato.training.evaluation import predict_tokens

    model = load_model(str(resources / "models" / "stories15m"), randomness=SEED(1))
    texts = [
        "Once upon a time there was a little girl who had a red ball.",
        "Tom and his dog went to the park to play in the sun.",
        "The cat was sad because it could not find its mother.",
    ]
    privatizer = Privatizer(policy="everything", mechanism="laplace", epsilon=4.0, seed=3)
    before, after = (
        predict_tokens(model, [Document(one) for one in some])
        for some in (texts, privatizer.privatize(texts))
    )
    found = measure_coherence(before, after, SEED(1))
    assert found.ratio.value > 10
    # A model that knows nothing would be at 32,000.
    assert found.before.value < 100 < found.after.value
