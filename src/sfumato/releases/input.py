"""The input of a job: what shows that it stayed the same, and what of that may be written down.

What these marks tell
    When a private file was last changed, and which file of its disk it is, tells nothing about its
    text. It is still nobody's business: it dates the data, and links outputs of one input. Among
    the parts of an unfinished run, which stay with the input, it stands as it is. What is passed on
    beside an output holds a slow digest of it under a salt of its own: whoever has the input can
    compare the two, and whoever has not would have to guess the moment to the nanosecond and the
    number of the file on its disk. Of the size nothing is written anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sfumato.core.keys import fresh_salt, salted_digest
from sfumato.files.chunks import Chunk
from sfumato.files.source import LineNumber, Source, Stamp


@dataclass(frozen=True, slots=True)
class Input:
    """The source as it was when the job began."""

    source: Source
    stamp: Stamp | None
    changed: int | None

    @classmethod
    def of(cls, source: Source) -> Input:
        """Look at it."""
        return cls(source, source.stamp(), source.claims().get("input"))

    @property
    def kept(self) -> list[int] | int | None:
        """What is written among the parts to know it again: nothing about its text."""
        return self.changed if self.stamp is None else self.stamp.kept

    def mark(self) -> dict[str, str] | None:
        """What is passed on with the output to know it again; pipes and devices have none."""
        if self.stamp is None:
            return None
        salt = fresh_salt()
        return {"salt": salt, "mark": self._digest(salt)}

    def is_marked(self, found: object) -> bool:
        """Whether such a mark is that of this input."""
        if not isinstance(found, dict) or not isinstance(salt := found.get("salt"), str):
            return found is None and self.stamp is None
        with suppress(ValueError):  # a salt that is none
            return self.stamp is not None and found.get("mark") == self._digest(salt)
        return False

    def _digest(self, salt: str) -> str:
        return salted_digest(json.dumps(self.kept), salt)

    @contextmanager
    def opened(self) -> Iterator[tuple[Iterator[Chunk], LineNumber]]:
        """Its chunks, as long as it stays what it was: no output may mix two inputs."""
        with self.source.opened() as (chunks, place):
            yield self.source.steady(chunks, self.stamp), place
