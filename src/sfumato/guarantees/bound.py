"""What was measured: a lower bound on what an output gives away.

A ``Guarantee`` is proven and says *at most*; an ``EmpiricalBound`` is measured and says *at least*.
They are two types on purpose: a small measured figure is no promise, it may only mean that nobody
tried hard enough. The one comparison that proves something is a measured bound above a claimed one:
then the claim is false.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sfumato.core.checks import between
from sfumato.core.errors import InvalidArgument
from sfumato.core.json import write_number


@dataclass(frozen=True, kw_only=True)
class EmpiricalBound:
    """No epsilon below ``epsilon`` can be true of what was compared.

    ``confidence`` is the probability with which a measurement of this kind is right; a
    bound computed from known probabilities has confidence 1 and no ``samples``.

    >>> seen = EmpiricalBound(epsilon=2.5, compared="two words", confidence=0.99, samples=20_000)
    >>> seen.refutes(2.0), seen.refutes(3.0)
    (True, False)
    """

    epsilon: float
    compared: str
    delta: float = 0.0
    confidence: float = 1.0
    samples: int = 0

    def __post_init__(self) -> None:
        if math.isnan(self.epsilon):
            raise InvalidArgument("epsilon=nan is no bound")
        between("delta", self.delta, 0.0, 1.0)
        between("confidence", self.confidence, 0.0, 1.0)

    def refutes(self, claimed: float) -> bool:
        """Whether a claim of this epsilon for what was compared is shown to be false."""
        return self.epsilon > claimed

    def as_dict(self) -> dict[str, Any]:
        """For JSON; an infinite bound is written as the text "inf"."""
        return {
            "epsilon_at_least": write_number(self.epsilon),
            "compared": self.compared,
            "delta": self.delta,
            "confidence": self.confidence,
            "samples": self.samples,
        }
