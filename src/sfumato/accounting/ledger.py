"""The ledger of a run: every step is recorded before its result is used.

Guarantee
    Everything that a run has saved or shown was computed in steps recorded in its ledger, and there
    are never more steps than its plan allows, even if the run was killed at any moment.

Why it holds
    ``charge`` returns when its line is on the disk, and a step's result may leave the process only
    after that. A charged step counts as taken, whether or not its result survived: a resumed run
    begins with the step after the last one charged. A line that was cut off by a crash belongs to a
    charge that never returned, so no result depends on it; complete lines of such a charge count.

Care
    Every step has its own line, so the ledger does not show which steps were saved together, or
    when. If a ledger is deleted, or restored to an older state together with the weights, what was
    spent since is not known.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.core.checks import at_least
from sfumato.core.errors import (
    BudgetExceeded,
    CannotResume,
    MalformedRecord,
    OutputExists,
    StorageFailed,
)
from sfumato.core.json import update_names

SCHEMA = 1


@dataclass
class Ledger:
    """The steps of one run; open it with ``opened``.

    ``record`` describes the run (its plan and seed), and ``saved`` is what it needs to resume (the
    order of its batches).
    """

    path: Path
    allowed: int
    record: Mapping[str, Any]
    saved: Mapping[str, int]
    charged: int = 0
    _stream: BinaryIO | None = field(default=None, repr=False)

    @classmethod
    @contextlib.contextmanager
    def opened(
        cls,
        path: Path,
        *,
        allowed: int,
        record: Mapping[str, Any],
        saved: Mapping[str, int],
        resume: bool = False,
    ) -> Iterator[Ledger]:
        """Begin a ledger, or resume one that was begun with the same record.

        On resuming, ``saved`` is read from the ledger, and the value given here is ignored.
        """
        if path.exists() and not resume:
            raise OutputExists(f"{path} exists already; resume the run or choose another folder")
        if resume and not path.exists():
            # Without a ledger it is not known what was spent; it must not count as nothing.
            raise CannotResume(f"there is no {path}, so what was spent is unknown; start a new run")
        at_least("allowed", allowed, 1)
        with _open(path) as stream:
            _hold(stream, path)
            ledger = cls(path, allowed, dict(record), dict(saved), _stream=stream)
            ledger._begin() if stream.tell() == 0 else ledger._read()
            yield ledger
            ledger._stream = None

    @property
    def left(self) -> int:
        """How many steps may still be taken."""
        return self.allowed - self.charged

    def charge(self, steps: int = 1) -> int:
        """Charge steps before their results leave the process; the number of all charged so far."""
        if at_least("steps", steps, 1) > self.left:
            raise BudgetExceeded(
                f"the plan allows {self.allowed:,} steps and {self.charged:,} are charged; "
                f"{steps:,} more would exceed it"
            )
        # One line per step: the number of steps charged together may depend on how long they took.
        reached = range(self.charged + 1, self.charged + steps + 1)
        self._append(*({"steps": 1, "charged": number} for number in reached))
        self.charged += steps
        return self.charged

    def _begin(self) -> None:
        record = json.loads(json.dumps(self.record))
        head = {"schema": SCHEMA, "record": record, "saved": dict(self.saved)}
        self._append(head | {"check": _check(self.saved)})
        # The name of a new file is on the disk only after its folder was synced.
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _append(self, *lines: Mapping[str, Any]) -> None:
        if self._stream is None:
            raise BudgetExceeded("the ledger is closed; nothing can be charged")
        try:
            self._stream.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            self._stream = None  # a partial line may be there: nothing may be appended to it
            raise StorageFailed(f"cannot write {self.path}: {error.strerror}") from None

    def _read(self) -> None:
        if self._stream is None:
            return
        self._stream.seek(0)
        content = self._stream.read()
        whole = content.rfind(b"\n") + 1
        # A line that a crash cut off was never charged; the next line must not be appended to it.
        self._stream.truncate(whole)
        if whole == 0:
            self._begin()
            return
        head, *lines = content[:whole].splitlines()
        self._compare(update_names(_parse(head, 1)))
        for number, line in enumerate(lines, start=2):
            self._count(_parse(line, number), number)

    def _compare(self, head: Mapping[str, Any]) -> None:
        if head.get("schema") != SCHEMA or not _countable(head.get("saved")):
            raise MalformedRecord(f"{self.path} is not a ledger that this version can read")
        if head["saved"] and head.get("check") != _check(head["saved"]):
            # With another order of the batches, a unit might be used twice in an epoch.
            raise MalformedRecord("line 1 of the ledger is damaged; do not go on")
        asked = json.loads(json.dumps(self.record))
        if head.get("record") != asked:
            raise CannotResume(
                f"{self.path} belongs to a run with another {_difference(head, asked)}; "
                "resume with the same, or start a new run in another folder"
            )
        self.saved = head["saved"]

    def _count(self, line: Mapping[str, Any], number: int) -> None:
        steps, charged = line.get("steps"), line.get("charged")
        if not isinstance(steps, int) or steps < 1 or charged != self.charged + steps:
            raise MalformedRecord(f"line {number} of the ledger does not add up; do not go on")
        self.charged += steps
        if self.charged > self.allowed:
            raise MalformedRecord(
                f"line {number} of the ledger exceeds the {self.allowed:,} steps of its plan; do "
                "not go on"
            )


def _countable(saved: object) -> bool:
    """Whether this can be what a run saves: whole numbers by name."""
    return isinstance(saved, dict) and all(
        isinstance(one, int) and one >= 0 for one in saved.values()
    )


def _check(saved: Mapping[str, int]) -> str:
    """A checksum that detects damage; nothing of what is saved is secret."""
    return sha256(json.dumps(dict(saved), sort_keys=True).encode()).hexdigest()[:16]


def _difference(head: Mapping[str, Any], asked: dict[str, Any]) -> str:
    """What differs between two records: the plan of a run, or its seed."""
    begun = head.get("record")
    if isinstance(begun, dict) and begun | {"seed": None} == asked | {"seed": None}:
        return "seed"
    return "plan"


def _parse(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise MalformedRecord(f"line {number} of the ledger is not a record; do not go on")
    return value


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("a+b")
    except OSError as error:
        raise StorageFailed(f"cannot write {path}: {error.strerror}") from None


def _hold(stream: BinaryIO, path: Path) -> None:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CannotResume(f"{path} is in use by another run") from None
