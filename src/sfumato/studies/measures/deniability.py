"""How well a mechanism hides words at its level: exact or drawn, for frequent public words.

Figures
    ``chance to stay``: the probability that a word stays as it is, the median over words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

from sfumato.core.checks import at_least, between
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.metrics.deniability import DrawEffort
from sfumato.metrics.population import frequent_words
from sfumato.metrics.protection import Watched, protection
from sfumato.results.measured import Measured
from sfumato.results.row import LEAKAGE, LOWER
from sfumato.studies.measures.measure import MECHANISM, Reading, Specimen

NOT_BY_WORDS = "this method does not replace words by words"


@dataclass(frozen=True, kw_only=True)
class DeniabilityMeasure:
    """Look at frequent public words: ``words`` of them, drawn ``draws`` times without rows.

    S, the number of words that one may become, is the fewest that hold 1 − ``eta``.
    """

    words: int = 200
    draws: int = 100
    eta: float = 0.1

    name: ClassVar[str] = "deniability"
    of: ClassVar[str] = MECHANISM
    role: ClassVar[str] = LEAKAGE
    better: ClassVar[Mapping[str, str]] = {"chance to stay": LOWER}

    def __post_init__(self) -> None:
        at_least("words", self.words, 1)
        at_least("draws", self.draws, 1)
        between("eta", self.eta, 0, 1)

    def measure(self, specimen: Specimen, randomness: Randomness) -> Reading:
        """The chance that a word stays, over words."""
        if not isinstance(specimen.mechanism, OverVocabulary):
            return Reading(details={"none": NOT_BY_WORDS})
        points = specimen.mechanism.points
        watched = Watched.of(frequent_words(points.space), self.words, randomness)
        effort = DrawEffort(eta=self.eta, draws=self.draws)
        found = protection(points, watched, effort, randomness.stream(1))
        median = found.median
        figure = Measured("chance to stay", median.value, median.low, median.high, found.words)
        return Reading(
            figures=[figure],
            details={
                "keep": asdict(found.keep),
                "keep_worst": found.worst_keep,
                "outputs": asdict(found.outputs),
                "outputs_worst": found.worst_outputs,
                "draws": found.draws,
                "eta": self.eta,
                "space": points.space.name,
            },
        )
