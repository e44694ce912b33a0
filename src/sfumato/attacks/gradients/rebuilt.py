"""Rebuilt texts against the true ones: figures with intervals, chance and the null.

=======================  ===========================================================
``ROUGE-1``, ``-2``      words, and pairs of words, in common (F1)
``ROUGE-L``              the longest common subsequence of words (F1)
``LCS / longer text``    that subsequence over the longer text, as some papers score
``tokens in place``      the share of the text's tokens at their own position
``exact texts``          the share of texts of which every token is right
=======================  ===========================================================

Special tokens ([CLS], [SEP], padding, begin and end) are removed from both sides first. Whoever
scores them too starts at 2/(n+2) for a text of n words, without having found anything. The texts
of a batch are rebuilt in unknown order, so each is compared with the one it fits best.

The null is another text's release: what was rebuilt from one batch is compared with the texts of
the next. Chance is what a perfect reconstruction of another batch would score, averaged over all
others: texts of one corpus have words in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.metrics.reconstruction import (
    assign_rows,
    common_share,
    longest_common,
    rouge_l,
    rouge_n,
    token_accuracy,
)
from sfumato.models.tokenizer import Tokenizer
from sfumato.results.measured import Measured
from sfumato.statistics.shares import clustered_share

FIGURES = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "LCS / longer text", "tokens in place", "exact texts")

Text = list[int]
"""The tokens of a text, without special ones."""


@dataclass(frozen=True, eq=False)
class Texts:
    """The true texts, batch by batch, and how tokens become words."""

    batches: tuple[tuple[Text, ...], ...]
    tokenizer: Tokenizer

    def figures(self, guesses: Sequence[Sequence[Text]], said: str) -> list[Measured]:
        """How well each batch was rebuilt; ``said`` is added to the name of each figure."""
        return self._measured(self._scores(guesses, shift=0), said)

    def null(self, guesses: Sequence[Sequence[Text]], said: str) -> list[Measured]:
        """The same guesses against the texts of the next batch."""
        return self._measured(self._scores(guesses, shift=1), said)

    def chance(self) -> dict[str, float]:
        """What the true texts of other batches would score."""
        shifts = range(1, len(self.batches))
        scores = np.mean([self._scores(self.batches, shift=one) for one in shifts], axis=(0, 1))
        return dict(zip(FIGURES, scores.tolist(), strict=True))

    def _scores(self, guesses: Sequence[Sequence[Text]], *, shift: int) -> NDArray[np.float64]:
        """A row for every true text, a column for every figure."""
        wanted = self.batches[shift:] + self.batches[:shift]
        rows = [
            self._compare(one, other)
            for guess, texts in zip(guesses, wanted, strict=True)
            for one, other in zip(put_in_order(guess, texts), texts, strict=True)
        ]
        return np.array(rows)

    def _compare(self, guess: Text, text: Text) -> list[float]:
        found, wanted = self.tokenizer.decode(guess), self.tokenizer.decode(text)
        return [
            rouge_n(found, wanted, 1).f1,
            rouge_n(found, wanted, 2).f1,
            rouge_l(found, wanted).f1,
            common_share(found, wanted),
            token_accuracy(guess, text),
            float(guess == text),
        ]

    def _measured(self, scores: NDArray[np.float64], said: str) -> list[Measured]:
        """Texts of one batch are rebuilt together, so they count as a cluster."""
        sizes = [len(one) for one in self.batches]
        clusters = np.repeat(np.arange(len(sizes)), sizes)
        return [
            clustered_share(f"{name} {said}", scores[:, place], clusters)
            for place, name in enumerate(FIGURES)
        ]


def put_in_order(guesses: Sequence[Text], texts: Sequence[Text]) -> list[Text]:
    """For each text the guess that fits it best, all together; empty where there is none."""
    table = np.array(
        [
            [2 * longest_common(one, other) / max(1, len(one) + len(other)) for other in texts]
            for one in guesses
        ]
    ).reshape(len(guesses), len(texts))
    return [[] if place is None else list(guesses[place]) for place in assign_rows(table)]
