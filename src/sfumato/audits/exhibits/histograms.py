"""A false claim about histograms of words, as tokenizers are learned from."""

from __future__ import annotations

import numpy as np

from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.subject import VectorSubject
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.histograms.thresholds import Contribution, solve_noise

TABLES = ("a table with one word, which one contributor gave", "the table without that contributor")
TABLE_EPSILON, TABLE_DELTA = 1.0, 0.01


def one_word(*, noisy: bool) -> VectorSubject:
    """The count that is shown of the only word of a table, 0 for a word that is not shown.

    What is claimed
        With its options for differential privacy, SentencePiece adds Gaussian noise to the count of
        every word of a table and drops those below a threshold. With this noise and this threshold,
        a contributor who gives one word has the level ``TABLE_EPSILON`` at ``TABLE_DELTA``.

    Why it is false
        A table with a single word is taken as it is: no noise, no threshold. The word of a single
        contributor is in the model. (Version 0.2.2, run: the word "SMITHSON" with a count of 1, a
        noise of 50 and a threshold of 1,000. With further words it is dropped from the pieces; if
        ``self_test_sample_size`` is not 0, the model file still contains it as a sample. The
        options bound no contribution and state no level.)

    Repair
        Noise and threshold for every table.

    Reference
        sentencepiece 0.2.2, ``enable_differential_privacy``; Ponomareva, Bastings and
        Vassilvitskii 2022 describe private SentencePiece.
    """
    noise = solve_noise(TABLE_EPSILON, TABLE_DELTA, Contribution(words=1))
    threshold = noise.threshold or 0.0

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        if number:
            return np.zeros((count, 1))
        if not noisy:
            return np.ones((count, 1))
        counts = 1.0 + noise.deviation * randomness.normal(count, 1)
        shown: Floats = np.where(counts >= threshold, counts, 0.0)
        return shown

    return VectorSubject(
        claim=f"The table with a contributor and the one without are told apart by a factor of at "
        f"most exp({TABLE_EPSILON:g}), but for a share of {TABLE_DELTA:g}.",
        epsilon=TABLE_EPSILON,
        inputs=TABLES,
        source=source,
        delta=TABLE_DELTA,
    )


SENTENCEPIECE_ONE_WORD = Exhibit(
    name="sentencepiece-one-word",
    source="sentencepiece 0.2.2, enable_differential_privacy",
    claim="every word of a table gets noise, and is dropped below a threshold",
    reason="a table with one word gets neither",
    repair="noise and threshold for every table",
    broken=lambda: one_word(noisy=False),
    repaired=lambda: one_word(noisy=True),
)
