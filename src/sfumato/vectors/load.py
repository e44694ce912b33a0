"""Word vectors from files, and the space that comes with the package.

===========================  =====================================================
``NAME.npy``                 a matrix, with one word per line in ``NAME.vocab.txt``;
                             float32 is memory-mapped, other types are converted
``.txt``, ``.vec``           GloVe, word2vec or fastText text (a first line with two
                             whole numbers is taken as word2vec's and fastText's header)
``.bin``                     word2vec binary
===========================  =====================================================

Text files may be compressed (``.gz``, ``.zst``). Nothing here reads private data.

The package contains the frequent words of GloVe 6B in 50 dimensions, built by
``scripts/build_default_vectors.py``; attribution and terms are beside the data.
"""

from __future__ import annotations

import codecs
import mmap
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput, MalformedVectors, StorageFailed, UnknownName
from sfumato.core.files import replace_file, write_whole
from sfumato.files.output import open_to_read, without_compression
from sfumato.vectors.space import Space

FORMATS = (".npy", ".txt", ".vec", ".bin")


def load_vectors(path: str | Path, limit: int | None = None) -> Space:
    """Read a space from a file, at most its first ``limit`` words."""
    path = Path(path)
    plain = without_compression(path)
    if limit is not None:
        at_least("limit", limit, 2)
    if plain != path and plain.suffix in (".npy", ".bin"):
        raise MalformedVectors(f"{path.name}: only text may be compressed; unpack it first")
    try:
        if plain.suffix == ".npy":
            words, vectors = _from_npy(path, limit)
        elif plain.suffix == ".bin":
            words, vectors = _from_word2vec_binary(path, limit)
        elif plain.suffix in (".txt", ".vec"):
            words, vectors = _from_text(path, limit)
        else:
            raise UnknownName("format of vectors", plain.suffix or plain.name, FORMATS)
    except (MalformedVectors, UnknownName):
        raise
    except BadInput as error:
        raise MalformedVectors(f"{path.name}: {error}") from None
    except OSError as error:
        reason = error.strerror or "reading failed"
        raise StorageFailed(f"cannot read vectors from {path}: {reason}") from None
    return Space(plain.stem, words, vectors)


def vocabulary_path(path: Path) -> Path:
    """The file with the words of a ``.npy`` matrix."""
    return path.with_name(path.name.removesuffix(".npy") + ".vocab.txt")


def save_vectors(space: Space, path: Path) -> None:
    """Write a space as ``.npy`` and ``.vocab.txt``, which load fastest."""
    if path.suffix != ".npy":
        raise UnknownName("format of vectors to write", path.suffix or path.name, [".npy"])
    if any("\n" in word for word in space.words):
        raise MalformedVectors(f"{space.name}: a word holds a line break")
    try:
        write_whole(vocabulary_path(path), "".join(f"{word}\n" for word in space.words).encode())
        with replace_file(path) as stream:
            np.save(stream, np.asarray(space.vectors, dtype=np.float32))
    except OSError as error:
        raise StorageFailed(f"cannot write vectors to {path}: {error.strerror}") from None


def _from_npy(path: Path, limit: int | None) -> tuple[list[str], NDArray[np.float32]]:
    if path.exists() and not vocabulary_path(path).exists():
        raise MalformedVectors(f"{path.name} needs its words in {vocabulary_path(path).name}")
    listed = vocabulary_path(path).read_bytes().decode("utf-8-sig", "replace")
    words = [word.removesuffix("\r") for word in listed.split("\n")]
    if words[-1] == "":
        words.pop()
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise MalformedVectors(f"{path.name} is not a matrix: {error}") from None
    if matrix.dtype.kind not in "fiu":
        raise MalformedVectors(f"{path.name} holds {matrix.dtype} values, not real numbers")
    if matrix.ndim != 2 or len(words) != len(matrix):
        raise MalformedVectors(
            f"{path.name} has shape {matrix.shape}, but {vocabulary_path(path).name} "
            f"has {len(words)} words"
        )
    return words[:limit], np.asarray(matrix[:limit], dtype=np.float32)


def _from_text(path: Path, limit: int | None) -> tuple[list[str], NDArray[np.float32]]:
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    with path.open("rb") as raw, open_to_read(raw, path.suffix) as stream:
        for number, word, row in islice(_lines(stream, path.name), limit):
            if rows and len(row) != len(rows[0]):
                raise MalformedVectors(
                    f"{path.name}: line {number} has {len(row)} numbers, not {len(rows[0])}"
                )
            words.append(word)
            rows.append(row)
    return words, _stack(rows, path.name)


def _lines(stream: Iterator[bytes], name: str) -> Iterator[tuple[int, str, NDArray[np.float32]]]:
    columns: int | None = None
    promised, number = 0, 0
    for number, line in enumerate(stream, start=1):
        content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        fields = content.rstrip(b"\r\n ").split(b" ")
        if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
            promised, columns = int(fields[0]), max(1, int(fields[1]))
            continue
        if columns is None:
            columns = max(1, len(fields) - 1)
        # A few GloVe entries contain spaces, so the numbers are counted from the right.
        try:
            with np.errstate(over="ignore"):  # ``Space`` refuses numbers that are too large
                row = np.array(fields[-columns:], dtype=np.float32)
        except ValueError:
            raise MalformedVectors(
                f"{name}: line {number} is not a word and {columns} numbers"
            ) from None
        if len(fields) <= columns:
            raise MalformedVectors(f"{name}: line {number} has fewer than {columns} numbers")
        yield number, b" ".join(fields[:-columns]).decode("utf-8", "replace"), row
    if 1 < number <= promised:
        raise MalformedVectors(f"{name} promises {promised} words and has {number - 1}")


def _from_word2vec_binary(path: Path, limit: int | None) -> tuple[list[str], NDArray[np.float32]]:
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    with path.open("rb") as stream:
        header = stream.readline(64).split()
        if len(header) != 2 or not all(field.isdigit() for field in header):
            raise MalformedVectors(f"{path.name} does not begin with word2vec's two numbers")
        count, size = int(header[0]), 4 * int(header[1])
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            place = stream.tell()
            for number in range(count if limit is None else min(limit, count)):
                space = content.find(b" ", place)
                if space < 0 or space + 1 + size > len(content):
                    raise MalformedVectors(f"{path.name} ends inside entry {number + 1}")
                words.append(content[place:space].lstrip(b"\n").decode("utf-8", "replace"))
                place = space + 1 + size
                rows.append(np.frombuffer(content[space + 1 : place], dtype="<f4"))
    return words, _stack(rows, path.name)


def _stack(rows: list[NDArray[np.float32]], name: str) -> NDArray[np.float32]:
    if not rows:
        raise MalformedVectors(f"{name} holds no vectors")
    return np.stack(rows)


NAME = "glove-6b-50d"


@cache
def default_space() -> Space:
    """The embedded space, loaded once per process."""
    return load_vectors(Path(__file__).parent / "data" / f"{NAME}.npy")


def public_words(count: int) -> list[str]:
    """The most frequent words of the embedded vectors that consist of letters only."""
    return list(islice((word for word in default_space().words if word.isalpha()), count))
