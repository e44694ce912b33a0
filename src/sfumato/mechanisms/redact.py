"""Redaction: what was found is masked by its type.

Guarantee
    Independence from the original: for texts that differ only inside what was found, the same
    places having the same types, the output is the same. "Ada Lovelace", found as PERSON, becomes
    ``[PERSON]``, one mask for the whole of it.

Why it holds
    A mask depends on the type alone, so of what stands under it nothing else shows: not the words,
    nor how many there are, nor the punctuation and white space between them.

What does not hold
    The policy decides what is masked and as what, by reading the text; both show. Whatever it
    misses stands in the clear, and the sentence around a mask often says who is meant: nothing
    bounds what can be concluded from the context.

Care
    Overlapping and touching spans are one stretch with one mask; ``text.span.stretches`` says which
    of their types names it. Under the policy ``everything`` a document is one stretch, ``[ANY]``.

Reference
    The "data anonymization" baseline of Shi et al. 2022, "Selective differential privacy for
    language modeling".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, independent
from sfumato.text.span import Stretch

TYPE_LEAK = "as what type each replaced stretch was found"


def mask(stretch: Stretch) -> str:
    """What a stretch is masked by: its type in square brackets."""
    return f"[{stretch.kind}]"


@dataclass(frozen=True, kw_only=True)
class Redact:
    """Mask what was found by its type; there are no settings.

    >>> from sfumato.text.span import Span
    >>> ada = Stretch(0, 12, "Ada Lovelace", Span(0, 12, "PERSON"))
    >>> Redact().replace([ada], Randomness.secure())
    ['[PERSON]']
    """

    def guarantee(self) -> Guarantee:
        """The mask does not depend on the original; the type shows."""
        return independent().leaking(TYPE_LEAK)

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        """The type of each stretch in square brackets."""
        return [mask(stretch) for stretch in stretches]
