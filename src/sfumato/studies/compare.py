"""Two studies side by side: the same figures of the same methods, and how they differ.

Two figures are compared if they have the same corpus, method, level, attack or measure, metric and
group. Each is a mean over seeds. A difference is clear if both figures have intervals and these do
not overlap. The intervals are those that calibrations and reports show.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from statistics import fmean
from typing import Any, NamedTuple

from sfumato.calibration.curves import estimate_of
from sfumato.core.json import write_number
from sfumato.results.row import COST, Row


class ComparedFigure(NamedTuple):
    """What two figures must have in common to be compared."""

    method: str
    parameter: str | None
    level: float | None
    by: str
    metric: str
    group: str | None
    corpus: str | None = None


@dataclass(frozen=True, kw_only=True)
class Value:
    """A mean over seeds, with its interval if one is known."""

    value: float
    low: float | None
    high: float | None
    seeds: int


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One figure in two studies; what only one of them has is None in the other."""

    figure: ComparedFigure
    first: Value | None
    second: Value | None

    @property
    def clear(self) -> bool | None:
        """Whether the intervals do not overlap; None if one of them is unknown."""
        if self.first is None or self.second is None:
            return None
        ends = (self.first.low, self.first.high, self.second.low, self.second.high)
        if None in ends:
            return None
        low, high, other_low, other_high = (float(end) for end in ends if end is not None)
        return other_low > high or other_high < low

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        both = {"first": self.first, "second": self.second}
        return _plain(self.figure._asdict()) | {
            name: None if one is None else _plain(vars(one)) for name, one in both.items()
        } | {"clear": self.clear}  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class StudyComparison:
    """All figures of two studies, which are called ``first`` and ``second``."""

    first: str
    second: str
    differences: tuple[Difference, ...]

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    def counts(self) -> dict[str, int]:
        """How many figures differ clearly, do not, have no intervals, or are in one study only."""
        both = [one for one in self if one.first is not None and one.second is not None]
        return {
            "clearly different": sum(one.clear is True for one in both),
            "not clearly different": sum(one.clear is False for one in both),
            "without intervals": sum(one.clear is None for one in both),
            f"in {self.first} only": sum(one.second is None for one in self),
            f"in {self.second} only": sum(one.first is None for one in self),
        }

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts().items() if count)
        return f"{self.first} and {self.second}: {counts or 'no figures'}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{count:,}</td></tr>"
            for name, count in self.counts().items()
        )
        caption = f"{escape(self.first)} and {escape(self.second)}"
        return f"<table><caption>{caption}</caption><tbody>{rows}</tbody></table>"


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    return {
        key: write_number(value) if isinstance(value, float) else value
        for key, value in values.items()
    }


def compare_studies(first: Iterable[Row], second: Iterable[Row]) -> list[Difference]:
    """Compare all figures of both studies, in the order of their rows."""
    values = [values_of(rows) for rows in (first, second)]
    figures = dict.fromkeys([*values[0], *values[1]])
    return [
        Difference(figure=one, first=values[0].get(one), second=values[1].get(one))
        for one in figures
    ]


def values_of(rows: Iterable[Row]) -> dict[ComparedFigure, Value]:
    """Every figure of a study, as a mean over its seeds, in the order of the rows."""
    together: dict[ComparedFigure, list[Row]] = defaultdict(list)
    for row in rows:
        if row.role != COST and row.value is not None:
            key = ComparedFigure(
                row.method, row.parameter, row.level, row.by, row.metric, row.group, row.corpus
            )
            together[key].append(row)
    return {key: _value(some) for key, some in together.items()}


def _value(rows: list[Row]) -> Value:
    values = [float(row.value) for row in rows if row.value is not None]
    found = estimate_of(rows) if all(map(math.isfinite, values)) else None
    if found is None:
        return Value(value=fmean(values), low=None, high=None, seeds=len(values))
    return Value(value=found.value, low=found.low, high=found.high, seeds=found.n)
