"""Write a document anew from its vector with noise: a public autoencoder reads, and writes.

Guarantee
    Any two documents are told apart by a factor of at most exp(ε), and with a ``delta`` where that
    allows for less noise, up to a probability of δ. Nothing else shows, not even how long a
    document is.

Why it holds
    The public autoencoder reads a document's first words and gives one vector of k numbers. That is
    clipped to a public ball or box, and gets noise of its own on every coordinate for the diameter
    of that set (``latent_law.py``). All that follows sees the noisy vector alone: the likeliest
    word after the other is written, up to a public number of words. Where that text ends is decided
    by the noisy vector, too.

    How far vectors reach, ``clip_norm`` and ``clip_width``, stands in the folder and was taken from
    the public text that the autoencoder learned from; the number of words that are read stands
    there as well. None of it may be taken from the documents.

Care
    A vector of one text needs room: at levels below a hundred what is written is fluent, and about
    something else. What the autoencoder learned from is in every output, so that text must be
    public. Numbers have 53 bits, so the statement holds for the real-valued law of the noise.

Reference
    Krishna, Gupta and Dupuy 2021, "ADePT: Auto-encoder based differentially private text
    transformation", whose clipping Habernal 2021 has shown to be off by √k and more; Igamberdiev
    and Habernal 2023, "DP-BART for privatized text rewriting under local differential privacy";
    Weggenmann et al. 2022, "DP-VAE: Human-readable text anonymization for online reviews with
    differentially private variational autoencoders".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from sfumato.core.checks import at_least, between, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.mechanism import PointMechanism, check_level
from sfumato.mechanisms.rewriting.latent_law import GAUSSIAN, KINDS, LatentLaw, OnDiameter
from sfumato.models.autoencoder import Autoencoder, load_autoencoder
from sfumato.policies.identity import Identity

MODEL_GAP = "the text that the autoencoder learned from, which must be public"
MOST_TOKENS = 10_000
_NOT_COPIED = ("autoencoder", "law")


@dataclass(frozen=True, kw_only=True)
class Latent:
    """Write each document anew with the autoencoder in the folder ``model``.

    ``epsilon`` is the level of one document. Without ``delta`` the noise is ``gamma`` and the level
    pure; with it the smaller of ``gamma`` and ``gaussian``, unless ``noise`` names one. ``tokens``
    is the most words of an output, as many as the autoencoder reads if it is not given.
    ``clip_norm`` and ``clip_width`` are the length and the coordinate to which vectors are clipped,
    those of the folder if they are not given; the one with the smaller diameter is taken.
    """

    model: FileToRead = field(default="", repr=False)
    epsilon: float | None = None
    delta: float = 0.0
    noise: str = ""
    tokens: int | None = None
    clip_norm: float | None = None
    clip_width: float | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidArgument(
                "a public autoencoder is needed: name its folder, `settings={'model': FOLDER}`; "
                "scripts/build_autoencoder.py makes one from public text"
            )
        if self.epsilon is None:
            raise InvalidArgument("epsilon is missing: give the level of a document, `epsilon=...`")
        check_level(self.epsilon)
        if between("delta", self.delta, 0.0, 1.0) >= 1.0:
            raise InvalidArgument(f"delta={self.delta:g} must be smaller than 1")
        if self.noise:
            one_of("noise", self.noise, KINDS)
        if self.noise == GAUSSIAN and not self.delta:
            raise InvalidArgument(
                "Gaussian noise proves nothing without a delta: give `settings={'delta': 1e-6}`"
            )
        if self.tokens is not None:
            at_least("tokens", self.tokens, 1, MOST_TOKENS)
        for name in ("clip_norm", "clip_width"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))

    @cached_property
    def autoencoder(self) -> Autoencoder:
        """The model, loaded at the first use."""
        return _autoencoder(self.model)

    @cached_property
    def law(self) -> LatentLaw:
        """What one vector becomes."""
        shape = self.autoencoder.shape
        return LatentLaw.of(
            size=shape.size,
            clip_norm=shape.clip_norm if self.clip_norm is None else float(self.clip_norm),
            clip_width=shape.clip_width if self.clip_width is None else float(self.clip_width),
            epsilon=float(self.epsilon or 0.0),
            delta=self.delta,
            kind=self.noise,
        )

    @property
    def most(self) -> int:
        """The most words of an output."""
        return self.autoencoder.shape.tokens if self.tokens is None else self.tokens

    def guarantee(self) -> Guarantee:
        """The level of one document."""
        law, shape = self.law, self.autoencoder.shape
        scope = (
            f"every document, its first {shape.tokens:,} words read as a vector of {law.size:,} "
            f"numbers, clipped to a {law.shape} of diameter {law.diameter:.4g}, and at most "
            f"{self.most:,} words written from that vector with {law.kind} noise"
        )
        return law.guarantee(scope).not_covering(MODEL_GAP)

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        """One new text for each document, with noise of its own."""
        return [self._written(one, randomness.stream(n)) for n, one in enumerate(documents)]

    def points(self) -> tuple[PointMechanism, ...]:
        """The law on the longest line through the set of vectors, as a mechanism on points."""
        return (OnDiameter(law=self.law),)

    def public_facts(self) -> dict[str, Any]:
        """What may be told of the autoencoder and the noise: they are public."""
        return {
            "model": self.autoencoder.name,
            "model_digest": self.autoencoder.digest,
            "vector_size": self.law.size,
            "clipped_to": self.law.shape,
            "diameter": self.law.diameter,
            "noise": self.law.kind,
            "noise_scale": self.law.scale,
            "tokens": self.most,
        }

    def identity(self) -> Identity:
        """All that decides how it draws; the autoencoder is public."""
        law = self.law
        numbers = (law.epsilon, law.delta, law.reach, law.scale, float(self.most))
        decides = (law.shape, law.kind, self.autoencoder.digest)
        return Identity((type(self).__qualname__, numbers, decides))

    def __getstate__(self) -> dict[str, Any]:
        # A model may be large: whoever gets a copy reads it again.
        return {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}

    def _written(self, document: str, randomness: Randomness) -> str:
        noisy = self.law.release(self.autoencoder.encode(document), randomness)
        # Only the noisy vector goes on from here.
        return self.autoencoder.decode(noisy, self.most)


@lru_cache(maxsize=1)
def _autoencoder(folder: str) -> Autoencoder:
    return load_autoencoder(Path(folder))
