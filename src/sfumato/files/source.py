"""Where documents come from: a file in some format, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from gzip import BadGzipFile
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from sfumato.core.errors import BadInput, InputChanged, InvalidArgument, SfumatoError, StorageFailed
from sfumato.files.chunks import Chunk
from sfumato.files.formats import FORMATS, Format, format_named, of_path
from sfumato.files.layout import Layout
from sfumato.files.output import open_to_read
from sfumato.text.document import Document

LineNumber = Callable[[], int]


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


@dataclass(frozen=True)
class Source:
    """A file (or standard input, when ``path`` is None), its format and its layout."""

    path: Path | None
    format: Format
    layout: Layout

    def __post_init__(self) -> None:
        if len(self.layout.fields) > 1 and not self.format.has_fields:
            raise InvalidArgument(
                f"{self.format.name} has no fields: leave out {', '.join(self.layout.fields)}"
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
        if known is None and path.is_dir():
            raise StorageFailed(f"{path} is a folder, not a file")
        if known is None:
            raise InvalidArgument(
                f"cannot tell the format of {path} by its name; `format=...` is one of "
                f"{', '.join(FORMATS)}"
            )
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
        """How the file is read; nothing here depends on what it holds."""
        own = asdict(self.layout)
        # As JSON gives it back, so that the two can be compared.
        own["field"] = self.layout.fields[0] if len(self.layout.fields) == 1 else [*own["field"]]
        return {"format": self.format.name} | own

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
        try:
            raw = sys.stdin.buffer if self.path is None else self.path.open("rb")
        except OSError as error:
            raise StorageFailed(f"cannot read {self.path}: {error.strerror}") from None
        place = raw.tell if self.path is not None and raw.seekable() else lambda: 0
        try:
            with open_to_read(raw, self.path.suffix if self.path else "") as stream:
                yield self._chunks(stream), place
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

    def _chunks(self, stream: BinaryIO) -> Iterator[Chunk]:
        try:
            yield from self.format.read(stream, self.layout)
        except (SfumatoError, BadGzipFile):
            raise
        except OSError as error:
            problem = error.strerror or "reading failed"
        else:
            return
        # Outside the except block: a library's error may carry the content along.
        raise StorageFailed(f"cannot read {self.path or 'standard input'}: {problem}")
