"""A document in two: its public text with masks, and where its private characters are.

Guarantee
    The public text is a function of what stands outside the private stretches, of their number,
    places and types. Change what stands under a mask, and not a byte of it changes.

Why it holds
    A mask is the type in square brackets, as in redaction: neither words nor lengths show. The
    text is put together from the pieces outside the stretches and from masks, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sfumato.corpora.documents import Document
from sfumato.corpora.spans import Spans
from sfumato.corpora.stretches import stretches
from sfumato.corpora.words import Words
from sfumato.mechanisms.redact import Redact
from sfumato.policies.policy import Policy, found_in

Place = tuple[int, int]


@dataclass(frozen=True)
class Split:
    """A document by a policy.

    ``private`` are the private characters of the original, ``masks`` where the masks stand in the
    ``public`` text; both as (start, end), in reading order.
    """

    original: Document
    public: str = field(repr=False)
    private: tuple[Place, ...]
    masks: tuple[Place, ...]


def split(document: Document, policy: Policy) -> Split:
    """Put a mask over every stretch that the policy finds."""
    return _masked(document, policy.find(document))


def split_each(documents: Iterable[Document], policy: Policy) -> list[Split]:
    """The same for many documents."""
    return [_masked(document, spans) for document, spans in found_in(policy, documents)]


def _masked(document: Document, spans: Spans) -> Split:
    found = stretches(spans, Words.of(document.text))
    pieces: list[str] = []
    masks: list[Place] = []
    copied = length = 0
    for stretch, mask in zip(found, Redact().replace(found), strict=True):
        before = document.text[copied : stretch.start]
        start = length + len(before)
        pieces += (before, mask)
        length = start + len(mask)
        masks.append((start, length))
        copied = stretch.end
    pieces.append(document.text[copied:])
    return Split(
        original=document,
        public="".join(pieces),
        private=tuple((stretch.start, stretch.end) for stretch in found),
        masks=tuple(masks),
    )
