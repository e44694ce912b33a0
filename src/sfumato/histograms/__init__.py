"""Private histograms: the words and n-grams that many contributors have, with noisy counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.histograms.counts import NoisyCounts as NoisyCounts
    from sfumato.histograms.counts import Tally as Tally
    from sfumato.histograms.ngrams import Ngrams as Ngrams
    from sfumato.histograms.ngrams import count_ngrams as count_ngrams
    from sfumato.histograms.thresholds import Contribution as Contribution
    from sfumato.histograms.thresholds import Noise as Noise
    from sfumato.histograms.thresholds import histogram_delta as histogram_delta
    from sfumato.histograms.thresholds import solve_noise as solve_noise
    from sfumato.histograms.words import Budget as Budget
    from sfumato.histograms.words import count_words as count_words
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.histograms.counts": "NoisyCounts Tally",
            "sfumato.histograms.ngrams": "Ngrams count_ngrams",
            "sfumato.histograms.thresholds": "Contribution Noise histogram_delta solve_noise",
            "sfumato.histograms.words": "Budget count_words",
        },
    )

__all__ = [
    "Budget",
    "Contribution",
    "Ngrams",
    "Noise",
    "NoisyCounts",
    "Tally",
    "count_ngrams",
    "count_words",
    "histogram_delta",
    "solve_noise",
]
