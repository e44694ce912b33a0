"""A public embedding space: words, their vectors, and the point of every other word.

The vocabulary is public. Every surface form, known or not, is mapped to one point of the space
by a fixed public rule (``point_of``), so that a mechanism on points is a total function on words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import one_of
from sfumato.core.errors import MalformedVectors
from sfumato.vectors.search import ClusteredSearch, NearestSearch

SEARCHES = ("approximate", "exact")
LARGEST = 1e9  # beyond it, squares and sums overflow float32
# How many things made of a space are kept at most: clients of a service may ask for many.
KEPT = 12
_KEEPING = Lock()

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Space:
    """Public words and their vectors, most frequent first.

    Points 0 … n − 1 are the words; point n is the centroid, which stands for all words outside
    the vocabulary and is never an output.
    """

    name: str
    words: Sequence[str]
    vectors: NDArray[np.float32]
    search_kind: str = "exact"

    def __post_init__(self) -> None:
        one_of("search", self.search_kind, SEARCHES)
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors):
            raise MalformedVectors(
                f"{self.name}: {len(self.words)} words do not fit vectors "
                f"of shape {self.vectors.shape}"
            )
        if len(self.words) < 2 or self.vectors.shape[1] < 1:
            raise MalformedVectors(f"{self.name}: a space needs at least two words")
        if not np.isfinite(self.vectors).all():
            raise MalformedVectors(f"{self.name}: the vectors hold a value that is not finite")
        if np.abs(self.vectors).max() > LARGEST:
            raise MalformedVectors(f"{self.name}: the vectors hold values beyond {LARGEST:g}")
        if any("\n" in word or "\r" in word for word in self.words):
            raise MalformedVectors(f"{self.name}: a word holds a line break")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dimension(self) -> int:
        """How many coordinates a vector has."""
        return int(self.vectors.shape[1])

    @property
    def unknown(self) -> int:
        """The point of all words outside the vocabulary."""
        return len(self.words)

    @property
    def metric(self) -> str:
        """The distance in which guarantees over this space are stated."""
        return f"Euclidean distance between word vectors in {self.name}"

    @cached_property
    def digest(self) -> str:
        """A hash of the words and their vectors."""
        digest = sha256("\n".join(self.words).encode("utf-8", "surrogatepass"))
        digest.update(f"\n{self.vectors.dtype.str}{self.vectors.shape}".encode())
        digest.update(np.ascontiguousarray(self.vectors).data)
        return digest.hexdigest()

    @cached_property
    def centroid(self) -> NDArray[np.float64]:
        """The unweighted mean of the public vectors."""
        mean: NDArray[np.float64] = self.vectors.mean(axis=0, dtype=np.float64)
        return mean

    @cached_property
    def search(self) -> NearestSearch:
        """Nearest-word search over the public vectors; it is used for noisy vectors only."""
        if self.search_kind == "approximate":
            return ClusteredSearch(self.vectors)
        return NearestSearch(self.vectors)

    def derive(self, key: Hashable, build: Callable[[], Made]) -> Made:
        """What follows from the public vectors and ``key``, made once and kept for a while.

        A mechanism at another level is another object; what no level changes is kept here.
        """
        kept = self._derived.get(key)
        if kept is not None:
            found: Made = kept
            return found
        made = build()
        if isinstance(made, np.ndarray):
            made.flags.writeable = False  # many share it
        with _KEEPING:
            self._derived[key] = made
            while len(self._derived) > KEPT:
                del self._derived[next(iter(self._derived))]
        return made

    def point_of(self, word: str) -> int:
        """The point for any surface form: as spelled, else without case, else the centroid.

        >>> from sfumato.vectors.space import Space
        >>> import numpy as np
        >>> space = Space("toy", ["rome", "paris"], np.eye(2, dtype=np.float32))
        >>> [space.point_of(word) for word in ("rome", "PARIS", "Atlantis")]
        [0, 1, 2]
        """
        point = self._exact.get(word)
        if point is not None:
            return point
        folded = _fold(word)
        point = self._folded.get(folded)
        return self._exact.get(folded, self.unknown) if point is None else point

    def points(self, words: Iterable[str]) -> NDArray[np.intp]:
        """The points of many words."""
        return np.fromiter((self.point_of(word) for word in words), dtype=np.intp)

    def at(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """The vectors at some points, the centroid for the unknown one."""
        known = points < self.unknown
        vectors = self.vectors[np.where(known, points, 0)].astype(np.float64)
        vectors[~known] = self.centroid
        return vectors

    def distances_from(self, point: int) -> NDArray[np.float64]:
        """Distance from a point (the unknown one included) to every word."""
        here = self.at(np.array([point], dtype=np.intp))[0]
        distances: NDArray[np.float64] = np.sqrt(np.square(self.vectors - here).sum(axis=1))
        return distances

    @cached_property
    def _derived(self) -> dict[Hashable, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        # Whatever was made of the space is made again where a copy needs it.
        return {name: value for name, value in vars(self).items() if name != "_derived"}

    @cached_property
    def _exact(self) -> dict[str, int]:
        # Reversed, so that the most frequent of equal words wins.
        size = len(self.words)
        return dict(zip(reversed(self.words), range(size - 1, -1, -1), strict=True))

    @cached_property
    def _folded(self) -> dict[str, int]:
        """The points of forms without case, as far as they are not words at those very points.

        In most spaces every word is such a form of itself, and this is all but empty.
        """
        exact, found = self._exact, dict[str, int]()
        others = [(point, word) for point, word in enumerate(self.words) if _fold(word) != word]
        for point, word in others:
            form = _fold(word)
            # Of words with one form the most frequent is meant; a word of that form may be it.
            own = exact.get(form, self.unknown) if _fold(form) == form else self.unknown
            found[form] = min(point, own, found.get(form, self.unknown))
        for _, word in others:  # spelled like this it is a word, but no word has this form
            found.setdefault(word, self.unknown)
        return found


def _fold(word: str) -> str:
    # Curly apostrophes and composed letters are variants of the same word; vectors have only one.
    return unicodedata.normalize("NFC", word).casefold().replace("\u2019", "'")
