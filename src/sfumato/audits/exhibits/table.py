"""All exhibits, and the result of testing each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.audits.exhibits import (
    encoders,
    federation,
    gradients,
    histograms,
    processes,
    representations,
    rewriting,
    synthesis,
    words,
)
from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.verdict import Verdict
from sfumato.audits.verify import refute
from sfumato.core.errors import UnknownName
from sfumato.core.randomness import Randomness

EXHIBITS = (
    encoders.ADEPT,
    synthesis.AUG_PE_LABELS,
    rewriting.BROADCAST_NOISE,
    representations.CAPE,
    representations.CAPE_ONE_NOISE,
    rewriting.CLASSIC_GAUSSIAN,
    words.CUSTEXT_ACROSS_GROUPS,
    words.CUSTEXT_WITHOUT_HALF,
    encoders.DPNR,
    encoders.DPTEXT,
    processes.EQUAL_COINS,
    representations.FEDERATE,
    federation.METRICS,
    federation.MISSING,
    federation.NEXT_NORM,
    federation.UNDEFINED,
    federation.WEIGHTS,
    gradients.KAPPA_ACROSS_DIMENSIONS,
    rewriting.KEPT_STOP_WORDS,
    gradients.MICRO_BATCHES,
    gradients.NOISE_OVER_BATCH,
    encoders.OME,
    gradients.ONE_EPOCH_FOR_ALL,
    gradients.POISSON_DIRECTIONS,
    histograms.SENTENCEPIECE_ONE_WORD,
    processes.SKIPPED_EMPTY_BATCHES,
    processes.STALE_SHARES,
    words.TEM_WRONG_BOTTOM,
    rewriting.TOP_K_SUPPORT,
    words.TRUNCATED_GUMBEL,
    rewriting.UNCLIPPED_TEMPERATURE,
    words.VICKREY_WITHOUT_INPUT,
)


@dataclass(frozen=True, kw_only=True)
class ExhibitOutcome:
    """The result for an exhibit: the false claim must be refuted, the repaired one must not be."""

    exhibit: Exhibit
    broken: Verdict
    repaired: Verdict

    @property
    def as_expected(self) -> bool:
        """Whether the false claim was refuted and the repaired one was not."""
        return self.broken.refuted and not self.repaired.refuted

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        witness = self.broken.witness
        return {
            "name": self.exhibit.name,
            "source": self.exhibit.source,
            "claim": self.exhibit.claim,
            "reason": self.exhibit.reason,
            "refuted": self.broken.refuted,
            "method": self.broken.decisive.method,
            "sentence": self.broken.sentence(),
            "witness": None if witness is None else witness.as_dict(),
            "confidence": self.broken.confidence,
            "repaired": {"how": self.exhibit.repair, "refuted": self.repaired.refuted},
        }


def find_exhibit(name: str) -> Exhibit:
    """The exhibit of that name, or the nearest name in an error."""
    known = {exhibit.name: exhibit for exhibit in EXHIBITS}
    if name not in known:
        raise UnknownName("exhibit", name, known)
    return known[name]


def examine(exhibit: Exhibit, *, confidence: float, randomness: Randomness) -> ExhibitOutcome:
    """Test the false claim and the repaired one; the error budget covers both together."""
    each = 1 - (1 - confidence) / 2
    return ExhibitOutcome(
        exhibit=exhibit,
        broken=refute(exhibit.broken(), confidence=each, randomness=randomness.stream(0)),
        repaired=refute(exhibit.repaired(), confidence=each, randomness=randomness.stream(1)),
    )
