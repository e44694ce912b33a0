"""Paying for a private histogram: when its noise is known, and before it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.accounting.budget.payment import Hold, Payment, digest_of, refuse_seed
from sfumato.core.randomness import Randomness
from sfumato.histograms.thresholds import Noise
from sfumato.histograms.words import Budget
from sfumato.text.document import Document


@dataclass
class HistogramBill:
    """What a histogram has to pay; nothing if nobody pays."""

    payment: Payment | None
    budget: Budget
    randomness: Randomness
    scope: str
    work: dict[str, object]
    held: Hold | None = None

    @classmethod
    def of(  # who pays, for what, and where it goes
        cls,
        payment: Payment | None,
        documents: Sequence[Document],
        budget: Budget,
        randomness: Randomness,
        scope: str,
        place: str | Path | None,
    ) -> HistogramBill:
        """For these documents; a seed is refused before anything is counted."""
        if payment is None:
            return cls(None, budget, randomness, scope, {})
        refuse_seed(randomness)
        work: dict[str, object] = {
            "work": scope,
            "corpus": digest_of((one.text, one.author) for one in documents),
            "place": None if place is None else str(Path(place).resolve()),
        }
        return cls(payment, budget, randomness, scope, work)

    def pay(self, noise: Noise) -> None:
        """Hold what a release with this noise costs."""
        if self.payment is not None:
            claim = self.budget.claim(noise, self.randomness, self.scope)
            self.held = self.payment.pay(claim, self.work)

    def settle(self) -> None:
        """It is released."""
        if self.held is not None:
            self.held.settle()
