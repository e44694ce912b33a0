"""Files of vectors: written in parts and put together, and read again.

``OUT.npy`` is one array of float32: a row for each document, or for each document as many rows as
it was padded to. ``OUT.parquet`` has a row for each document, with its vector (or its vectors) and
the fields that were kept. Numbers are rounded to float32 after the noise, which is post-processing.

How long texts are must not show. A part ends where so many characters were read, so a table that is
put together of parts is grouped anew: all groups but the last have the same number of rows.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sfumato.core.arrays import Floats, Singles
from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.files import reading
from sfumato.core.json import read_object

NPY, PARQUET = ".npy", ".parquet"
VECTOR, VECTORS = "vector", "vectors"
KEPT = ("id", "author", "label")
# Rows of every group of a table; a public number.
GROUP = 4096
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Shape:
    """How a file of vectors is laid out; ``pad_to`` is for vectors of words."""

    kind: str
    numbers: int
    tokens: bool = False
    pad_to: int | None = None
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind == NPY and self.keep:
            raise InvalidArgument(
                "an array has no columns: write OUT.parquet to keep fields, or leave out `keep=...`"
            )
        if self.kind == NPY and self.tokens and self.pad_to is None:
            raise InvalidArgument(
                "documents have different numbers of words, and an array has equally many for "
                "each: give `pad_to=N`, or write OUT.parquet"
            )

    @property
    def rows(self) -> tuple[int, ...]:
        """The shape of what an array has for each document."""
        return (self.numbers,) if not self.tokens else (self.pad_to or 0, self.numbers)


def kind_of_output(path: Path) -> str:
    """By its name: an array, or a table."""
    if path.suffix not in (NPY, PARQUET):
        raise InvalidArgument(
            f"vectors are written as OUT.npy or OUT.parquet, and {path.name} is neither"
        )
    if path.suffix == PARQUET:
        extra("pyarrow", needed_for="Parquet", extra="parquet")
    return path.suffix


def spell_part(shape: Shape, vectors: Sequence[Floats], kept: Mapping[str, list[Any]]) -> bytes:
    """One finished part of a file."""
    if shape.kind == NPY:
        empty = np.empty((0, *shape.rows))
        stacked = np.stack(vectors) if len(vectors) else empty
        return _singles(stacked).tobytes()
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = pa.list_(pa.float32(), shape.numbers)
    if shape.tokens:
        values = [list(_singles(one)) for one in vectors]
        columns = {VECTORS: pa.array(values, type=pa.list_(row))}
    else:
        flat = np.concatenate(vectors) if len(vectors) else np.empty(0)
        columns = {
            VECTOR: pa.FixedSizeListArray.from_arrays(pa.array(_singles(flat)), shape.numbers)
        }
    for name in shape.keep:
        columns[name] = pa.array(kept[name], type=pa.string())
    written = io.BytesIO()
    pq.write_table(pa.table(columns), written)
    return written.getvalue()


def _singles(numbers: Floats) -> Singles:
    """As float32; what that cannot hold is the largest number that it can."""
    return np.clip(numbers, -_LARGEST, _LARGEST).astype("<f4")


def put_together(shape: Shape, parts: Iterable[Path], documents: int, output: BinaryIO) -> None:
    """All parts as one file."""
    if shape.kind == NPY:
        described = {"descr": "<f4", "fortran_order": False, "shape": (documents, *shape.rows)}
        np.lib.format.write_array_header_1_0(output, described)
        for part in parts:
            output.write(part.read_bytes())
        return
    import pyarrow.parquet as pq

    writer = None
    for table in _grouped(map(pq.read_table, parts), GROUP):
        if writer is None:
            writer = pq.ParquetWriter(output, table.schema)
        writer.write_table(table, row_group_size=GROUP)
    if writer is None:
        raise BadInput("the input holds no document, so there is no vector to write")
    writer.close()


def _grouped(tables: Iterable[Any], rows: int) -> Iterator[Any]:
    """The same rows, ``rows`` at a time, each time in one piece."""
    import pyarrow as pa

    waiting: list[Any] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += len(table)
        while count >= rows:
            whole = pa.concat_tables(waiting).combine_chunks()
            yield whole.slice(0, rows)
            waiting, count = [whole.slice(rows)], count - rows
    if count:
        yield pa.concat_tables(waiting).combine_chunks()


@dataclass(frozen=True, eq=False, repr=False)
class StoredVectors:
    """The vectors of a file, and what stands beside it.

    ``vectors`` has a row for each document; where words have vectors of their own, ``words`` has an
    array for each document, and ``vectors`` is empty.
    """

    path: Path
    settings: Mapping[str, Any]
    content: Mapping[str, Any]
    vectors: Floats
    words: Sequence[Floats] = ()
    kept: Mapping[str, list[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.words) if self.settings["tokens"] else len(self.vectors)

    def __repr__(self) -> str:
        return f"StoredVectors({str(self.path)!r}, {len(self):,} documents)"


def side_path(path: Path) -> Path:
    """The path of the side file of a file of vectors."""
    return path.with_name(path.name + ".guarantee.json")


def holds_vectors(path: Path) -> bool:
    """Whether a file has a side file that says it holds vectors; nothing else of it is read."""
    side = side_path(path)
    if path.suffix not in (NPY, PARQUET) or not side.is_file():
        return False
    try:
        settings = read_object(side, "a side file").get("settings")
    except (BadInput, OSError):
        return False
    return isinstance(settings, dict) and "representation" in settings


def read_stored(path: Path) -> StoredVectors:
    """The vectors of a file that ``sfumato embed`` wrote."""
    side = side_path(path)
    content = read_object(side, "the side file of vectors")
    with reading(side, "the side file of vectors"):
        settings = dict(content["settings"])
        numbers, tokens = int(settings["numbers"]), settings["tokens"] is True
        settings["representation"] = str(settings["representation"])
    with reading(path, "a file of vectors"):
        kept: dict[str, list[Any]] = {}
        if path.suffix == NPY:
            found = np.load(path, allow_pickle=False).astype(np.float64)
            words = list(found) if tokens else []
            found = np.empty((0, numbers)) if tokens else found
        else:
            extra("pyarrow", needed_for="Parquet", extra="parquet")
            found, words, kept = _from_table(path, numbers, tokens=tokens)
        if found.ndim != 2 or found.shape[1] != numbers:
            raise ValueError("its vectors have another size")
        if not np.isfinite(found).all() or not all(np.isfinite(one).all() for one in words):
            raise ValueError("a number is not finite")
    return StoredVectors(path, settings, content, found, words, kept)


def _from_table(
    path: Path, numbers: int, *, tokens: bool
) -> tuple[Floats, list[Floats], dict[str, list[Any]]]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    kept = {name: table.column(name).to_pylist() for name in KEPT if name in table.column_names}
    if tokens:
        each = table.column(VECTORS).to_pylist()
        words = [np.array(one, dtype=np.float64).reshape(-1, numbers) for one in each]
        return np.empty((0, numbers)), words, kept
    whole = table.column(VECTOR).combine_chunks()
    flat = whole.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(-1, numbers).astype(np.float64), [], kept
