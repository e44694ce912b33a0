"""The result of a verification: its rounds, the witness, and one plain sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sfumato.core.display import as_html, as_lines
from sfumato.core.json import write_number
from sfumato.guarantees.bound import EmpiricalBound

NO_PROOF = (
    "This is no proof: it only means that these pairs, tested in this way, do not break the claim"
)


@dataclass(frozen=True, kw_only=True)
class Witness:
    """Two inputs and an event that is likelier for the first of them.

    From known probabilities ``likelier`` and ``unlikelier`` are exact; from draws they are a lower
    and an upper confidence limit, so ``loss`` is a lower bound in both cases.
    """

    first: str
    second: str
    event: str
    likelier: float
    unlikelier: float
    loss: float
    bound: float
    exact: bool

    @property
    def excess(self) -> float:
        """By how much, in nats, the pair exceeds its bound; negative if it does not."""
        return self.loss - self.bound

    @property
    def rank(self) -> float:
        """Above 2 for a pair that exceeds its bound, by how much; else loss / bound."""
        if self.excess > 0:
            return 2 + self.excess
        return self.loss / self.bound if self.bound > 0 else 0.0

    def sentence(self) -> str:
        """The witness in plain English."""
        least, most = ("", "") if self.exact else ("at least ", "at most ")
        return (
            f"{self.event} with probability {least}{self.likelier:.4g} for {self.first} and "
            f"{most}{self.unlikelier:.4g} for {self.second}, a ratio of {least}"
            f"{_ratio(self.loss)}, while the claim allows {_ratio(self.bound)}"
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON; infinite numbers are written as text."""
        return {
            "first": self.first,
            "second": self.second,
            "event": self.event,
            "probability_first": self.likelier,
            "probability_second": self.unlikelier,
            "log_ratio": write_number(self.loss),
            "ratio": write_number(_power(self.loss)),
            "bound": write_number(self.bound),
            "ratio_claimed": write_number(_power(self.bound)),
            "excess": write_number(self.excess),
            "exact": self.exact,
        }


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One round: one mechanism over one space, by one method."""

    method: str
    where: str
    pairs: int
    inputs: int
    refuted: bool
    draws: int = 0
    decided: int = 0
    confidence: float = 1.0
    witness: Witness | None = None
    defect: str = ""
    note: str = ""

    def bound(self, delta: float = 0.0) -> EmpiricalBound | None:
        """The loss shown for the witness's pair; a lower bound, never a guarantee."""
        if self.witness is None:
            return None
        return EmpiricalBound(
            epsilon=self.witness.loss,
            compared=f"{self.witness.first} against {self.witness.second}",
            delta=delta,
            confidence=self.confidence,
            samples=self.draws,
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "method": self.method,
            "where": self.where,
            "pairs": self.pairs,
            "inputs": self.inputs,
            "draws": self.draws,
            "decided": self.decided,
            "confidence": self.confidence,
            "refuted": self.refuted,
            "defect": self.defect,
            "note": self.note,
            "witness": None if self.witness is None else self.witness.as_dict(),
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict:
    """All rounds together.

    ``confidence`` holds for all rounds together: a true claim is refuted by mistake with
    probability at most 1 − confidence, over all rounds, pairs and events.
    """

    claim: str
    findings: tuple[Finding, ...]
    confidence: float
    delta: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether any round broke the claim."""
        return any(finding.refuted for finding in self.findings)

    @property
    def decisive(self) -> Finding:
        """The round to show: the one with the largest excess, or that came closest to one."""
        shown = [finding for finding in self.findings if finding.refuted] or self.findings
        return max(shown, key=_rank)

    @property
    def witness(self) -> Witness | None:
        """The pair that breaks the claim, or the one that came closest to it."""
        return self.decisive.witness

    @property
    def bound(self) -> EmpiricalBound | None:
        """The loss shown for the witness's pair."""
        return self.decisive.bound(self.delta)

    @property
    def pairs(self) -> int:
        """How many pairs were tested."""
        return sum(finding.pairs for finding in self.findings)

    def sentence(self) -> str:
        """The verdict in one plain sentence."""
        shown = self.decisive
        if self.refuted and shown.defect:
            return f"REFUTED: {shown.defect}."
        if self.refuted and shown.witness is not None:
            return f"REFUTED: {shown.witness.sentence()}."
        if not self.pairs:
            return "Not refuted: there was no pair that could be tested. This is no proof."
        closest = (
            "" if shown.witness is None else f"; the closest used {_share(shown.witness)} of it"
        )
        found = f"none of {self.pairs:,} pairs exceeds what is claimed{closest}"
        return f"Not refuted: {found}. {NO_PROOF}."

    def __repr__(self) -> str:
        return as_lines(f"Verdict on: {self.claim}", [("found", self.sentence())])

    def _repr_html_(self) -> str:
        rows = [
            (one.where, f"{one.inputs:,}", f"{one.pairs:,}", one.method) for one in self.findings
        ]
        heads = ("where", "inputs", "pairs", "how")
        return as_html(self.claim, heads, rows, [self.sentence(), *self.notes])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        bound = self.bound
        return {
            "claim": self.claim,
            "refuted": self.refuted,
            "sentence": self.sentence(),
            "confidence": self.confidence,
            "false_alarm_budget": round(1 - self.confidence, 15),
            "pairs": self.pairs,
            "witness": None if self.witness is None else self.witness.as_dict(),
            "measured": None if bound is None else bound.as_dict(),
            "rounds": [finding.as_dict() for finding in self.findings],
            "notes": list(self.notes),
        }


def _rank(finding: Finding) -> float:
    if finding.defect:
        return math.inf
    return -math.inf if finding.witness is None else finding.witness.rank


def _share(witness: Witness) -> str:
    return f"{max(0.0, min(1.0, witness.rank)):.0%}"


def _power(exponent: float) -> float:
    return math.exp(exponent) if exponent < 700 else math.inf


def _ratio(exponent: float) -> str:
    if math.isinf(exponent):
        return "infinity" if exponent > 0 else "0"
    return f"exp({exponent:.4g})" + (f" = {math.exp(exponent):.4g}" if abs(exponent) < 20 else "")
