"""From texts to vectors, before any noise: by public word vectors, or by a transformer's folder.

Whatever is here is a public function of one text: each text is encoded by itself, and nothing is
learned from them. Without a folder the vector of a text is the weighted mean of the embedded public
word vectors, around a mean that follows from public word frequencies; no torch is needed.

Vectors of words
    The vector of a word by word vectors, and that of a token by the first table of a transformer,
    depend on that word or token alone. What later layers of a transformer give does not: there each
    vector tells of all words around it, so noise for one of them protects no word. Such vectors are
    not offered one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.errors import StorageFailed
from sfumato.models.encoder import SentenceEncoder, load_encoder
from sfumato.text.words import Words
from sfumato.vectors.load import FORMATS, NAME, default_space, load_vectors
from sfumato.vectors.means import mean_vectors, public_mean
from sfumato.vectors.space import Space

GLOVE = "glove"


class Encoding(Protocol):
    """A public function from a text to a vector, or to a vector for each of its words."""

    @property
    def name(self) -> str:
        """What it is called in guarantees."""
        ...

    @property
    def digest(self) -> str:
        """A hash of all that decides what it gives."""
        ...

    @property
    def part(self) -> str:
        """What the parts of a text are called that have vectors of their own."""
        ...

    def size(self, *, parts: bool) -> int:
        """How many numbers the vector of a text has, or that of a part."""
        ...

    def whole(self, texts: Sequence[str]) -> Floats:
        """A row for each text, none of which has an influence on another."""
        ...

    def public(self, texts: Sequence[str]) -> Floats:
        """The same for public texts, which may be read together."""
        ...

    def parts(self, text: str, most: int | None = None) -> Floats:
        """A row for each word or token of a text, for the first ``most`` of them."""
        ...


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Means of public word vectors, or the vectors of words one by one."""

    space: Space = field(repr=False)

    part = "word"

    @property
    def name(self) -> str:
        """The name of the vectors."""
        return f"public word vectors ({self.space.name})"

    @property
    def digest(self) -> str:
        """A hash of the words and their vectors."""
        return self.space.digest

    @cached_property
    def _mean(self) -> Floats:
        return public_mean(self.space)

    def size(self, *, parts: bool) -> int:
        """As many as the word vectors have."""
        del parts
        return self.space.dimension

    def whole(self, texts: Sequence[str]) -> Floats:
        """Weighted means around a public one; a text without a known word has the vector 0."""
        found = mean_vectors(texts, self.space)
        known = np.abs(found).max(axis=1, initial=0.0) > 0
        return np.where(known[:, None], found - self._mean, 0.0)

    def public(self, texts: Sequence[str]) -> Floats:
        """The same: each is computed by itself anyway."""
        return self.whole(texts)

    def parts(self, text: str, most: int | None = None) -> Floats:
        """The vector of each word around the centroid; words without one share the vector 0."""
        points = self.space.points(list(Words.of(text))[:most])
        found: Floats = self.space.at(points) - self.space.centroid
        return found


@dataclass(frozen=True, eq=False)
class TransformerVectors:
    """Vectors by a transformer: the mean of its last states, or the rows of its first table."""

    encoder: SentenceEncoder = field(repr=False)

    part = "token"

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.encoder.name

    @property
    def digest(self) -> str:
        """A hash of its files."""
        return self.encoder.digest

    def size(self, *, parts: bool) -> int:
        """Of its last states, or of its table."""
        return self.encoder.token_size if parts else self.encoder.size

    def whole(self, texts: Sequence[str]) -> Floats:
        """Each text by itself."""
        return self.encoder.encode_alone(texts) if texts else np.empty((0, self.encoder.size))

    def public(self, texts: Sequence[str]) -> Floats:
        """Many at once; those of one length together need hardly any padding."""
        if not texts:
            return np.empty((0, self.encoder.size))
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = self.encoder.encode_together([texts[place] for place in order])
        vectors = np.empty_like(found)
        vectors[order] = found
        return vectors

    def parts(self, text: str, most: int | None = None) -> Floats:
        """The row of each token."""
        return self.encoder.token_vectors(text, most)


def open_encoding(given: str | Path | Space | SentenceEncoder = GLOVE) -> Encoding:
    """An encoding by a transformer's folder, by a file of word vectors, or by the embedded ones."""
    if isinstance(given, Space):
        return WordVectors(given)
    if isinstance(given, SentenceEncoder):
        return TransformerVectors(given)
    if str(given) in ("", GLOVE, NAME):
        return WordVectors(default_space())
    place = Path(given)
    if place.is_dir():
        return TransformerVectors(load_encoder(place))
    if place.is_file() or place.suffix in FORMATS:
        return WordVectors(load_vectors(place))
    raise StorageFailed(
        f"there is no folder {place} with an encoder; name one, a file of word vectors, or "
        f"{GLOVE!r} for the embedded ones: `encoder=...`"
    )
