"""What a run has spent, written down before it is spent.

Guarantee
    Whatever a run has saved or shown was computed in steps that stand in its ledger, and there are
    never more of them than its plan allows; also if the run was killed at any moment.

Why it holds
    ``charge`` returns when its line is on the disk, and a step's result may leave the process only
    after that. A step that was charged counts as taken, whether or not its result survived: a
    run that goes on begins with the step after the last one charged. A line that was cut off by a
    crash belongs to a charge that never returned, so no result depends on it; whole lines of such
    a charge count.

Care
    Every step has a line of its own, so nothing shows which were saved together, and when.
    A ledger that is deleted, or restored to an older state together with the weights, does not
    know what was spent since.
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
    """The steps of one run; made by ``opened``.

    ``record`` is what the run promised at its start (its plan) and ``saved`` what it has to
    remember to go on (the order of its batches).
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
        """Begin a ledger, or go on with one that was begun under the very same record.

        On going on, ``saved`` is taken from the ledger and what is given here is not used.
        """
        if path.exists() and not resume:
            raise OutputExists(f"{path} exists already; resume the run or choose another folder")
        if resume and not path.exists():
            # Without it nobody knows what was spent: it may not count as nothing.
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
        """Charge steps before their results leave the process; returns the number of all so far."""
        if at_least("steps", steps, 1) > self.left:
            raise BudgetExceeded(
                f"the plan allows {self.allowed:,} steps and {self.charged:,} are charged; "
                f"{steps:,} more would exceed it"
            )
        # A line for each: how many are charged together may follow from how long they took.
        reached = range(self.charged + 1, self.charged + steps + 1)
        self._append(*({"steps": 1, "charged": number} for number in reached))
        self.charged += steps
        return self.charged

    def _begin(self) -> None:
        record = json.loads(json.dumps(self.record))
        head = {"schema": SCHEMA, "record": record, "saved": dict(self.saved)}
        self._append(head | {"check": _check(self.saved)})
        # The name of a new file is on the disk when its folder is.
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
            self._stream = None  # half a line may be there: nothing may be added to it
            raise StorageFailed(f"cannot write {self.path}: {error.strerror}") from None

    def _read(self) -> None:
        if self._stream is None:
            return
        self._stream.seek(0)
        content = self._stream.read()
        whole = content.rfind(b"\n") + 1
        # What a crash cut off was never charged; the next line must not be glued to it.
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
            # Another order of the batches might take a unit twice in an epoch.
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
    """Whether this is what a run remembers: whole numbers by name."""
    return isinstance(saved, dict) and all(
        isinstance(one, int) and one >= 0 for one in saved.values()
    )


def _check(saved: Mapping[str, int]) -> str:
    """A checksum of what was saved, so that damage is noticed; none of it is secret."""
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
