"""Tokens: who may ask for what. A file holds their hashes; a token is shown once, when it is made.

Guarantee
    Whoever reads the file of tokens cannot use the service: a token has 256 random bits, and only
    its SHA-256 is stored. A token that is taken back no longer works from the next request on, and
    one whose time is over does not either.

Why it holds
    No table and no list of guesses reaches 256 random bits, so a slow hash would add nothing. The
    file is read again whenever it has changed. Hashes are compared in constant time.

Rights
    ``analyze`` finds, ``release`` privatizes and charges, ``explain`` shows originals beside
    replacements and charges nothing, ``budget`` reads accounts, ``admin`` opens and closes them
    and reads the metrics. No right includes another.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from sfumato.core.checks import one_of, positive
from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed
from sfumato.core.files import reading, write_whole

PREFIX = "sfumato"
LONGEST_LABEL = 80


class Right(StrEnum):
    """What a token allows."""

    ANALYZE = "analyze"
    RELEASE = "release"
    EXPLAIN = "explain"
    BUDGET = "budget"
    ADMIN = "admin"


@dataclass(frozen=True)
class Token:
    """What is kept of a token."""

    id: str
    label: str
    rights: frozenset[Right]
    digest: str = field(repr=False)
    made: str
    expires: str | None = None

    def allows(self, right: Right, now: datetime) -> bool:
        """Whether it has the right, now."""
        return right in self.rights and not self.is_over(now)

    def is_over(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.expires is not None and now >= datetime.fromisoformat(self.expires)

    def as_dict(self) -> dict[str, Any]:
        """For JSON and for the file; the hash is the file's alone."""
        return {
            "id": self.id,
            "label": self.label,
            "rights": sorted(one.value for one in self.rights),
            "made": self.made,
            "expires": self.expires,
        }


def make_token(label: str, rights: Iterable[str], days: float | None = None) -> tuple[str, Token]:
    """A new token, as it is shown once, and what is kept of it."""
    chosen = frozenset(Right(one_of("rights", one, [r.value for r in Right])) for one in rights)
    if not chosen:
        raise InvalidArgument("a token needs at least one right")
    if len(label) > LONGEST_LABEL or not label.isprintable():
        raise InvalidArgument(f"a label has at most {LONGEST_LABEL} characters on one line")
    now = datetime.now(UTC)
    until = None if days is None else _written(now + timedelta(days=positive("days", days)))
    number = secrets.token_hex(4)
    spelled = f"{PREFIX}_{number}_{secrets.token_urlsafe(32)}"
    kept = Token(number, label, chosen, _digest(spelled), _written(now), until)
    return spelled, kept


class Tokens:
    """The tokens of a service: those of a file, those of this process, or both."""

    def __init__(self, path: Path | None = None, own: Iterable[Token] = ()) -> None:
        self.path = path
        self._own = {one.id: one for one in own}
        self._read: dict[str, Token] = {}
        self._seen: tuple[int, int, int] | None = None
        self._lock = threading.Lock()

    def find(self, spelled: str) -> Token | None:
        """The token that was shown, if it is one of these."""
        parts = spelled.split("_", 2)
        if len(parts) != 3 or parts[0] != PREFIX:
            return None
        known = self._all().get(parts[1])
        if known is None or not hmac.compare_digest(
            known.digest.encode(), _digest(spelled).encode()
        ):
            return None
        return known

    def listed(self) -> list[Token]:
        """All of them, the oldest first."""
        return sorted(self._all().values(), key=lambda one: one.made)

    def add(self, token: Token) -> None:
        """Keep a token in the file."""
        self._write({**self._all(), token.id: token})

    def revoke(self, number: str) -> Token:
        """Take a token back, by the part of it that is no secret."""
        known = self._all()
        if number not in known:
            raise BadInput("there is no token of this number; a list shows those that there are")
        gone = known.pop(number)
        self._write(known)
        return gone

    def _all(self) -> dict[str, Token]:
        with self._lock:
            self._refresh()
            return {**self._read, **self._own}

    def _refresh(self) -> None:
        if self.path is None:
            return
        try:
            state = self.path.stat()
        except FileNotFoundError:
            self._read, self._seen = {}, None
            return
        except OSError as error:
            raise StorageFailed(f"cannot read {self.path}: {error.strerror}") from None
        seen = state.st_mtime_ns, state.st_size, state.st_ino
        if seen != self._seen:
            self._read, self._seen = _load(self.path), seen

    def _write(self, tokens: dict[str, Token]) -> None:
        if self.path is None:
            raise InvalidArgument("these tokens are in no file")
        kept = [
            one.as_dict() | {"sha256": one.digest}
            for one in tokens.values()
            if one.id not in self._own
        ]
        content = json.dumps({"tokens": kept}, indent=2) + "\n"
        try:
            write_whole(self.path, content.encode(), private=True)
        except OSError as error:
            raise StorageFailed(f"cannot write {self.path}: {error.strerror}") from None


def _load(path: Path) -> dict[str, Token]:
    with reading(path, "a file of tokens"):
        found = {}
        for one in json.loads(path.read_bytes())["tokens"]:
            expires = one["expires"]
            if expires is not None and datetime.fromisoformat(expires).tzinfo is None:
                raise ValueError("a time without a zone is no moment")
            rights = frozenset(Right(right) for right in one["rights"])
            number = str(one["id"])
            found[number] = Token(
                number, str(one["label"]), rights, str(one["sha256"]), str(one["made"]), expires
            )
        return found
    raise AssertionError("unreachable")


def _digest(spelled: str) -> str:
    return hashlib.sha256(spelled.encode("utf-8", "surrogatepass")).hexdigest()


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
