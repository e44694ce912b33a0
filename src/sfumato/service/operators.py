"""Presidio's operators: ``replace``, ``redact``, ``mask``, ``hash`` and ``keep``.

Guarantee
    ``replace`` and ``redact`` put in what does not depend on the original; only the type and the
    place show. Of ``mask``, ``hash`` and ``keep`` nothing is proven: they leave letters, let
    guesses be tested, or leave all of it.

Care
    ``redact`` takes a stretch out, as Presidio does; the mechanism of that name masks it by its
    type. ``hash`` has a salt that is drawn for each request and forgotten, so that no table of
    hashes finds anything; equal stretches of one request have equal hashes.

Reference
    The anonymizers of Microsoft Presidio, https://microsoft.github.io/presidio.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, independent, no_guarantee
from sfumato.mechanisms.redact import TYPE_LEAK
from sfumato.text.span import Stretch

NAMES = ("hash", "keep", "mask", "redact", "replace")
# What they are called there, and why they are not here.
REFUSED = {
    "encrypt": "what is encrypted can be undone by whoever has the key, which a request would show",
    "custom": "code of a caller is not run",
}


@dataclass(frozen=True, kw_only=True)
class Replace:
    """A fixed text, or the type in pointed brackets; an empty text takes the stretch out."""

    new_value: str | None = None

    def guarantee(self) -> Guarantee:
        """It does not depend on the original; the type shows."""
        return independent().leaking(TYPE_LEAK)

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        """The same for every stretch of a type."""
        if self.new_value is None:
            return [f"<{one.label}>" for one in stretches]
        return [self.new_value] * len(stretches)


@dataclass(frozen=True, kw_only=True)
class MaskLetters:
    """Some letters, from the beginning or from the end, become a sign; the others stay."""

    sign: str = "*"
    count: int | None = None
    from_end: bool = False

    def guarantee(self) -> Guarantee:
        """The length shows, and all letters that are left."""
        return _unproven("the length of what stood there, and all letters that are not masked")

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        """Each stretch with some of its letters masked."""
        return [self._mask(one.text) for one in stretches]

    def _mask(self, text: str) -> str:
        count = len(text) if self.count is None else min(self.count, len(text))
        if self.from_end:
            return text[: len(text) - count] + self.sign * count
        return self.sign * count + text[count:]


@dataclass(frozen=True, kw_only=True)
class Hash:
    """A hash under a salt that is drawn for this request alone."""

    algorithm: str = "sha256"
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def guarantee(self) -> Guarantee:
        """Which stretches are equal shows."""
        return _unproven("which stretches are equal")

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        """Hexadecimal digits."""
        return [
            hashlib.new(self.algorithm, self.salt + one.text.encode()).hexdigest()
            for one in stretches
        ]


@dataclass(frozen=True, kw_only=True)
class Keep:
    """What was found stays as it is."""

    def guarantee(self) -> Guarantee:
        """Nothing is protected."""
        return _unproven("all of what was found")

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        """The originals."""
        return [one.text for one in stretches]


def _unproven(shows: str) -> Guarantee:
    return no_guarantee(unit="stretch", scope="every stretch that was found").leaking(shows)
