"""A policy that misses on purpose: to measure what an imperfect detector costs.

Which hits are dropped follows from the seed and from the text *outside* all hits, by a keyed
hash. Two texts that differ only in what the policy found have the same hits dropped, so the
pattern of misses tells nothing about the words that stay protected; and neither the order of the
documents nor the number of workers changes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import ClassVar

from sfumato.core.checks import at_least, between
from sfumato.policies.identity import Identity, identity_around
from sfumato.policies.policy import Policy, find_each
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans, extent
from sfumato.text.words import Words

_SCALE = float(1 << 64)


@dataclass(frozen=True, kw_only=True)
class Imperfect:
    """Another policy with a share of its hits dropped; for experiments, never for release.

    Hits that share a word are one hit here: it is dropped as a whole or kept as a whole.
    """

    policy: Policy
    misses: float
    seed: int = field(repr=False)

    def __post_init__(self) -> None:
        between("misses", self.misses, 0, 1)
        at_least("seed", self.seed, 0, most=None)

    for_release: ClassVar[bool] = False
    argument: ClassVar[str] = "policy"

    @property
    def name(self) -> str:
        """The name of the policy inside and the share it misses."""
        return f"imperfect({self.policy.name}, misses {self.misses:g})"

    def find(self, document: Document) -> Spans:
        """What the policy inside finds, without the share that is missed."""
        return self.find_many([document])[0]

    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        """The same for several documents at once."""
        found = find_each(self.policy, documents)
        return [self._kept(spans, one) for spans, one in zip(found, documents, strict=True)]

    def identity(self) -> Identity | None:
        """The policy inside, and what is dropped of it; the seed is not told."""
        settings = (self.misses, self.seed)
        return identity_around("imperfect", (self.policy,), *settings, private=True)

    def _kept(self, found: Spans, document: Document) -> Spans:
        hits = _hits(found, Words.of(document.text))
        key = self._document_key(document, hits)
        return Spans.of(
            span
            for number, hit in enumerate(hits)
            if not _draw(key, number) < self.misses
            for span in hit.spans
        )

    def _document_key(self, document: Document, hits: list[_Hit]) -> bytes:
        key = blake2b(str(self.seed).encode(), digest_size=64).digest()
        digest = blake2b(key=key)
        digest.update(_frame(document.id or ""))
        reached = 0
        for hit in hits:
            digest.update(_frame(document.text[reached : hit.start]))
            reached = hit.end
        digest.update(_frame(document.text[reached:]))
        return digest.digest()


@dataclass(slots=True)
class _Hit:
    """Spans that share words, from the first of these words to the last."""

    start: int
    end: int
    spans: list[Span]


def _hits(spans: Spans, words: Words) -> list[_Hit]:
    """Spans grouped so that no two groups overlap or share a word."""
    hits: list[_Hit] = []
    for span in spans:
        start, end = extent(span, words)
        if hits and start < hits[-1].end:
            hits[-1].spans.append(span)
            hits[-1].end = max(hits[-1].end, end)
        else:
            hits.append(_Hit(start, end, [span]))
    return hits


def _draw(key: bytes, number: int) -> float:
    """A number in [0, 1) that only the key and the hit's number decide."""
    digest = blake2b(number.to_bytes(8, "big"), key=key, digest_size=8).digest()
    return int.from_bytes(digest, "big") / _SCALE


def _frame(text: str) -> bytes:
    """The text with its length, so that no two sequences of texts look the same."""
    data = text.encode()
    return len(data).to_bytes(8, "big") + data
