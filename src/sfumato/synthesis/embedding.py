"""Vectors that decide who votes for what: by a public encoder, for public and private texts.

Private texts are encoded one by one, so that none has any influence on the vector of another;
candidates are public, and are encoded together. Without an encoder's folder, vectors are means of
the embedded public word vectors around the mean of the first candidates, which are public, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.mechanisms.rewriting.pool import center
from sfumato.models.encoder import SentenceEncoder, load_encoder
from sfumato.vectors.load import default_space
from sfumato.vectors.means import mean_vectors, unit_rows

AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class Embedding:
    """Unit vectors of texts; ``encoder`` is None where they are means of public word vectors."""

    mean: Floats = field(repr=False)
    encoder: SentenceEncoder | None = None

    @classmethod
    def of(cls, folder: str, public: Sequence[str]) -> Embedding:
        """By the encoder in a folder, or by word vectors around the mean of public texts."""
        if folder:
            return cls(np.zeros(0), load_encoder(Path(folder)))
        found = mean_vectors(public, default_space())
        known = found[np.abs(found).max(axis=1) > 0] if len(found) else found
        return cls(known.mean(axis=0) if len(known) else np.zeros(default_space().dimension))

    @property
    def name(self) -> str:
        """What the vectors are by."""
        return "mean word vectors" if self.encoder is None else self.encoder.name

    def public(self, texts: Sequence[str]) -> Floats:
        """Vectors of public texts, many at once."""
        if self.encoder is None:
            return center(mean_vectors(texts, default_space()), self.mean)
        # Texts of one length together need hardly any padding.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = unit_rows(self.encoder.encode_together([texts[place] for place in order]))
        vectors = np.empty_like(found)
        vectors[order] = found
        return vectors

    def private(self, texts: Sequence[str], advance: Callable[[int], None]) -> Floats:
        """Vectors of private texts, each by itself; ``advance`` is told how many are done."""
        parts = []
        for start in range(0, len(texts), AT_ONCE):
            some = texts[start : start + AT_ONCE]
            parts.append(
                center(mean_vectors(some, default_space()), self.mean)
                if self.encoder is None
                else unit_rows(self.encoder.encode_alone(some))
            )
            advance(start + len(some))
        return np.vstack(parts) if parts else np.empty((0, 0))
