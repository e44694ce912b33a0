"""Where documents come from: a file in some format, or standard input."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from gzip import BadGzipFile
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from sfumato.core.errors import BadInput, InputChanged, InvalidArgument, SfumatoError, StorageFailed
from sfumato.files.chunks import Chunk
from sfumato.files.dialect import BEGINNING, Dialect
from sfumato.files.formats import FORMATS, Format, format_named, of_path
from sfumato.files.layout import Layout
from sfumato.files.output import open_to_read
from sfumato.files.separated import read_off
from sfumato.text.document import Document

LineNumber = Callable[[], int]
_SETTINGS = ("field", "id_field", "encoding", "whole_file", "author_field", "label_field")
_IF_GIVEN = ("group_field", "language_field", "span_field")
_FATES = ("drop", "keep")


@dataclass(frozen=True)
class Stamp:
    """A file's place on its disk, its size and when it was changed: to be compared, in memory.

    The size must never be written down: minus the length of the text that is no secret, it is the
    length of the secret, and there are so few sizes that any digest can be undone by trying all.
    """

    device: int
    number: int
    size: int = field(repr=False)
    changed: int

    @property
    def kept(self) -> list[int]:
        """What may be written down to know the file again: nothing that follows from its text."""
        return [self.number, self.changed]


def _unknown_format(path: Path) -> SfumatoError:
    """What is no file may be a text that somebody took for one: that is not repeated."""
    known = f"`format=...` is one of {', '.join(FORMATS)}"
    try:
        if path.is_dir():
            return StorageFailed(f"{path} is a folder, not a file")
        there = path.exists()
    except (OSError, ValueError):  # too long for a name, say
        there = False
    if there:
        return InvalidArgument(f"cannot tell the format of {path} by its name; {known}")
    return InvalidArgument(
        "there is no such file, and so one cannot tell the format of the input by its name; a "
        f"text goes through a pipe ('-') or to `sfumato.explain(TEXT)`; {known}"
    )


@dataclass(frozen=True)
class Source:
    """A file (or standard input, when ``path`` is None), its format and its layout."""

    path: Path | None
    format: Format
    layout: Layout

    def __post_init__(self) -> None:
        layout = self.layout
        if not self.format.has_fields:
            named = [*layout.fields] if len(layout.fields) > 1 else []
            if named := [*named, *layout.drop, *layout.keep]:
                raise InvalidArgument(
                    f"{self.format.name} has no fields: leave out {', '.join(named)}"
                )
        if layout.span_field is not None and not self.format.has_spans:
            raise InvalidArgument(
                f"{self.format.name} has no labeled spans: take JSON lines, with a list of "
                "{start, end, label} in a field of each, or CoNLL"
            )

    @classmethod
    def of(
        cls,
        path: str | Path,
        layout: Layout,
        *,
        file_format: str | None = None,
        like: Path | None = None,
    ) -> Source:
        """From what a user typed; for ``-`` the format is given, else the output's, else text."""
        path = Path(path)
        if path == Path("-"):
            guessed = of_path(like) if like is not None else None
            return cls(
                None,
                format_named(file_format) if file_format else guessed or FORMATS["txt"],
                layout,
            )
        known = format_named(file_format) if file_format else of_path(path)
        if known is None:
            raise _unknown_format(path)
        return cls(path, known, layout)

    @property
    def size(self) -> int | None:
        """Bytes on disk, if that can be known."""
        return self.path.stat().st_size if self.path is not None and self.path.is_file() else None

    @property
    def is_stream(self) -> bool:
        """Whether it is a pipe or a device, which can be read once only."""
        return self.path is None or (self.path.exists() and not self.path.is_file())

    def settings(self) -> dict[str, Any]:
        """How the file is read; nothing here depends on what it holds.

        Only what separates and quotes the cells of a table does, and the output shows it anyway.
        """
        layout = self.layout
        own = {name: getattr(layout, name) for name in _SETTINGS}
        # As JSON gives it back, so that the two can be compared.
        own["field"] = layout.fields[0] if len(layout.fields) == 1 else list(layout.fields)
        own |= {name: list(given) for name in _FATES if (given := getattr(layout, name))}
        own |= {name: given for name in _IF_GIVEN if (given := getattr(layout, name))}
        told = self.format.dialect
        own |= {name: value for name, value in layout.dialect.settings().items() if name in told}
        return {"format": self.format.name} | own

    def refuse_unused(self) -> None:
        """Refuse settings that the format does not have."""
        for name, value in self.layout.dialect.settings().items():
            if name not in self.format.dialect and value != getattr(Dialect(), name):
                raise InvalidArgument(f"{self.format.name} has no {name}: leave out `{name}=...`")
        if not self.format.is_written:
            raise InvalidArgument(
                f"{self.format.name} is read and not written: take JSON lines for a text that "
                "is to be written again"
            )
        if self.layout.live and not self.format.live:
            raise InvalidArgument(f"{self.format.name} cannot be read line by line as it arrives")

    def settled(self) -> Source:
        """The same source, with the dialect read off its beginning, as far as that can be seen."""
        given = self.layout.dialect
        if self.format.name != "csv" or None not in (given.delimiter, given.quote):
            return self
        if self.path is None:
            # Bytes that are looked at here are still there to be read.
            beginning = sys.stdin.buffer.peek(1)  # type: ignore[union-attr]
        elif not self.is_stream:
            with self.path.open("rb") as raw, open_to_read(raw, self.path.suffix) as stream:
                beginning = stream.read(BEGINNING)
        else:
            return self
        dialect = read_off(beginning, self.layout)
        return replace(self, layout=replace(self.layout, dialect=dialect, several=True))

    def claims(self) -> dict[str, Any]:
        """What must be the same for two readings to give the same chunks.

        Not the size: minus the length of the text that is no secret, it is that of the secret.
        """
        return {} if self.path is None else {"input": self.path.stat().st_mtime_ns}

    def stamp(self) -> Stamp | None:
        """What shows that a file was changed or exchanged; pipes and devices have none."""
        if self.path is None:
            return None
        status = self.path.stat()
        if not S_ISREG(status.st_mode):
            return None
        return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def steady(self, chunks: Iterator[Chunk], since: Stamp | None) -> Iterator[Chunk]:
        """The same chunks, as long as the file is the one that it was.

        Only a change that keeps the size, within one tick of the file system's clock, is not seen.
        """
        while True:
            try:
                chunk = next(chunks, None)
            except BadInput:
                self._refuse_change(since)  # that is the reason then, and not the line it names
                raise
            self._refuse_change(since)
            if chunk is None:
                return
            yield chunk

    @contextmanager
    def opened(self) -> Iterator[tuple[Iterator[Chunk], LineNumber]]:
        """The chunks, and a function that says how many bytes were read."""
        with self.content() as (stream, place):
            yield self.chunks(stream), place

    @contextmanager
    def content(self) -> Iterator[tuple[BinaryIO, LineNumber]]:
        """What stands in the file, uncompressed, and how many bytes of the file were read."""
        try:
            raw = sys.stdin.buffer if self.path is None else self.path.open("rb")
        except OSError as error:
            raise StorageFailed(f"cannot read {self.path}: {error.strerror}") from None
        place = raw.tell if self.path is not None and raw.seekable() else lambda: 0
        try:
            with open_to_read(raw, self.path.suffix if self.path else "") as stream:
                yield stream, place
        finally:
            if self.path is not None:
                raw.close()

    def documents(self) -> Iterator[Document]:
        """All documents, one at a time."""
        with self.opened() as (chunks, _):
            for chunk in chunks:
                yield from chunk.documents()

    def _refuse_change(self, since: Stamp | None) -> None:
        try:
            changed = self.stamp() != since
        except OSError:
            changed = True  # it was moved or deleted
        if changed:
            raise InputChanged(
                f"{self.path} was changed, exchanged or moved while it was read; "
                "start again when nobody writes to it"
            )

    def chunks(self, stream: BinaryIO, *, skip: int = 0, before: int = 0) -> Iterator[Chunk]:
        """The chunks of a stream, after so many lines that are not looked at.

        That is for formats that are read by lines; ``before`` counts those that were read already.
        """
        layout = self.layout
        if skip or before:
            layout = replace(layout, skipped=before + skip, several=True)
        try:
            deque(islice(stream, skip), maxlen=0)
            yield from self.format.read(stream, layout)
        except (SfumatoError, BadGzipFile):
            raise
        except OSError as error:
            problem = error.strerror or "reading failed"
        else:
            return
        # Outside the except block: a library's error may carry the content along.
        raise StorageFailed(f"cannot read {self.path or 'standard input'}: {problem}")
