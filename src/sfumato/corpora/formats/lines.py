"""Lines of a byte stream, decoded, with errors that give the place and not the content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sfumato.core.errors import UndecodableText


def decoded(lines: Iterable[bytes], encoding: str) -> Iterator[tuple[int, str]]:
    """Each line with its number; terminators stay."""
    offset = 0
    for number, line in enumerate(lines, start=1):
        yield number, decode(line, encoding, offset=offset, line=number)
        offset += len(line)


def decode(content: bytes, encoding: str, *, offset: int = 0, line: int = 1) -> str:
    """Decode, or say at which byte it fails."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        place = error.start
    # Outside the except block: the original error carries the bytes along.
    raise UndecodableText(
        f"not valid {encoding} at byte {offset + place} (line {line}); "
        "--encoding names another encoding"
    )


def split_terminator(line: str) -> tuple[str, str]:
    r"""A line and what ends it: ``\n``, ``\r\n`` or nothing."""
    body = line.removesuffix("\n")
    body = body.removesuffix("\r") if len(body) < len(line) else body
    return body, line[len(body) :]
