"""What a release keeps and hides: deniability, similarity, readability, reconstruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.metrics.comparison import Comparison as Comparison
    from sfumato.metrics.deniability import Deniability as Deniability
    from sfumato.metrics.deniability import DrawEffort as DrawEffort
    from sfumato.metrics.deniability import Estimate as Estimate
    from sfumato.metrics.deniability import keep_probabilities as keep_probabilities
    from sfumato.metrics.deniability import measure_deniability as measure_deniability
    from sfumato.metrics.deniability import typical_keep_probability as typical_keep_probability
    from sfumato.metrics.levels import ProtectionByLevel as ProtectionByLevel
    from sfumato.metrics.levels import Suggestion as Suggestion
    from sfumato.metrics.levels import find_level as find_level
    from sfumato.metrics.population import Population as Population
    from sfumato.metrics.population import frequent_words as frequent_words
    from sfumato.metrics.population import select_words as select_words
    from sfumato.metrics.protection import Protection as Protection
    from sfumato.metrics.protection import Watched as Watched
    from sfumato.metrics.protection import measure_protection as measure_protection
    from sfumato.metrics.readability import Coherence as Coherence
    from sfumato.metrics.readability import Pairs as Pairs
    from sfumato.metrics.readability import Readability as Readability
    from sfumato.metrics.readability import measure_coherence as measure_coherence
    from sfumato.metrics.readability import measure_readability as measure_readability
    from sfumato.metrics.reconstruction import assign_best as assign_best
    from sfumato.metrics.reconstruction import common_share as common_share
    from sfumato.metrics.reconstruction import jaccard as jaccard
    from sfumato.metrics.reconstruction import meteor as meteor
    from sfumato.metrics.reconstruction import rouge_l as rouge_l
    from sfumato.metrics.reconstruction import rouge_n as rouge_n
    from sfumato.metrics.reconstruction import token_accuracy as token_accuracy
    from sfumato.metrics.rewriting import DocumentComparison as DocumentComparison
    from sfumato.metrics.rewriting import measure_remains as measure_remains
    from sfumato.metrics.rewriting import source_words_kept as source_words_kept
    from sfumato.metrics.similarity import Similarity as Similarity
    from sfumato.metrics.similarity import semantic_distance as semantic_distance
    from sfumato.metrics.similarity import sentence_similarity as sentence_similarity
    from sfumato.metrics.staying_curves import Staying as Staying
    from sfumato.metrics.staying_curves import StayingCurve as StayingCurve
    from sfumato.metrics.staying_curves import curve_of as curve_of
    from sfumato.metrics.staying_curves import level_for as level_for
    from sfumato.metrics.staying_curves import measure_curve as measure_curve
    from sfumato.metrics.staying_curves import staying as staying
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.metrics.comparison": "Comparison",
            "sfumato.metrics.deniability": (
                "Deniability DrawEffort Estimate keep_probabilities measure_deniability "
                "typical_keep_probability "
            ),
            "sfumato.metrics.levels": "ProtectionByLevel Suggestion find_level",
            "sfumato.metrics.population": "Population frequent_words select_words",
            "sfumato.metrics.protection": "Protection Watched measure_protection",
            "sfumato.metrics.readability": (
                "Coherence Pairs Readability measure_coherence measure_readability "
            ),
            "sfumato.metrics.reconstruction": (
                "assign_best common_share jaccard meteor rouge_l rouge_n token_accuracy "
            ),
            "sfumato.metrics.rewriting": "DocumentComparison measure_remains source_words_kept",
            "sfumato.metrics.similarity": "Similarity semantic_distance sentence_similarity",
            "sfumato.metrics.staying_curves": (
                "Staying StayingCurve curve_of level_for measure_curve staying "
            ),
        },
    )

__all__ = [
    "Coherence",
    "Comparison",
    "Deniability",
    "DocumentComparison",
    "DrawEffort",
    "Estimate",
    "Pairs",
    "Population",
    "Protection",
    "ProtectionByLevel",
    "Readability",
    "Similarity",
    "Staying",
    "StayingCurve",
    "Suggestion",
    "Watched",
    "assign_best",
    "common_share",
    "curve_of",
    "find_level",
    "frequent_words",
    "jaccard",
    "keep_probabilities",
    "level_for",
    "measure_coherence",
    "measure_curve",
    "measure_deniability",
    "measure_protection",
    "measure_readability",
    "measure_remains",
    "meteor",
    "rouge_l",
    "rouge_n",
    "select_words",
    "semantic_distance",
    "sentence_similarity",
    "source_words_kept",
    "staying",
    "token_accuracy",
    "typical_keep_probability",
]
