"""Texts from a public pool of sentences: drawn at random, and varied by their neighbors in it.

Nothing is written anew: whatever comes out stands word for word in the public file, so no phrase of
a private record can be in it unless it is public already. What the votes decide is which sentences
of the pool are taken, and under which label: a pool knows no labels, so every sentence stands for
election under each of them.

Works without torch: without ``encoder`` vectors are means of the embedded public word vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import announce
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead, FolderToFill
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.mechanisms.rewriting.pool import Pool, load_pool

_ROUNDS = 20  # tries to find a neighbor that is not there yet, for each text asked for


@dataclass(frozen=True, kw_only=True)
class PoolGenerator:
    """Draw from a public file of sentences.

    ``pool`` is the file and ``pool_field`` the column that holds its texts, which are cut into
    sentences, or taken ``whole``. A variation is one of the ``neighbors`` nearest ones of the pool.
    ``encoder`` is the folder of a sentence encoder, that of the voters unless another is named, and
    ``cache`` a folder in which the vectors of the pool are kept.
    """

    pool: FileToRead = field(default="", repr=False)
    pool_field: str = "text"
    neighbors: int = 10
    encoder: FileToRead = field(default="", repr=False)
    cache: FolderToFill = field(default="", repr=False)
    whole: bool = False

    knows_labels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.pool:
            raise InvalidArgument(
                "texts are drawn from a public pool: name a file of public sentences, "
                "`settings={'pool': FILE}`"
            )
        at_least("neighbors", self.neighbors, 1)

    @cached_property
    def text_pool(self) -> Pool:
        """The public pool, loaded at the first use."""
        if self.encoder:
            announce("reading the public pool; unless they are kept, its vectors take a while")
        return load_pool(
            self.pool,
            column=self.pool_field,
            encoder=self.encoder,
            cache=self.cache,
            whole=self.whole,
        )

    def public_sources(self) -> dict[str, Source]:
        """The public text that all outputs are made of."""
        return {"pool": Source.of(self.pool, Layout(field=self.pool_field))}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {text: place for place, text in enumerate(self.text_pool.sentences)}

    def invent(self, label: str, count: int, randomness: Randomness) -> list[str]:
        """Different sentences of the pool, all equally likely."""
        del label
        pool = self.text_pool
        drawn = randomness.choose(len(pool), min(count, len(pool)))
        return [pool.sentences[one] for one in drawn]

    def vary(
        self, texts: Sequence[str], label: str, count: int, randomness: Randomness
    ) -> list[str]:
        """Near neighbors of the texts in turn, each drawn from the nearest, and each once."""
        del label
        pool, places = self.text_pool, self._places
        parents = [places[one] for one in texts if one in places]
        found: dict[str, None] = {}
        if not parents:
            return []
        near = self._near(parents)
        order = randomness.integers(near.shape[1], count * _ROUNDS)
        taken = set(parents)
        for turn, drawn in enumerate(order):
            if len(found) >= count:
                break
            one = int(near[turn % len(parents), drawn])
            if one not in taken:
                taken.add(one)
                found[pool.sentences[one]] = None
        return list(found)

    def public_facts(self) -> dict[str, Any]:
        """What may be told of the pool: it is public."""
        return {
            "pool": self.text_pool.name,
            "sentences_in_pool": len(self.text_pool),
            "pool_digest": self.text_pool.digest,
        }

    def _near(self, places: Sequence[int]) -> np.ndarray[Any, np.dtype[np.intp]]:
        """The nearest other sentences of each; one row each."""
        vectors = self.text_pool.vectors
        count = min(self.neighbors, len(vectors) - 1)
        rows = []
        for place in places:
            scores = vectors @ vectors[place]
            scores[place] = -np.inf
            rows.append(np.argpartition(-scores, count - 1)[:count])
        return np.array(rows)
