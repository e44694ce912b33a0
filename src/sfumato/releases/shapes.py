"""The shapes in which texts come: lists, pandas Series, numpy arrays, columns of a dataset.

None of those libraries is imported: what something is is told by what it can do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadInput, InvalidArgument

if TYPE_CHECKING:
    from sfumato.releases.privatizer import Privatizer


def texts_of(texts: Any) -> list[str | None]:
    """The texts in order, None for missing ones."""
    table = hasattr(texts, "columns")
    if isinstance(texts, (str, bytes, Mapping, Set)) or table or not isinstance(texts, Iterable):
        raise BadInput(
            "privatize takes many texts in order: a list, a Series (one column of a table) or an "
            "array of them"
        )
    return [_text(item, number) for number, item in enumerate(texts)]


def like(original: Any, texts: list[str | None]) -> Any:
    """The texts in the shape of the original."""
    if hasattr(original, "index") and hasattr(original, "to_list"):  # a pandas Series
        # A categorical type is a list of the original texts: it must not come along.
        kind = object if hasattr(original.dtype, "categories") else original.dtype
        return type(original)(texts, index=original.index, name=original.name, dtype=kind)
    if hasattr(original, "dtype") and hasattr(original, "reshape"):  # a numpy array
        import numpy as np

        return np.array(texts, dtype=object)
    return texts


@dataclass(frozen=True)
class ColumnMapper:
    """Privatizes one column of a Hugging Face dataset, batched or row by row."""

    privatizer: Privatizer
    name: str

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The new column, for a batch or for one row."""
        if self.name not in row:
            raise BadInput(f"there is no column {self.name!r}")
        value = row[self.name]
        if value is None:
            return {self.name: None}
        if isinstance(value, str):
            return {self.name: self.privatizer(value)}
        return {self.name: self.privatizer.privatize(list(value))}


@dataclass(frozen=True)
class FrameMapper:
    """Privatizes columns of pandas frames: one frame, as Dask calls it, or many, as Spark does.

    All other columns stay as they are. It goes to other processes by pickling, and each has noise
    of its own. An engine that computes a frame twice draws twice: write what it gave to files
    before anything else asks for it.
    """

    privatizer: Privatizer
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.names:
            raise BadInput("name the columns that hold text")
        if self.privatizer.seed is not None:
            raise InvalidArgument(
                "under a seed every part of a table would get the same noise: leave it out"
            )
        key = self.privatizer.key
        if key is not None and not key.lasts:
            raise InvalidArgument(
                "every process would draw a key of its own, and equal entities get different "
                "surrogates: `settings={'key_file': FILE}`, a file that each of them can read"
            )

    def __call__(self, given: Any) -> Any:
        """A new frame, or an iterator of new frames; what was given stays as it was."""
        return self._one(given) if hasattr(given, "columns") else map(self._one, given)

    def _one(self, frame: Any) -> Any:
        missing = [name for name in self.names if name not in frame.columns]
        if missing:
            raise BadInput(f"there is no column {missing[0]!r}")
        if len(set(frame.columns)) < len(frame.columns):
            raise BadInput("several columns have the same name")
        return frame.assign(**{name: self.privatizer.privatize(frame[name]) for name in self.names})


def _text(item: Any, number: int) -> str | None:
    if isinstance(item, str):
        return str(item)
    # NaN is how pandas spells a missing text; it is the one value unequal to itself.
    missing = item is None or type(item).__name__ == "NAType" or item != item  # noqa: PLR0124
    if missing is True or (not isinstance(missing, bool) and bool(missing)):
        return None
    raise BadInput(f"item {number} is not a text ({type(item).__name__})")
