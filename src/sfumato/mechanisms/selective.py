"""Selective metric DP: privatize the words a policy selects, keep everything else.

Guarantee
    Selective metric DP at the level of the inner mechanism: for texts that differ only in words
    which the policy selects in both, at the same places, each changed word is protected as the
    inner mechanism protects a word. A document costs the sum over its selected words.

Why it holds
    Unselected text is the same in both and is copied. Each selected word goes through the inner
    mechanism with randomness of its own, and the product of independent draws has the product
    of the ratios. If the policy reads context, changing one word may change the decision about
    another; such pairs are not neighbors here, so the decisions themselves count as public.

What it does not say
    Whatever the policy misses stands in the clear. Which words were selected, how many there
    are, and the punctuation and white space between them can be seen. Around a baseline, which
    replaces whole stretches (``redact``, ``pseudonym``), nothing is guaranteed.

Reference
    Algorithm 1 of the selective metric DP thesis, which leaves unknown words unchanged; here
    they are covered unless that is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion, no_guarantee
from sfumato.mechanisms.mechanism import Mechanism, StretchMechanism
from sfumato.mechanisms.vocabulary import CASE_LEAK, KEPT_UNKNOWN
from sfumato.policies.patterns import Everything, Nothing
from sfumato.policies.policy import Policy, find_each
from sfumato.text.document import Document
from sfumato.text.edits import Edit, Edited
from sfumato.text.span import stretches
from sfumato.text.words import Words

STRUCTURE_LEAK = (
    "how many words there are and all punctuation, symbols (also flags and Braille), white space "
    "and invisible characters, also inside what was selected"
)
STRETCH_LEAK = (
    "where something was replaced, and so what the policy read off it (that a number passes a "
    "check, that a name stands twice), and every character outside"
)
CHOICE_LEAK = (
    "which words were selected, and so what the policy read off them (that a number passes a "
    "check, that a name stands twice)"
)
EXPERIMENT_LEAK = "what the policy drops on purpose (an experiment: not for release)"


@dataclass(frozen=True, slots=True)
class Privatized:
    """What came of one document, with counts of its words.

    ``selected`` counts the words that were replaced, be it one by one or several at a time.
    """

    edited: Edited
    words: int
    selected: int
    uncovered: int = 0

    @property
    def text(self) -> str:
        """The new text."""
        return self.edited.text

    @property
    def places(self) -> int:
        """At how many places something was put in; the output shows that."""
        return len(self.edited.edits)

    def __repr__(self) -> str:
        # What the policy did not select stands here in the clear: keep it out of logs.
        return f"Privatized({self.words} words, {self.selected} selected)"


@dataclass(frozen=True, kw_only=True)
class Selective:
    """A mechanism applied where a policy finds something."""

    policy: Policy
    mechanism: Mechanism | StretchMechanism

    def guarantee(self, uncovered: int | None = None) -> Guarantee:
        """The statement, with the number of selected but unprotected words once it is known."""
        if isinstance(self.policy, Nothing):
            return no_guarantee(unit="word", scope="no word").not_covering("every word")
        inner = self.mechanism.guarantee()
        by_words = not isinstance(self.mechanism, StretchMechanism)
        inner = counting(inner.leaking(STRUCTURE_LEAK if by_words else STRETCH_LEAK), uncovered)
        if isinstance(self.policy, Everything):
            return inner
        selective = replace(
            inner,
            scope=f"every {inner.unit} that the policy '{self.policy.name}' selects",
            neighbors=compare_words(inner, "the selection being the same"),
            about=(*inner.about, self.policy),
        )
        selective = selecting(selective, self.policy).leaking(*([CHOICE_LEAK] if by_words else []))
        return selective.not_covering("whatever the policy does not select")

    def privatize(self, documents: Sequence[Document], randomness: Randomness) -> list[Privatized]:
        """Privatize documents together: one call of the mechanism for all of them."""
        if isinstance(self.mechanism, StretchMechanism):
            return self._replaced(documents, self.mechanism)
        segmented = [Words.of(document.text) for document in documents]
        chosen = [
            spans.select(words)
            for spans, words in zip(find_each(self.policy, documents), segmented, strict=True)
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
                    selected=len(indices),
                    uncovered=self.mechanism.uncovered(inputs[start:end]),
                )
            )
            start = end
        return results

    def _replaced(
        self, documents: Sequence[Document], mechanism: StretchMechanism
    ) -> list[Privatized]:
        """One edit for each stretch, so that nothing of what stood inside it shows."""
        results: list[Privatized] = []
        for document, spans in zip(documents, find_each(self.policy, documents), strict=True):
            words = Words.of(document.text)
            found = stretches(spans, words)
            edits = [
                Edit(one.start, one.end, replacement)
                for one, replacement in zip(found, mechanism.replace(found), strict=True)
            ]
            results.append(
                Privatized(
                    edited=Edited.of(document.text, edits),
                    words=len(words),
                    selected=len(spans.select(words)),
                )
            )
        return results


def counting(inner: Guarantee, uncovered: int | None) -> Guarantee:
    """The guarantee with the number of words that were kept because they are unknown."""
    if uncovered is None:
        return inner
    kept = f"{uncovered:,} {KEPT_UNKNOWN}"
    names = tuple(kept if name == KEPT_UNKNOWN else name for name in inner.uncovered)
    return replace(inner, uncovered=names)


def compare_words(inner: Guarantee, same: str) -> str:
    """Which texts are compared when the words inside them are compared as ``inner`` says."""
    if inner.notion is Notion.NONE:
        return inner.neighbors
    texts = f"texts that differ in selected words only, {same}"
    if inner.notion is not Notion.METRIC_DP:
        return f"{texts}, and for each such word {inner.neighbors}"
    return texts + (" and the capitals too" if CASE_LEAK in inner.leaks else "")


def selecting(guarantee: Guarantee, *policies: Policy) -> Guarantee:
    """The guarantee, marked with what it costs that policies choose the words."""
    if not all(getattr(policy, "for_release", True) for policy in policies):
        guarantee = replace(guarantee.leaking(EXPERIMENT_LEAK), for_release=False)
    if guarantee.notion is Notion.METRIC_DP:
        guarantee = replace(guarantee, notion=Notion.SELECTIVE_METRIC_DP)
    return guarantee
