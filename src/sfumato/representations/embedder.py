"""Texts in, noisy vectors out, with what is guaranteed about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import shown_settings
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.encoder import SentenceEncoder
from sfumato.representations.encoding import GLOVE, Encoding, open_encoding
from sfumato.representations.mechanism import (
    DOCUMENT,
    Carrier,
    VectorMechanism,
    build_representation,
    grain_of,
    round_to_grain,
)
from sfumato.vectors.space import Space

PADDED_LEAK = (
    "at a high epsilon, which places have no {part}, and so how many {part}s a document has: the "
    "levels of all places in which two documents differ add up"
)
ENCODER_GAP = "the text that the encoder learned from, which must be public"
MOST_PADDED = 100_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Embedder:
    """Noisy vectors of texts.

    ``noise`` is a name of the catalog (``sfumato list representations``) and ``settings`` are its
    own. ``encoder`` is the folder of a transformer, a file of word vectors, or "glove" for the
    embedded ones. With ``tokens`` each word (or token of the transformer) has a vector of its own,
    and the level is that of one of them; how many there are shows, unless ``pad_to`` gives every
    document the same number. A place without a word is then one value more of a word, so how many
    words there are is protected place by place, at the sum of their levels. With a ``seed`` the
    noise can be undone: nothing is for release.

    What comes out is rounded to multiples of a public number far below the noise
    (``mechanism.grain_of``), so that no last digit tells what the noise was added to.

    >>> embedder = Embedder(epsilon=20)
    >>> embedder.embed(["a red wine", "two dogs"]).shape, embedder.guarantee().epsilon
    ((2, 50), 20.0)
    """

    epsilon: float
    noise: str = "laplace"
    delta: float = 0.0
    encoder: str | Path | Space | SentenceEncoder = field(default=GLOVE, repr=False)
    tokens: bool = False
    pad_to: int | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.pad_to is not None:
            at_least("pad_to", self.pad_to, 1, MOST_PADDED)
            if not self.tokens:
                raise InvalidArgument(
                    "`pad_to=...` is for vectors of words, `tokens=True`: a document has one "
                    "vector otherwise"
                )
        # What is wrong with the settings is said before anything is loaded.
        build_representation(
            self.noise, size=1, epsilon=self.epsilon, delta=self.delta,
            settings={key: value for key, value in self.settings.items() if key != "dimensions"},
        )  # fmt: skip

    @cached_property
    def encoding(self) -> Encoding:
        """The public encoder, loaded at the first use."""
        return open_encoding(self.encoder)

    @cached_property
    def mechanism(self) -> VectorMechanism:
        """What becomes of one vector."""
        return build_representation(
            self.noise,
            size=self.encoding.size(parts=self.tokens),
            epsilon=self.epsilon,
            delta=self.delta,
            settings=self.settings,
        )

    @property
    def carrier(self) -> Carrier:
        """What a vector stands for."""
        unit = self.encoding.part if self.tokens else DOCUMENT
        return Carrier(unit, self.encoding.name, self.encoding.digest)

    @property
    def randomness(self) -> Randomness:
        """Where noise comes from."""
        return Randomness.secure() if self.seed is None else Randomness.reproducible(self.seed)

    def guarantee(self) -> Guarantee:
        """What is proven about a document, or about a word of it, and what shows."""
        found = self.mechanism.guarantee(self.carrier).not_covering(ENCODER_GAP)
        part = self.encoding.part
        if self.tokens:
            shown = f"how many {part}s a document has"
            padded = PADDED_LEAK.format(part=part)
            found = found.leaking(shown if self.pad_to is None else padded)
        return found if self.seed is None else found.reproducible()

    def embed(self, texts: Sequence[str], randomness: Randomness | None = None) -> Floats:
        """A row for each text; with ``tokens`` and ``pad_to``, as many rows for each."""
        if self.tokens and self.pad_to is None:
            raise InvalidArgument(
                "texts have different numbers of vectors: call `embed_each(texts)`, or give every "
                "text the same number, `pad_to=N`"
            )
        if self.tokens:
            rows = [len(texts), self.pad_to or 0, self.mechanism.outputs]
            each = self.embed_each(texts, randomness)
            return np.stack(each) if each else np.empty(rows)
        draws = self.randomness if randomness is None else randomness
        return self._release(self.encoding.whole(texts), draws)

    def embed_each(
        self, texts: Sequence[str], randomness: Randomness | None = None
    ) -> list[Floats]:
        """The vectors of the words of each text."""
        draws = self.randomness if randomness is None else randomness
        return [self._release(self._parts(one), draws) for one in texts]

    def _release(self, rows: Floats, draws: Randomness) -> Floats:
        return round_to_grain(self.mechanism.release(rows, draws), self._grain)

    @cached_property
    def _grain(self) -> float:
        return grain_of(self.mechanism)

    def _parts(self, text: str) -> Floats:
        found = self.encoding.parts(text, self.pad_to)
        if self.pad_to is None:
            return found
        # A place without a word is drawn for like any other.
        room = np.zeros((self.pad_to - len(found), self.mechanism.size))
        return np.vstack([found, room])

    def public_settings(self) -> dict[str, Any]:
        """All that decides how vectors are drawn, as JSON has it; nothing depends on a text."""
        own = shown_settings(self.mechanism)
        return {
            "representation": self.noise,
            "epsilon": own.pop("epsilon"),
            "delta": own.pop("delta", 0.0),
            "representation_settings": own,
            "noise": self.mechanism.facts(),
            "grain": self._grain,
            "numbers": self.mechanism.outputs,
            "encoder": self.encoding.name,
            "encoder_digest": self.encoding.digest,
            "tokens": self.tokens,
            "pad_to": self.pad_to,
            "reproducible": self.seed is not None,
        }
