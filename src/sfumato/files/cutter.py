"""The chunks of a file by their numbers, for workers that are told a number and not a text.

Where a chunk ends depends on the file alone, so every worker cuts the same ones. A chunk cannot be
found without reading up to it: a worker reads on from where it is, and from the beginning only if
it is asked for an earlier one. So each worker reads and cuts the whole file once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

from sfumato.core.errors import InputChanged, InvalidArgument
from sfumato.files.chunks import Chunk
from sfumato.files.source import Source


@dataclass(frozen=True)
class Cut:
    """A file that is cut elsewhere, and what it is known by: its number and time of change.

    Not its size: minus the length of the text that is no secret, it is that of the secret.
    """

    source: Source
    known: list[int]

    @classmethod
    def of(cls, source: Source) -> Cut:
        """The file as it is now."""
        stamp = None if source.is_stream else source.stamp()
        if stamp is None:
            raise InvalidArgument(
                "workers elsewhere read the input themselves: name a file, not a pipe, or leave "
                "out `engine=...`"
            )
        return cls(source, stamp.kept)

    @cached_property
    def cutter(self) -> Cutter:
        """The file, opened once in each process."""
        return Cutter(self)

    def changed(self) -> InputChanged:
        """What to say if it is not the same any more."""
        return InputChanged(
            f"{self.source.path} was changed, exchanged or moved while it was read, or is another "
            "file on another node; start again when nobody writes to it"
        )


class Cutter:
    """Gives the chunk of a number, as long as the file is the one that it was."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._reached = -1
        self._opened = ExitStack()
        self._chunks: Iterator[Chunk] = iter(())

    def take(self, index: int) -> Chunk:
        """The chunk of that number."""
        if not 0 <= self._reached <= index:
            self._open()
        for chunk in self._chunks:
            self._reached += 1
            if self._reached > index:
                return chunk
        raise self._cut.changed()

    def _open(self) -> None:
        self._opened.close()
        source = self._cut.source
        try:
            stamp = source.stamp()
        except OSError:
            stamp = None
        if stamp is None or stamp.kept != self._cut.known:
            raise self._cut.changed()
        chunks, _ = self._opened.enter_context(source.opened())
        self._chunks = source.steady(chunks, stamp)
        self._reached = 0
