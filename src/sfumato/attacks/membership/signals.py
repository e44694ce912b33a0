"""The signals by name: what each needs, and how it is computed from the evidence.

All are oriented alike: higher means member.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.attacks.membership import (
    likelihood_ratio,
    neighbours,
    reference_signals,
    shadow_classifier,
    token_signals,
)
from sfumato.attacks.membership.evidence import Evidence, Values, neutral

TOKENS, TEXTS, AROUND, OUTSIDE, SHADOWS = "tokens", "texts", "around", "outside", "shadows"

NEEDS = {
    TOKENS: "need members and others (--members FILE --others FILE)",
    TEXTS: "need the probabilities of tokens, which a classifier does not give",
    AROUND: "need the probabilities of tokens, which a classifier does not give",
    OUTSIDE: "need models trained without the members: --reference RUN, once for each (such as "
    "'sfumato train OTHER-TEXT --epsilon inf -o RUN'), or --set shadows=8",
    SHADOWS: "need models trained on random halves of the texts: --set shadows=8, on the folder "
    "of a run (4 at least for lira-online)",
}


@dataclass(frozen=True, kw_only=True)
class Knobs:
    """What the signals can be told.

    ``share`` of the tokens are the least probable ones of Min-K, ``gamma`` and ``offset`` are
    RMIA's γ and a.
    """

    share: float
    gamma: float
    offset: float


@dataclass(frozen=True)
class Signal:
    """What it needs and how it scores the candidates."""

    needs: str
    score: Callable[[Evidence, Knobs], Values]


SIGNALS: dict[str, Signal] = {
    "loss": Signal(TOKENS, lambda evidence, _: token_signals.likelihood(evidence)),
    "zlib": Signal(TEXTS, lambda evidence, _: token_signals.compressed(evidence)),
    "min-k": Signal(TEXTS, lambda evidence, knobs: token_signals.smallest(evidence, knobs.share)),
    "min-k++": Signal(
        TEXTS, lambda evidence, knobs: token_signals.smallest_standardized(evidence, knobs.share)
    ),
    "neighbourhood": Signal(AROUND, lambda evidence, _: neighbours.neighbourhood(evidence)),
    "reference": Signal(OUTSIDE, lambda evidence, _: reference_signals.difference(evidence)),
    "reference-rank": Signal(OUTSIDE, lambda evidence, _: reference_signals.rank(evidence)),
    "lira-offline": Signal(OUTSIDE, lambda evidence, _: likelihood_ratio.offline(evidence)),
    "rmia": Signal(
        OUTSIDE,
        lambda evidence, knobs: reference_signals.relative(evidence, knobs.gamma, knobs.offset),
    ),
    "lira-online": Signal(SHADOWS, lambda evidence, _: likelihood_ratio.online(evidence)),
    "shadow": Signal(
        SHADOWS, lambda evidence, knobs: shadow_classifier.learnt(evidence, knobs.share)
    ),
}


def scored(name: str, evidence: Evidence, knobs: Knobs) -> Values:
    """The score of each candidate; a text that gives no evidence has a neutral one."""
    return neutral(SIGNALS[name].score(evidence, knobs))
