"""CusText: read as local DP for all words, and without its factor ½.

What is claimed
    Every word has a set of K public words; one of them is drawn with probability proportional to
    exp(ε·u/2), u in [0, 1] being a similarity: ε-local differential privacy.

Why it is false
    *Across groups*: words of different groups have different sets of outputs, so an output of the
    one has probability 0 for the other; the level is infinite. The claim holds inside a group only.
    *Without the ½*: the probability is exp(ε·u)/Z, and Z changes with the word as well, so the
    level inside a group is up to 2ε.

Repair
    State it for words of one group, and keep the ½.

Reference
    Chen et al. 2023, "A customized text sanitization mechanism with differential privacy"; there
    the claim is for words with the same set of outputs, which is easily read over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.exhibits.exhibit import Exhibit, frequent_words
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.custom import Custom
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import FromRows
from sfumato.vectors.space import Space

WORDS = 300
EPSILON = 3.0


@dataclass(frozen=True, kw_only=True)
class CustomAnywhere(FromRows):
    """CusText as it is, with the claim of local DP between any two words."""

    space: Space
    epsilon: float

    def guarantee(self) -> Guarantee:
        """The claim: epsilon, for any two words."""
        return Guarantee(
            notion=Notion.PURE_DP,
            unit="word",
            neighbors="any two values of one word",
            epsilon=self.epsilon,
        )

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Those of the mechanism."""
        return Custom(space=self.space, epsilon=self.epsilon).log_rows(points)


@dataclass(frozen=True, kw_only=True)
class CustomWithoutHalf(FromRows):
    """CusText with exp(ε·u), and the claim that goes with exp(ε·u/2)."""

    space: Space
    epsilon: float

    def guarantee(self) -> Guarantee:
        """The claim: epsilon, for words of one group."""
        return self._claimed.guarantee()

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        """Epsilon inside the group, nothing across groups."""
        return self._claimed.loss_bounds(point)

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Without the ½ it is the mechanism for twice the level."""
        return Custom(space=self.space, epsilon=2 * self.epsilon).log_rows(points)

    @property
    def _claimed(self) -> Custom:
        return Custom(space=self.space, epsilon=self.epsilon)


def anywhere() -> PointMechanism:
    """The claim for any two words."""
    return CustomAnywhere(space=frequent_words(WORDS), epsilon=EPSILON)


def without_half() -> PointMechanism:
    """The claim inside groups, the ½ left out."""
    return CustomWithoutHalf(space=frequent_words(WORDS), epsilon=EPSILON)


def make_repaired() -> PointMechanism:
    """Inside groups and with the ½, as it is in the catalog."""
    return Custom(space=frequent_words(WORDS), epsilon=EPSILON)


ACROSS_GROUPS = Exhibit(
    name="custext-across-groups",
    source="CusText (Chen et al. 2023), read as local DP over the whole vocabulary",
    claim="any two words are told apart by a factor of at most exp(ε)",
    reason="words of different groups have no output in common",
    repair="compare words of one group only (custom)",
    broken=anywhere,
    repaired=make_repaired,
)
WITHOUT_HALF = Exhibit(
    name="custext-without-half",
    source="CusText (Chen et al. 2023) without its factor ½",
    claim="drawing with probability proportional to exp(ε·u) is ε-local DP inside a group",
    reason="the normalizing sum changes with the word too",
    repair="exp(ε·u/2) (custom)",
    broken=without_half,
    repaired=make_repaired,
)
