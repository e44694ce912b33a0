"""Perplexity and accuracy: over all tokens, with intervals over documents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Predicted
from sfumato.statistics.prediction import accuracy, perplexity

SEED = Randomness.reproducible


def document(losses: list[float]) -> Predicted:
    return Predicted(np.array(losses, dtype=np.float64), np.array([one < 1 for one in losses]))


losses = st.lists(st.lists(st.floats(0, 20), max_size=6), min_size=1, max_size=6).filter(any)


@given(losses)
def test_every_token_counts_the_same(several: list[list[float]]) -> None:
    documents = [document(one) for one in several]
    flat = [one for some in several for one in some]
    found = perplexity(documents, SEED(1))
    assert found.value == pytest.approx(math.exp(sum(flat) / len(flat)))
    assert found.n == len(flat)
    share = accuracy(documents, SEED(1))
    assert share.value == pytest.approx(sum(one < 1 for one in flat) / len(flat))
    for one in (found, share):
        if sum(bool(some) for some in several) == 1:
            assert (one.low, one.high) == (None, None)
        else:
            assert one.low is not None
            assert one.high is not None
            assert one.low <= one.high


def test_a_model_that_knows_nothing_has_the_perplexity_of_its_vocabulary() -> None:
    documents = [document([math.log(8192)] * 5), document([math.log(8192)])]
    found = perplexity(documents, SEED(1))
    assert (found.value, found.low, found.high) == pytest.approx((8192, 8192, 8192))


def test_intervals_resample_documents_not_tokens() -> None:
    # Two documents, each of a thousand equal tokens: tokens would seem to settle the matter.
    documents = [document([1.0] * 1000), document([3.0] * 1000)]
    found = perplexity(documents, SEED(1))
    assert found.low == pytest.approx(math.exp(1))
    assert found.high == pytest.approx(math.exp(3))
    assert found.value == pytest.approx(math.exp(2))
    # The twin takes every token for a document.
    tokens = [document([1.0])] * 1000 + [document([3.0])] * 1000
    narrow = perplexity(tokens, SEED(1))
    assert narrow.low is not None
    assert narrow.low > math.exp(1.8)


def test_documents_without_a_token_change_nothing() -> None:
    documents = [document([1.0, 2.0]), document([3.0]), document([0.5] * 3)]
    with_empty = [document([]), *documents, document([])]
    assert perplexity(documents, SEED(4)) == perplexity(with_empty, SEED(4))
    alone = perplexity([document([]), document([1.0, 2.0])], SEED(4))
    assert (alone.low, alone.high) == (None, None)


def test_nothing_to_measure_is_said() -> None:
    for measure in (perplexity, accuracy):
        with pytest.raises(BadInput, match="there is no token to measure"):
            measure([document([])], SEED(1))


def test_a_hopeless_model_does_not_overflow() -> None:
    found = perplexity([document([1e6]), document([1e5])], SEED(1))
    assert math.isfinite(found.value)


def test_some_tokens_only() -> None:
    one = document([0.5, 2.0, 0.1]).only(np.array([True, False, True]))
    assert one.losses.tolist() == [0.5, 0.1]
    assert one.right.tolist() == [True, True]
