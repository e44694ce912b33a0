"""Shares over documents: never narrower than independent words, wider where documents differ."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.errors import BadInput
from sfumato.statistics.intervals import clopper_pearson
from sfumato.statistics.shares import clustered_share


def test_one_document_or_alike_documents_are_words() -> None:
    hits = np.array([True, False, False, False] * 10)
    exact = clopper_pearson(10, 40)
    for clusters in (np.zeros(40, np.int64), np.arange(40) // 4):
        found = clustered_share("top-1", hits, clusters)
        assert (found.low, found.high) == pytest.approx(exact)
        assert (found.value, found.n) == (0.25, 40)


def test_documents_that_succeed_as_a_whole_are_few() -> None:
    clusters = np.arange(1000) // 100
    hits = clusters % 2 == 0
    found = clustered_share("top-1", hits, clusters)
    words = clopper_pearson(500, 1000)
    assert found.low is not None
    assert found.high is not None
    # As wide as for nine documents, of which half succeed; words would seem to settle the matter.
    assert found.high - found.low > 10 * (words[1] - words[0]) / 2
    low, high = clopper_pearson(4, 9)
    assert high - low == pytest.approx(found.high - found.low, abs=0.08)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_at_the_ends_the_interval_is_exact(share: float) -> None:
    hits = np.full(30, bool(share))
    found = clustered_share("top-1", hits, np.arange(30) // 3)
    assert (found.low, found.high) == pytest.approx(clopper_pearson(int(30 * share), 30))


def test_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="nothing to measure 'top-1' on"):
        clustered_share("top-1", np.array([], dtype=np.bool_), np.array([], dtype=np.int64))
