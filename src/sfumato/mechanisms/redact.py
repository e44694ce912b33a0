"""Redaction: what was found is masked by its type.

Guarantee
    None. This is the baseline that is called "anonymization" elsewhere: "Ada Lovelace", found as
    PERSON, becomes ``[PERSON]``, one mask for the whole of it.

What holds all the same
    A mask depends on the type alone, so of what stands under it nothing else shows: not the words,
    nor how many there are, nor the punctuation and white space between them.

What does not hold
    The policy decides what is masked and as what, by reading the text; both show. Whatever it
    misses stands in the clear, and the sentence around a mask often says who is meant. Nothing
    bounds what can be concluded, so there is no epsilon.

Care
    Overlapping and touching spans are one stretch with one mask; ``corpora.stretches`` says which
    of their types names it. Under the policy ``everything`` a document is one stretch, ``[ANY]``.

Reference
    The "data anonymization" baseline of Shi et al. 2022, "Selective differential privacy for
    language modeling".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.guarantees.guarantee import Guarantee, no_guarantee
from sfumato.text.span import Stretch

TYPE_LEAK = "as what type each replaced stretch was found"


@dataclass(frozen=True, kw_only=True)
class Redact:
    """Mask what was found by its type; there are no settings.

    >>> from sfumato.text.span import Span
    >>> Redact().replace([Stretch(0, 12, "Ada Lovelace", Span(0, 12, "PERSON"))])
    ['[PERSON]']
    """

    def guarantee(self) -> Guarantee:
        """Nothing is proven; the type shows."""
        return no_guarantee(unit="stretch", scope="every stretch").leaking(TYPE_LEAK)

    def replace(self, stretches: Sequence[Stretch]) -> list[str]:
        """The type of each stretch in square brackets."""
        return [f"[{stretch.kind}]" for stretch in stretches]
