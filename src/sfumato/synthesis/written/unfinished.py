"""What a model has written so far, so that a long run can go on.

``OUT.writing`` has the settings in its first line and then a line for each batch. A batch is on the
disk before the next one is drawn, and its draws depend on its number alone: under a seed, a run
that went on gives what one without a break gives. A line that a crash cut off is written again. The
texts come from a model that has its guarantee, so the file has it, too; it is removed at the end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput, CannotResume, OutputExists, StorageFailed

SCHEMA = 1


@dataclass(frozen=True)
class Batch:
    """Texts of one label that were kept, and how many were drawn for them."""

    label: int
    drawn: int
    texts: tuple[str, ...]

    @classmethod
    def read(cls, line: bytes) -> Batch:
        """From a line of the file."""
        told = json.loads(line)
        return cls(int(told["label"]), int(told["drawn"]), tuple(map(str, told["texts"])))


@dataclass
class Unfinished:
    """The batches of a run; ``saved`` is what was drawn for it once (label counts with noise)."""

    path: Path
    settings: Mapping[str, Any]
    saved: dict[str, Any] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)

    @classmethod
    def beside(
        cls, output: Path, settings: Mapping[str, Any], *, resume: bool, overwrite: bool
    ) -> Unfinished:
        """What there is of a run with these settings; nothing, for a new one."""
        path = output.with_name(f"{output.name}.writing")
        found = cls(path, json.loads(json.dumps(settings)))
        if path.exists() and resume:
            found._read()
        elif path.exists() and not overwrite:
            raise OutputExists(
                f"{path} holds what a run has written so far; `resume=True` goes on with it, and "
                "`overwrite=True` begins anew"
            )
        return found

    @property
    def begun(self) -> bool:
        """Whether an earlier run has begun it."""
        return bool(self.saved)

    def begin(self, saved: Mapping[str, Any]) -> None:
        """Write the head of a new file."""
        self.saved = dict(saved)
        head = {"schema": SCHEMA, "settings": self.settings, "saved": self.saved}
        self._write(json.dumps(head), fresh=True)

    def add(self, batch: Batch) -> None:
        """Write a batch, and wait until it is on the disk."""
        told = {"label": batch.label, "drawn": batch.drawn, "texts": list(batch.texts)}
        self._write(json.dumps(told, ensure_ascii=False), fresh=False)
        self.batches.append(batch)

    def remove(self) -> None:
        """Remove the file: all of it stands in the corpus."""
        self.path.unlink(missing_ok=True)

    def _write(self, line: str, *, fresh: bool) -> None:
        try:
            with self.path.open("wb" if fresh else "ab") as stream:
                stream.write(line.encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise StorageFailed(f"cannot write {self.path}: {error.strerror}") from None

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if not whole:
            return
        try:
            head, *lines = content[:whole].splitlines()
            told = json.loads(head)
            known, self.saved = told["settings"], dict(told["saved"])
            self.batches = [Batch.read(line) for line in lines]
        except (ValueError, LookupError, TypeError, AttributeError):
            raise BadInput(f"{self.path} is damaged; remove it and begin anew") from None
        if told.get("schema") != SCHEMA or known != self.settings:
            raise CannotResume(
                f"{self.path} belongs to a run with other settings or another model; resume with "
                "the same, or begin anew with `overwrite=True`"
            )
        os.truncate(self.path, whole)
