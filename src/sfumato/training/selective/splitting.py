"""A document in two: its public text with masks, and where its private characters are.

Guarantee
    The public text is a function of what stands outside the private stretches, of their number,
    places and types. Change what stands under a mask, and not a byte of it changes.

Why it holds
    A mask is the type in square brackets, as in redaction: neither words nor lengths show. The
    text is put together from the pieces outside the stretches and from masks, nothing else.

From places in a text to its tokens, for any subword tokenizer.

A token is inside if it shares a character with a place: a token that spells the end of a public
word and the beginning of a private one is private as a whole. Tokens that spell no character of the
text, such as those for the beginning and the end of a document, are nobody's secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.redact import Redact
from sfumato.models.tokenizer import Tokenizer
from sfumato.policies.policy import Policy, find_in
from sfumato.text.document import Document
from sfumato.text.span import Spans, stretches
from sfumato.text.words import Words

Extent = tuple[int, int]


@dataclass(frozen=True)
class Split:
    """A document by a policy.

    ``private`` are the private characters of the original, ``masks`` where the masks stand in the
    ``public`` text; both as (start, end), in reading order.
    """

    original: Document
    public: str = field(repr=False)
    private: tuple[Extent, ...]
    masks: tuple[Extent, ...]


def split(document: Document, policy: Policy) -> Split:
    """Put a mask over every stretch that the policy finds."""
    return _mask(document, policy.find(document))


def split_each(documents: Iterable[Document], policy: Policy) -> list[Split]:
    """The same for many documents."""
    return [_mask(document, spans) for document, spans in find_in(policy, documents)]


def _mask(document: Document, spans: Spans) -> Split:
    found = stretches(spans, Words.of(document.text))
    pieces: list[str] = []
    masks: list[Extent] = []
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


def inside(text: str, places: Sequence[Extent], tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """For every token of a text whether it shares a character with one of the places."""
    return overlapping(tokenizer.places(text), places, len(text))


def overlapping(
    tokens: Sequence[Extent], places: Sequence[Extent], length: int
) -> NDArray[np.bool_]:
    """For every token, given by its characters, whether it shares one with a place.

    >>> overlapping([(0, 2), (2, 5), (5, 6)], [(4, 5)], 6).tolist()
    [False, True, False]
    """
    steps = np.zeros(length + 1, dtype=np.int64)
    for start, end in places:
        if start < end:
            steps[start] += 1
            steps[end] -= 1
    # How many covered characters stand before each character.
    before = np.concatenate([[0], np.cumsum(np.cumsum(steps)[:-1] > 0)])
    return np.array([before[end] > before[start] for start, end in tokens], dtype=np.bool_)
