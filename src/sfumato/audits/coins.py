"""Audit a trained model with one run: guess which made-up documents it was trained on.

Guarantee
    ``one_run`` holds with probability ``confidence`` whatever the model, the attack and
    the influence of documents on each other: if training is (ε, δ)-differentially private for
    adding or removing a document, it exceeds ε with probability 1 − confidence at most.

Why it holds
    Each document went into the corpus by a fair coin of its own, and how many guesses are made is
    fixed before the model is looked at (Steinke et al. 2023, theorem 5.2). The likeliest documents
    are guessed to be in and the least likely ones to be out; about the rest no guess is made.

Care
    ``two_run`` and ``gaussian`` treat the documents of one run as if each had a run of its own.
    They show larger bounds, but prove nothing if documents influence each other. Both say so, and
    neither refutes a claim. A small bound is no evidence of privacy.

Reference
    Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run"; Nasr et al.
    2023, "Tight auditing of differentially private machine learning".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done
from sfumato.attacks.model_target import ModelTarget
from sfumato.attacks.token_scores import ScoreStore, token_scores
from sfumato.audits.lower_bounds import Guesses, gaussian_bound, one_run_bound, two_run_bound
from sfumato.core.checks import at_least
from sfumato.core.display import as_html, as_lines
from sfumato.core.errors import InvalidArgument
from sfumato.core.json import write_number
from sfumato.core.randomness import Randomness
from sfumato.corpora.coins import Coins
from sfumato.guarantees.bound import EmpiricalBound
from sfumato.guarantees.guarantee import Notion
from sfumato.statistics.intervals import beta_quantile
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.charts.chart import Chart

AS_IF_ALONE = ", as if each document had a run of its own"
# What each bound assumes.
ASSUMES = {
    "one_run": "nothing",
    "two_run": "documents do not influence each other",
    "gaussian": "the same, and a Gaussian trade-off",
}
# Under these notions a claim is about a whole document that is added or removed.
OF_DOCUMENTS = frozenset({Notion.PURE_DP, Notion.APPROXIMATE_DP, Notion.NONE})


@dataclass(frozen=True, kw_only=True)
class Guessing:
    """What is fixed before the model is looked at.

    ``guesses`` is how many coins are guessed, half of them heads; by default a fifth of them all.
    """

    guesses: int | None = None
    confidence: float = 0.95

    def number(self, coins: int) -> int:
        """An even number of guesses, at least two, among so many coins."""
        wanted = (
            max(2, coins // 5) if self.guesses is None else at_least("guesses", self.guesses, 2)
        )
        if wanted > coins:
            raise InvalidArgument(f"guesses={wanted} must not exceed the {coins} coins")
        return wanted - wanted % 2


@dataclass(frozen=True, kw_only=True, repr=False)
class Audited:
    """The bounds that guessing has shown, and the claimed epsilon.

    ``comparable`` says whether the claim is about whole documents. A claim of selective privacy
    does not protect public text, and coins consist of public words: no bound here can refute it.
    """

    claimed: float | None
    delta: float
    guesses: int
    right: int
    one_run: EmpiricalBound
    two_run: EmpiricalBound
    gaussian: EmpiricalBound
    comparable: bool = True

    @property
    def refuted(self) -> bool:
        """Whether the claim is shown to be false; only the bound without assumptions may say so."""
        return self.comparable and self.claimed is not None and self.one_run.refutes(self.claimed)

    @property
    def bound(self) -> EmpiricalBound:
        """The bound that assumes nothing."""
        return self.one_run

    @property
    def proven_at_most(self) -> float | None:
        """The largest expected share of right guesses that the claim allows; None without one.

        Of r guesses about m coins at most r·e^ε/(1+e^ε) + 2mδ are right on average (Steinke, Nasr
        and Jagielski 2023, theorem 5.2).
        """
        if self.claimed is None or math.isinf(self.claimed) or not self.comparable:
            return None
        share = 1 / (1 + math.exp(-self.claimed))
        return min(1.0, share + 2 * self.one_run.samples * self.delta / self.guesses)

    @property
    def measured_at_least(self) -> float:
        """A lower bound on the share of right guesses, at the confidence of the audit."""
        alpha = 1 - self.one_run.confidence
        if not self.right:
            return 0.0
        return beta_quantile(alpha, self.right, self.guesses - self.right + 1)

    def __repr__(self) -> str:
        claim = "nothing" if self.claimed is None else f"epsilon {self.claimed:g}"
        told = "refuted" if self.refuted else "not refuted, which does not prove it"
        facts = [("claims", claim), ("epsilon is at least", f"{self.one_run.epsilon:.4g}")]
        facts += [("the claim is", told)] if self.claimed is not None and self.comparable else []
        return as_lines(f"Audit: {self.right} of {self.guesses} guesses were right", facts)

    def _repr_html_(self) -> str:
        rows = [
            (name.replace("_", " "), f"{getattr(self, name).epsilon:.4g}", assumed)
            for name, assumed in ASSUMES.items()
        ]
        heads = ("bound", "ε at least", "assumes")
        return as_html("Audit", heads, rows, [repr(self).splitlines()[0]])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "claimed_epsilon": write_number(self.claimed),
            "delta": self.delta,
            "comparable": self.comparable,
            "guesses": self.guesses,
            "right": self.right,
            "refuted": self.refuted,
            "right_guesses": {
                "measured_at_least": self.measured_at_least,
                "proven_at_most": self.proven_at_most,
            },
            "bounds": {name: getattr(self, name).as_dict() for name in ASSUMES},
        }


def bounds_chart(found: Mapping[str, Audited]) -> Chart:
    """Measured epsilon against the claimed one, for several runs by name."""
    from sfumato.charts.audit import AuditRow, audit_chart

    return audit_chart(
        [
            AuditRow(
                run=run if one.comparable else f"{run} (claims something else)",
                claimed=one.claimed if one.comparable else None,
                bound=name,
                measured=getattr(one, name).epsilon,
            )
            for run, one in found.items()
            for name in ASSUMES
        ]
    )


def audit_run(
    target: ModelTarget,
    coins: Coins,
    guessing: Guessing,
    randomness: Randomness,
    *,
    store: ScoreStore | None = None,
    done: Done | None = None,
) -> Audited:
    """Guess by how likely the model finds each document."""
    number = guessing.number(len(coins))
    documents = [Document(text) for text in coins.texts]
    found = token_scores(target, documents, store, done)
    # A document without a predicted token tells nothing; it gets the median score.
    likely = np.array([-one.loss if len(one) else np.nan for one in found])
    likely = np.nan_to_num(likely, nan=float(np.nanmedian(likely)) if len(likely) else 0.0)
    return from_scores(likely, coins, target, replace(guessing, guesses=number), randomness)


def from_scores(
    scores: NDArray[np.float64],
    coins: Coins,
    target: ModelTarget,
    guessing: Guessing,
    randomness: Randomness,
) -> Audited:
    """The bounds from any score for each document, higher for those that look trained on."""
    inside = np.array(coins.included)
    number = guessing.number(len(coins))
    # Equal scores are ordered at random, so that the order of the file does not matter.
    order = np.lexsort((randomness.stream(0).uniform(len(scores)), scores))
    right = int(inside[order[-(number // 2) :]].sum() + (~inside[order[: number // 2]]).sum())
    delta = target.delta or 0.0
    counted = _count(scores, inside, randomness.stream(1))
    confidence = guessing.confidence
    two_run = two_run_bound(counted, delta=delta, confidence=confidence)
    # With delta = 0 no Gaussian mechanism has a finite epsilon.
    _, gaussian = gaussian_bound(counted, delta=delta or 1e-5, confidence=confidence)
    return Audited(
        claimed=target.epsilon,
        comparable=target.notion is None or target.notion in OF_DOCUMENTS,
        delta=delta,
        guesses=number,
        right=right,
        one_run=one_run_bound(
            coins=len(coins), guesses=number, right=right, delta=delta, confidence=confidence
        ),
        two_run=replace(two_run, compared=two_run.compared + AS_IF_ALONE),
        gaussian=replace(gaussian, compared=gaussian.compared + AS_IF_ALONE),
    )


def _count(
    scores: NDArray[np.float64], inside: NDArray[np.bool_], randomness: Randomness
) -> Guesses:
    """Guesses by a threshold that is learned on a random half and counted on the other half."""
    learned = np.zeros(len(scores), dtype=np.bool_)
    learned[randomness.choose(len(scores), len(scores) // 2)] = True
    counted = ~learned
    if not (inside[counted].any() and (~inside[counted]).any()):
        raise InvalidArgument(
            f"{len(scores)} coins are too few: all coins of one half fell on the same side; make a "
            "corpus with more of them, 1000 say: `sfumato.toss_coins(CORPUS, OUT, ...)`"
        )
    threshold = _best_threshold(scores[learned], inside[learned])
    above = scores > threshold
    return Guesses(
        members=int(inside[counted].sum()),
        found=int((above & inside & counted).sum()),
        others=int((~inside & counted).sum()),
        accused=int((above & ~inside & counted).sum()),
    )


def _best_threshold(scores: NDArray[np.float64], inside: NDArray[np.bool_]) -> float:
    """The threshold at which TPR − FPR is largest."""
    order = np.argsort(scores)[::-1]
    ordered, members = scores[order], inside[order]
    gain = np.cumsum(members) / max(1, members.sum()) - np.cumsum(~members) / max(
        1, (~members).sum()
    )
    # A threshold lies between two different scores.
    last = np.append(ordered[:-1] != ordered[1:], True)
    place = int(np.argmax(np.where(last, gain, -np.inf)))
    below = ordered[place + 1] if place + 1 < len(ordered) else ordered[place] - 1.0
    return float((ordered[place] + below) / 2)
