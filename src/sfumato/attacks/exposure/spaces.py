"""The space of secrets: everything a canary's secret could have been.

A pattern writes it down: ``#`` stands for any digit, ``@`` for any small letter from a to z, every
other character for itself. The law of chance holds only if the secret was drawn uniformly from
this space, as ``sfumato data canaries`` draws it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase, digits

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary

SLOTS = {"#": digits, "@": ascii_lowercase}


@dataclass(frozen=True)
class SecretSpace:
    """All secrets of a pattern, numbered from 0 in dictionary order.

    >>> space = SecretSpace("###")
    >>> space.size, space.secret(7), space.number("007")
    (1000, '007', 7)
    >>> SecretSpace("##-@").secret(27)
    '01-b'
    """

    pattern: str

    def __post_init__(self) -> None:
        if not self._alphabets:
            raise InvalidArgument(
                f"pattern={self.pattern!r} must hold # (any digit) or @ (any small letter)"
            )

    @classmethod
    def of(cls, canary: Canary, pattern: str = "") -> SecretSpace:
        """The space of a canary: all numbers of as many digits, or that of the pattern."""
        if canary.secret_space is not None:
            return cls("#" * len(canary.secret))
        if pattern and cls(pattern).matches(canary.secret):
            return cls(pattern)
        why = f"does not fit pattern={pattern!r}" if pattern else "is not a number"
        raise InvalidArgument(
            f"the secret in {canary.template!r} {why}, so it is not known what else it could have "
            "been: say how it was drawn, such as `settings={'pattern': '##-@@@@'}`, where # is any "
            "digit and @ any letter from a to z; or plant numbers"
        )

    @cached_property
    def _alphabets(self) -> list[str]:
        return [SLOTS[character] for character in self.pattern if character in SLOTS]

    @cached_property
    def size(self) -> int:
        """How many secrets there are."""
        return math.prod(len(alphabet) for alphabet in self._alphabets)

    @property
    def bits(self) -> float:
        """The largest exposure there can be."""
        return math.log2(self.size)

    def matches(self, secret: str) -> bool:
        """Whether a secret belongs to the space."""
        return len(secret) == len(self.pattern) and all(
            given in SLOTS.get(wanted, wanted)
            for given, wanted in zip(secret, self.pattern, strict=True)
        )

    def secret(self, number: int) -> str:
        """The secret of that number."""
        chosen: list[int] = []
        for alphabet in reversed(self._alphabets):
            number, place = divmod(number, len(alphabet))
            chosen.append(place)
        return self._filled(chosen[::-1])

    def number(self, secret: str) -> int:
        """The number of a secret."""
        found = 0
        for given, wanted in zip(secret, self.pattern, strict=True):
            if wanted in SLOTS:
                found = found * len(SLOTS[wanted]) + SLOTS[wanted].index(given)
        return found

    def drawn(self, count: int, randomness: Randomness) -> list[str]:
        """Independent secrets, each uniform over the space; one may come twice."""
        columns = [randomness.integers(len(one), count).tolist() for one in self._alphabets]
        return [self._filled(places) for places in zip(*columns, strict=True)]

    def corners(self) -> list[str]:
        """A few secrets of which any two differ in every slot, one for each digit or letter."""
        most = max(len(alphabet) for alphabet in self._alphabets)
        return [
            self._filled([place % len(one) for one in self._alphabets]) for place in range(most)
        ]

    def _filled(self, places: Sequence[int]) -> str:
        rest = iter(zip(self._alphabets, places, strict=True))
        parts = []
        for character in self.pattern:
            if character in SLOTS:
                alphabet, place = next(rest)
                parts.append(alphabet[place])
            else:
                parts.append(character)
        return "".join(parts)
