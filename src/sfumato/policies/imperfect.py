"""A policy that misses on purpose: to measure what an imperfect detector costs.

Which hits are dropped follows from the seed and from the text *outside* all hits, by a keyed
hash. Two texts that differ only in what the policy found have the same hits dropped, so the
pattern of misses tells nothing about the words that stay protected; and neither the order of the
documents nor the number of workers changes it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from hashlib import blake2b

from sfumato.core.checks import at_least, between
from sfumato.corpora.documents import Document
from sfumato.corpora.spans import Span, Spans
from sfumato.corpora.words import Words
from sfumato.policies.policy import Policy

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
        at_least("seed", self.seed, 0)

    @property
    def name(self) -> str:
        """The name of the policy inside and the share it misses."""
        return f"imperfect({self.policy.name}, misses {self.misses:g})"

    def find(self, document: Document) -> Spans:
        """What the policy inside finds, without the share that is missed."""
        hits = _hits(self.policy.find(document), Words.of(document.text))
        key = self._document_key(document, hits)
        return Spans.of(
            span
            for number, hit in enumerate(hits)
            if not _draw(key, number) < self.misses
            for span in hit
        )

    def _document_key(self, document: Document, hits: list[list[Span]]) -> bytes:
        key = blake2b(str(self.seed).encode(), digest_size=64).digest()
        digest = blake2b(key=key)
        digest.update(_framed(document.id or ""))
        reached = 0
        for hit in hits:
            digest.update(_framed(document.text[reached : hit[0].start]))
            reached = max(span.end for span in hit)
        digest.update(_framed(document.text[reached:]))
        return digest.digest()


def _hits(spans: Spans, words: Words) -> list[list[Span]]:
    """Spans grouped so that no two groups overlap or share a word."""
    hits: list[list[Span]] = []
    reached = 0
    for span in spans:
        last = bisect_left(words.starts, span.end) - 1
        first = bisect_left(words.ends, span.start + 1)
        end = max(span.end, words.ends[last] if first <= last else 0)
        start = min(span.start, words.starts[first]) if first <= last else span.start
        if hits and start < reached:
            hits[-1].append(span)
        else:
            hits.append([span])
        reached = max(reached, end)
    return hits


def _draw(key: bytes, number: int) -> float:
    """A number in [0, 1) that only the key and the hit's number decide."""
    digest = blake2b(number.to_bytes(8, "big"), key=key, digest_size=8).digest()
    return int.from_bytes(digest, "big") / _SCALE


def _framed(text: str) -> bytes:
    """The text with its length, so that no two sequences of texts look the same."""
    data = text.encode()
    return len(data).to_bytes(8, "big") + data
