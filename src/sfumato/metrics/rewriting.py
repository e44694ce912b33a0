"""What is left of documents that were rewritten: their words, and their meaning.

Figures
    ``source words kept``: the share of a document's own words that stand in its new text, too. Own
    words are different ones that are not among the ``FREQUENT`` most frequent public words: that
    "the" stands in both says nothing. ``cosine``: that of the vectors of both texts, by a sentence
    encoder or by public word vectors, beside a *floor*, the cosine of texts that do not belong
    together (``metrics/similarity.py``).

    A level alone says little of a rewriter: many hundreds may hide a text, and a few dozens may
    show what it is about. So each row has both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.display import as_html, as_lines, interval
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.mechanism import DocumentMechanism
from sfumato.metrics.similarity import Encoder, Similarity, sentence_similarity
from sfumato.results.measured import SHARE, Measured
from sfumato.statistics.shares import bootstrap_mean
from sfumato.text.words import Words
from sfumato.vectors.load import default_space
from sfumato.vectors.means import mean_vectors

KEPT = "source words kept"
FREQUENT = 200


def source_words_kept(before: str, after: str) -> float | None:
    """The share of a text's own words that the other has, too; None if it has none.

    >>> source_words_kept("The patient met a cardiologist", "a cardiologist met the others")
    0.6666666666666666
    >>> source_words_kept("and so on", "no") is None
    True
    """
    own = _words(before) - frequent_words()
    return len(own & _words(after)) / len(own) if own else None


def _words(text: str) -> set[str]:
    return {word.casefold() for word in Words.of(text)}


@cache
def frequent_words() -> frozenset[str]:
    """The most frequent public words, as the embedded vectors list them."""
    return frozenset(default_space().words[:FREQUENT])


def public_encoder(texts: Sequence[str]) -> Floats:
    """Means of public word vectors, around the mean of these texts."""
    found = mean_vectors(texts, default_space())
    known = np.abs(found).max(axis=1) > 0 if len(found) else np.zeros(0, dtype=bool)
    if known.any():
        found[known] -= found[known].mean(axis=0)
    return found


def read_encoder(folder: str) -> Encoder:
    """The sentence encoder in a folder, or public word vectors where none is named."""
    if not folder:
        return public_encoder
    from sfumato.models.encoder import load_encoder

    return load_encoder(Path(folder)).encode_together


@dataclass(frozen=True)
class Remains:
    """What is left of documents: words, and meaning if there are two documents at least."""

    kept: Measured
    similarity: Similarity | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found: dict[str, Any] = {"source_words_kept": _told(self.kept)}
        if self.similarity is not None:
            found |= {
                "cosine": _told(self.similarity.cosine),
                "floor": _told(self.similarity.floor),
            }
        return found


def measure_remains(
    originals: Sequence[str],
    rewritten: Sequence[str],
    encoder: Encoder,
    randomness: Randomness,
) -> Remains:
    """Words and meaning that rewritten documents have in common with their originals."""
    if len(originals) != len(rewritten):
        raise BadInput(f"{len(rewritten)} texts do not belong to {len(originals)} originals")
    shares = [source_words_kept(*pair) for pair in zip(originals, rewritten, strict=True)]
    known = np.array([share for share in shares if share is not None])
    if not len(known):
        raise BadInput("no original has a word of its own: there is nothing to keep")
    near = None
    if len(originals) > 1:
        near = sentence_similarity(rewritten, originals, encoder, randomness.stream(1))
    return Remains(bootstrap_mean(KEPT, known, randomness.stream(0), SHARE), near)


@dataclass(frozen=True)
class ComparedRewriter:
    """One mechanism at one level, on the same documents as the others."""

    mechanism: str
    guarantee: Guarantee
    remains: Remains
    documents_per_second: float
    seconds_to_build: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "mechanism": self.mechanism,
            "epsilon": self.guarantee.as_dict()["epsilon"],
            "unit": self.guarantee.unit,
            "guarantee": self.guarantee.as_dict(),
            **self.remains.as_dict(),
            "documents_per_second": self.documents_per_second,
            "seconds_to_build": self.seconds_to_build,
        }


@dataclass(frozen=True, repr=False)
class DocumentComparison:
    """Mechanisms that rewrite documents, side by side."""

    documents: int
    rows: tuple[ComparedRewriter, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; it holds no text."""
        return {"documents": self.documents, "rows": [one.as_dict() for one in self.rows]}

    def __repr__(self) -> str:
        facts = [(f"{one.mechanism} at epsilon {one.guarantee.epsilon:.4g}", f"keeps {_of(one)}")
                 for one in self.rows]  # fmt: skip
        return as_lines(f"Comparison on {self.documents:,} documents", facts)

    def _repr_html_(self) -> str:
        heads = ("mechanism", "ε", "per", KEPT, "cosine", "floor", "documents/s")
        rows = [row_of(one) for one in self.rows]
        return as_html(f"Rewritten: {self.documents:,} documents", heads, rows)


def row_of(one: ComparedRewriter) -> tuple[str, ...]:
    """The cells of a table: the level and what is kept stand side by side."""
    near = one.remains.similarity
    kept = one.remains.kept
    return (
        one.mechanism,
        f"{one.guarantee.epsilon:.4g}",
        one.guarantee.unit,
        interval(round(kept.value, 3), kept.low, kept.high),
        "–" if near is None else f"{near.cosine.value:.2f}",
        "–" if near is None else f"{near.floor.value:.2f}",
        f"{one.documents_per_second:,.0f}",
    )


def compare_rewriters(
    makers: Sequence[tuple[str, Callable[[], DocumentMechanism]]],
    texts: Sequence[str],
    encoder: Encoder,
    randomness: Randomness,
) -> DocumentComparison:
    """Each mechanism on the same documents, with draws of its own that are thrown away."""
    if not texts:
        raise InvalidArgument("there is no document to compare on")
    rows = []
    for number, (name, make) in enumerate(makers):
        start = time.perf_counter()
        mechanism = make()
        guarantee = mechanism.guarantee()
        mechanism.rewrite(["warm up"], randomness.stream(0))
        built = time.perf_counter()
        new = mechanism.rewrite(texts, randomness.stream(2 * number + 1))
        took = time.perf_counter() - built
        remains = measure_remains(texts, new, encoder, randomness.stream(2 * number + 2))
        rows.append(ComparedRewriter(name, guarantee, remains, len(texts) / took, built - start))
    return DocumentComparison(len(texts), tuple(rows))


def _told(one: Measured) -> dict[str, Any]:
    return {"value": one.value, "low": one.low, "high": one.high, "n": one.n}


def _of(one: ComparedRewriter) -> str:
    near = one.remains.similarity
    cosine = "" if near is None else f", cosine {near.cosine.value:.2f} ({near.floor.value:.2f})"
    return f"{one.remains.kept.value:.1%} of the source words{cosine}"
