"""What every way of synthesizing is asked for: a level, a unit, labels; and how it is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.costs import Costs
from sfumato.accounting.budget.payment import Hold, Payment, digest_of, refuse_seed
from sfumato.core.checks import one_of, positive
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.synthesis.corpus import SyntheticCorpus
from sfumato.synthesis.plan import LABELS, UNITS
from sfumato.text.document import Document

EVOLUTION, PREDICTION = "evolution", "prediction"
METHODS = (EVOLUTION, PREDICTION)


@dataclass(frozen=True, kw_only=True)
class SynthesisRequest:
    """All that decides a synthetic corpus besides the private one; every part of it is public.

    ``classes`` are the labels; none where records have none. ``payment`` says which account pays,
    if one does.
    """

    epsilon: float
    delta: float | str = "auto"
    unit: str = "record"
    labels: str = "equal"
    classes: tuple[str, ...] = ()
    payment: Payment | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        one_of("unit", self.unit, UNITS)
        one_of("labels", self.labels, LABELS)

    @property
    def reads(self) -> object:
        """What reads public text, perhaps."""
        raise NotImplementedError

    def pay(
        self,
        documents: Sequence[Document],
        output: Path,
        proven: Guarantee,
        costs: Costs,
        randomness: Randomness,
    ) -> Hold | None:
        """Hold what the release costs, before its first noise; nothing if nobody pays."""
        if self.payment is None:
            return None
        refuse_seed(randomness)
        work = {
            "work": "synthesize",
            "corpus": digest_of((one.text, one.author, *one.labels) for one in documents),
            "place": str(output.resolve()),
        }
        # A record of a corpus is what training calls an example: one document.
        unit = "example" if costs.unit == "record" else costs.unit
        about = costs.neighbors.replace(f"one {costs.unit}", f"one {unit}")
        return self.payment.pay(
            Claim(proven, costs=replace(costs, unit=unit, neighbors=about)), work
        )

    def run(
        self,
        documents: Sequence[Document],
        output: Path,
        *,
        randomness: Randomness,
        control: Path | None = None,
        overwrite: bool = False,
    ) -> SyntheticCorpus:
        """Write the corpus and its guarantee; with ``control``, one that no record has touched."""
        raise NotImplementedError
