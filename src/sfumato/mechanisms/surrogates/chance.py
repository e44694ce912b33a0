"""Uniform draws for surrogates, from a stream of randomness or from a key.

Guarantee
    ``Chance.of`` is exactly uniform: it draws from ``Randomness`` and from nothing else.
    ``Chance.keyed`` gives the same draws for the same key and parts, and looks uniform and
    independent of the parts to anyone without the key, as far as HMAC-SHA256 is pseudorandom.

Why it holds
    A keyed draw is a number of 256 bits, reduced: of fewer than 2^64 options each is as likely as
    any other up to a factor of 1 + 2^-192.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from sfumato.core.keys import Key
from sfumato.core.randomness import Randomness


@dataclass(frozen=True)
class Chance:
    """Draws from public sets; ``below(n)`` gives 0 … n − 1, each as likely as any other."""

    below: Callable[[int], int]

    @classmethod
    def of(cls, randomness: Randomness) -> Chance:
        """Draws from a stream."""
        return cls(randomness.below)

    @classmethod
    def keyed(cls, key: Key, *parts: str) -> Chance:
        """The draws that belong to these parts under a key."""
        numbers = count()
        return cls(lambda high: int(key.code(*parts, str(next(numbers))), 16) % high)

    def pick(self, options: Sequence[str]) -> str:
        """One of the options."""
        return options[self.below(len(options))]

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def fill(self, layout: str) -> str:
        """The layout with a digit for each ``0``, a capital for ``A``, a small letter for ``a``.

        >>> from sfumato.core.randomness import Randomness
        >>> filled = Chance.of(Randomness.secure()).fill("AA-000")
        >>> filled[:2].isupper(), filled[2], filled[3:].isdigit()
        (True, '-', True)
        """
        return "".join(
            self.pick(_ALPHABETS[sign]) if sign in _ALPHABETS else sign for sign in layout
        )

    def digits(self, length: int) -> str:
        """So many digits."""
        return self.fill("0" * length)


_ALPHABETS = {"0": string.digits, "A": string.ascii_uppercase, "a": string.ascii_lowercase}
