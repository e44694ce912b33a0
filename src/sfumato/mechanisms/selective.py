"""Selective metric DP: privatize the words a policy selects, keep everything else.

Guarantee
    Selective metric DP at the level of the inner mechanism: for texts that differ only in words
    which the policy selects in both, at the same places, each changed word is protected as the
    inner mechanism protects a word. A document costs the sum over its selected words.

Why it holds
    Unselected text is the same in both and is copied. Each selected word goes through the inner
    mechanism with randomness of its own, and the product of independent draws has the product
    of the ratios. If the policy reads context, changing one word may change the decision about
    another; such pairs are not neighbours here, so the decisions themselves count as public.

What it does not say
    Whatever the policy misses stands in the clear. Which words were selected, how many there
    are, and the punctuation and white space between them can be seen.

Reference
    Algorithm 1 of the selective metric DP thesis, which leaves unknown words unchanged; here
    they are covered unless that is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.accounting.guarantee import Guarantee, Notion, no_guarantee
from sfumato.core.randomness import Randomness
from sfumato.corpora.documents import Document
from sfumato.corpora.edits import Edited
from sfumato.corpora.words import Words
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.mechanisms.vocabulary import CASE_LEAK, KEPT_UNKNOWN
from sfumato.policies.patterns import Everything, Nothing
from sfumato.policies.policy import Policy

STRUCTURE_LEAK = (
    "how many words there are and all punctuation, symbols (also flags and Braille), white space "
    "and invisible characters, also inside what was selected"
)
CHOICE_LEAK = (
    "which words were selected, and so what the policy read off them (that a number passes a "
    "check, that a name stands twice)"
)
EXPERIMENT_LEAK = "what the policy drops on purpose (an experiment: not for release)"


@dataclass(frozen=True, slots=True)
class Privatized:
    """What came of one document, with counts that the output shows anyway."""

    edited: Edited
    words: int
    uncovered: int

    @property
    def text(self) -> str:
        """The new text."""
        return self.edited.text

    @property
    def selected(self) -> int:
        """How many words were privatized."""
        return len(self.edited.edits)

    def __repr__(self) -> str:
        # What the policy did not select stands here in the clear: keep it out of logs.
        return f"Privatized({self.words} words, {self.selected} selected)"


@dataclass(frozen=True, kw_only=True)
class Selective:
    """A word mechanism applied where a policy finds something."""

    policy: Policy
    mechanism: Mechanism

    def guarantee(self, uncovered: int | None = None) -> Guarantee:
        """The statement, with the number of selected but unprotected words once it is known."""
        if isinstance(self.policy, Nothing):
            return no_guarantee(unit="word", scope="no word").not_covering("every word")
        inner = self.mechanism.guarantee().leaking(STRUCTURE_LEAK)
        if uncovered is not None:
            kept = f"{uncovered:,} {KEPT_UNKNOWN}"
            names = tuple(kept if name == KEPT_UNKNOWN else name for name in inner.uncovered)
            inner = replace(inner, uncovered=names)
        if isinstance(self.policy, Everything) or inner.notion is Notion.NONE:
            return inner
        capitals = " and the capitals too" if CASE_LEAK in inner.leaks else ""
        selective = replace(
            inner,
            scope=f"every word that the policy '{self.policy.name}' selects",
            neighbours="texts that differ in selected words only, the selection being the same"
            + capitals,
            about=(*inner.about, self.policy),
        )
        if not getattr(self.policy, "for_release", True):
            selective = replace(selective.leaking(EXPERIMENT_LEAK), for_release=False)
        if inner.notion is Notion.METRIC_DP:
            selective = replace(selective, notion=Notion.SELECTIVE_METRIC_DP)
        return selective.leaking(CHOICE_LEAK).not_covering("whatever the policy does not select")

    def privatize(self, documents: Sequence[Document], randomness: Randomness) -> list[Privatized]:
        """Privatize documents together: one call of the mechanism for all their words."""
        segmented = [Words.of(document.text) for document in documents]
        chosen = [
            self.policy.find(document).select(words)
            for document, words in zip(documents, segmented, strict=True)
        ]
        inputs = [
            words[index]
            for words, indices in zip(segmented, chosen, strict=True)
            for index in indices
        ]
        outputs = self.mechanism.privatize(inputs, randomness)
        results: list[Privatized] = []
        start = 0
        for words, indices in zip(segmented, chosen, strict=True):
            end = start + len(indices)
            results.append(
                Privatized(
                    edited=words.replaced(indices, outputs[start:end]),
                    words=len(words),
                    uncovered=self.mechanism.uncovered(inputs[start:end]),
                )
            )
            start = end
        return results
