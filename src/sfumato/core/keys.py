"""Secret keys for keyed hashes.

Guarantee
    Codes are HMAC-SHA256 under the key. Without the key they look like random numbers: a guess
    cannot be tested, and the codes of two keys cannot be compared.

Why it holds
    A fresh key has 256 bits from the operating system. It stands in no representation, and a copy
    of an object never carries it along: pickling draws a fresh one, or reads the file again. Only
    the workers of one run are handed the secret itself, through a pipe.

    Where there is no place for a key, because others must compare the codes or nobody could keep
    one, ``salted_digest`` is what may be written down: it is slow, and a table of guesses is of no
    use for the next salt. Whoever has the salt can still test guesses, one at a time.

What does not hold
    Anyone who has the key can test guesses, and names are easily guessed. A key from a seed is
    known to anyone who knows the seed. A key file is as good as what was put into it and as who can
    read it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidArgument, StorageFailed
from sfumato.core.randomness import Randomness

BYTES = 32
SHORTEST = 16  # bytes of a key file
LONGEST = 4096


@dataclass(frozen=True, eq=False)
class Key:
    """A secret, and where it came from: ``fresh``, ``file`` or ``seed``."""

    secret: bytes = field(repr=False)
    origin: str = "fresh"
    path: str | None = field(default=None, repr=False)

    @classmethod
    def fresh(cls) -> Key:
        """A new key for one run; nobody can make it again."""
        return cls(secrets.token_bytes(BYTES))

    @classmethod
    def from_seed(cls, randomness: Randomness) -> Key:
        """The key that belongs to a reproducible stream."""
        return cls(bytes(randomness.integers(256, BYTES).tolist()), "seed")

    @classmethod
    def from_file(cls, path: str | Path) -> Key:
        """A key that is kept; a line break at the end of the file is not part of it."""
        file = Path(path)
        if file.exists() and not file.is_file():
            # A pipe can be read once only, and each worker of a run reads the key again.
            raise StorageFailed(f"cannot read the key from {path}: it is not an ordinary file")
        try:
            with file.open("rb") as opened:
                secret = opened.read(LONGEST + 1).rstrip(b"\r\n")
        except OSError as error:
            raise StorageFailed(f"cannot read the key from {path}: {error.strerror}") from None
        if not SHORTEST <= len(secret) <= LONGEST:
            raise InvalidArgument(
                f"the key in {path} must have {SHORTEST} to {LONGEST} bytes; "
                f"'openssl rand -hex {BYTES} > {path}' makes a good one"
            )
        return cls(secret, "file", str(path))

    @property
    def lasts(self) -> bool:
        """Whether another run can have the same key."""
        return self.origin != "fresh"

    def code(self, *parts: str) -> str:
        """Hexadecimal digits that are the same for the same parts under the same key."""
        framed = b"".join(_frame(part) for part in parts)
        return hmac.digest(self.secret, framed, "sha256").hex()

    def __reduce__(self) -> tuple[Any, tuple[str, ...]]:
        return (Key.fresh, ()) if self.path is None else (Key.from_file, (self.path,))


def fresh_salt() -> str:
    """Hexadecimal digits that no other digest has been made with."""
    return secrets.token_hex(16)


def salted_digest(private: str, salt: str) -> str:
    """A digest that is slow on purpose: a pattern or word list is short enough to be guessed."""
    return hashlib.scrypt(private.encode(), salt=bytes.fromhex(salt), n=2**14, r=8, p=1).hex()


def _frame(text: str) -> bytes:
    """The text with its length, so that no two lists of parts look the same."""
    data = text.encode()
    return len(data).to_bytes(8, "big") + data
