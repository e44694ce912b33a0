"""Secret keys for keyed hashes.

Guarantee
    Codes are HMAC-SHA256 under the key. Without the key they look like random numbers: a guess
    cannot be tested, and the codes of two keys cannot be compared.

Why it holds
    A fresh key has 256 bits from the operating system. It appears in no ``repr``, and a pickle does
    not contain it: unpickling draws a fresh key, or reads the key file again. Only the workers of
    one run are given the secret itself, through a pipe.

    Where a key cannot be used, because others must compare the codes or nobody could store it,
    ``salted_digest`` is written instead. It is slow, and a table of guesses made for one salt is
    useless for another. Whoever has the salt can still test guesses, one at a time.

What does not hold
    Anyone who has the key can test guesses, and names are easily guessed. A key from a seed is
    known to anyone who knows the seed. A key file is only as good as its content, and protects
    nothing from those who can read it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidArgument, StorageFailed
from sfumato.core.randomness import Randomness

BYTES = 32
SHORTEST = 16  # bytes of a key file
LONGEST = 4096
COST = 1 << 14  # of scrypt: about 16 MB and a twentieth of a second for each guess


@dataclass(frozen=True, eq=False)
class Key:
    """A secret, and where it came from: ``fresh``, ``file``, ``environment`` or ``seed``."""

    secret: bytes = field(repr=False)
    origin: str = "fresh"
    path: str | None = field(default=None, repr=False)

    @classmethod
    def fresh(cls) -> Key:
        """A new key for one run; it cannot be reproduced."""
        return cls(secrets.token_bytes(BYTES))

    @classmethod
    def from_seed(cls, randomness: Randomness) -> Key:
        """A key that is drawn from a reproducible stream."""
        return cls(bytes(randomness.integers(256, BYTES).tolist()), "seed")

    @classmethod
    def from_file(cls, path: str | Path) -> Key:
        """A key from a file; a line break at the end of the file is not part of it."""
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

    @classmethod
    def from_environment(cls, name: str) -> Key | None:
        """A key from a variable of the environment; None where there is no such variable."""
        given = os.environ.get(name)
        if given is None:
            return None
        secret = os.fsencode(given).rstrip(b"\r\n")
        if not SHORTEST <= len(secret) <= LONGEST:
            raise InvalidArgument(
                f"the key in the environment variable {name} must have {SHORTEST} to {LONGEST} "
                f"bytes; 'openssl rand -hex {BYTES}' makes a good one"
            )
        return cls(secret, "environment")

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
    """A random salt for a digest, as hexadecimal digits."""
    return secrets.token_hex(16)


def salted_digest(private: str, salt: str) -> str:
    """A digest that is slow on purpose: a pattern or word list is short enough to be guessed."""
    return hashlib.scrypt(private.encode(), salt=bytes.fromhex(salt), n=COST, r=8, p=1).hex()


def _frame(text: str) -> bytes:
    """The text after its length, so that different lists of parts never give the same bytes."""
    data = text.encode("utf-8", "surrogatepass")  # a name may be no text: a file's, an account's
    return len(data).to_bytes(8, "big") + data
