"""The chunks of a file by their numbers, for workers that are told a number and not a text.

Where a chunk ends depends on the file alone, so every worker cuts the same ones. A chunk cannot be
found without reading up to it. Where every line means the same whatever stands before it (plain
text, JSON lines), and somebody says after how many lines the chunk begins, those lines are passed
over unread, hundreds of megabytes in a second. Otherwise a worker cuts all chunks up to its own, so
that each worker cuts the whole file once. Who is asked for an earlier chunk begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

from sfumato.core.errors import InputChanged, InvalidArgument
from sfumato.files.chunks import Chunk, TextChunk
from sfumato.files.source import Source, Stamp


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


def lines_before(source: Source, chunk: Chunk) -> int | None:
    """After how many lines a chunk begins, if that is enough to find it."""
    if not source.format.by_lines or not isinstance(chunk, TextChunk):
        return None
    return chunk.lines[0]


class Cutter:
    """Gives the chunk of a number, as long as the file is the one that it was."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._opened = ExitStack()
        self._stamp: Stamp | None = None
        self._stream: BinaryIO | None = None
        self._lines = 0  # that were read
        self._next = 0  # the number of the next chunk, if all before it were cut
        self._chunks: Iterator[Chunk] | None = None

    def take(self, index: int, after: int | None = None) -> Chunk:
        """The chunk of that number, which begins ``after`` so many lines, if that is known."""
        return self._along(index) if after is None else self._after(after)

    def _after(self, lines: int) -> Chunk:
        source = self._cut.source
        if self._stream is None or self._chunks is not None or lines < self._lines:
            self._open()
        assert self._stream is not None  # noqa: S101  # it was opened
        before = self._lines
        chunks = source.chunks(self._stream, skip=lines - before, before=before)
        chunk = next(source.steady(chunks, self._stamp), None)
        if not isinstance(chunk, TextChunk):
            raise self._cut.changed()
        self._lines = chunk.lines[1]
        return chunk

    def _along(self, index: int) -> Chunk:
        if self._chunks is None or index < self._next:
            self._open()
            assert self._stream is not None  # noqa: S101
            source = self._cut.source
            self._chunks = source.steady(source.chunks(self._stream), self._stamp)
        for chunk in self._chunks:
            self._next += 1
            if self._next > index:
                return chunk
        raise self._cut.changed()

    def _open(self) -> None:
        self._opened.close()
        source = self._cut.source
        try:
            self._stamp = source.stamp()
        except OSError:
            self._stamp = None
        if self._stamp is None or self._stamp.kept != self._cut.known:
            raise self._cut.changed()
        self._stream, _ = self._opened.enter_context(source.content())
        self._chunks, self._lines, self._next = None, 0, 0
