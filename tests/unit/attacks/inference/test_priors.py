"""What is expected before the text is looked at."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks.inference.priors import prior_of
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.text.document import Document
from sfumato.vectors.space import Space


def test_every_prior_adds_up(small_space: Space) -> None:
    possible = np.arange(12)
    corpus = [Document("Paris, cat cat. Atlantis 12")]
    for prior in (
        prior_of("uniform", small_space, possible),
        prior_of("unigram", small_space, possible),
        prior_of("unigram", small_space, possible, corpus),
        prior_of("bigram", small_space, possible, corpus),
    ):
        assert prior.shares.sum() == pytest.approx(1)
        assert (prior.shares > 0).all()


def test_by_order_or_by_counts(small_space: Space) -> None:
    by_order = prior_of("unigram", small_space, np.arange(12))
    assert (np.diff(by_order.shares) < 0).all()
    assert by_order.likeliest(2).tolist() == [0, 1]
    corpus = [Document("cat Cat CAT. 12 Atlantis")]
    counted = prior_of("unigram", small_space, np.arange(12), corpus)
    assert counted.likeliest(2).tolist() == [7, 9]
    assert counted.shares[7] / counted.shares[0] == pytest.approx(3.5 / 0.5)
    assert prior_of("uniform", small_space, np.arange(12)).even
    assert not counted.even


def test_only_some_candidates(small_space: Space) -> None:
    prior = prior_of("bigram", small_space, np.arange(3, 9), [Document("cat dog paris vienna")])
    assert prior.points.tolist() == list(range(3, 9))
    assert prior.bigrams is not None
    # Of the pairs only cat–dog has both its words among the candidates.
    assert len(prior.bigrams.weights) == 1


def test_what_was_seen_is_always_a_candidate(small_space: Space) -> None:
    corpus = [Document("paris quark 7 quark rome")]
    whole = prior_of("bigram", small_space, np.arange(12), corpus)
    fewer = whole.among(2, np.array([11, 11, 1]))
    assert fewer.points.tolist() == [0, 1, 11]
    assert fewer.shares == pytest.approx(whole.shares[[0, 1, 11]] / whole.shares[[0, 1, 11]].sum())
    assert "the 2 most frequent and those that were seen" in fewer.said
    assert whole.bigrams is not None
    assert fewer.bigrams is not None
    # quark is followed by 7, which is no candidate, and by rome.
    kept = dict(zip(zip(fewer.bigrams.before, fewer.bigrams.after, strict=True),
                    fewer.bigrams.weights, strict=True))  # fmt: skip
    assert kept == {(0, 2): pytest.approx(1 / 2), (2, 1): pytest.approx(1 / 4)}
    assert fewer.bigrams.rest == pytest.approx(whole.bigrams.rest[[0, 1, 11]])
    assert whole.among(12, np.array([0])) is whole


def test_names_and_needs(small_space: Space) -> None:
    with pytest.raises(UnknownName, match="did you mean 'unigram'"):
        prior_of("unigramm", small_space, np.arange(12))
    with pytest.raises(InvalidArgument, match="'corpus': FILE"):
        prior_of("bigram", small_space, np.arange(12))
