"""How long the cells of a study will take, judged by those that are finished.

A cell is expected to take as long as the finished ones that are most like it: the same method and
the same thing computed on the same corpus (other seeds, other levels); else the same thing computed
for any method; else the same kind of cell. Of what nobody has computed yet nothing is known, and
that is said. Earlier studies count as well, if they are named; they say how long things took there,
on that machine and that much text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean

from sfumato.core.errors import InvalidArgument
from sfumato.results.row import RANDOM_OUTPUT
from sfumato.studies.cell import RUN, Cell
from sfumato.studies.folder import DONE, CellRecord

_LASTING = re.compile(r"(?:(\d+)\s*h)?\s*(?:(\d+)\s*m(?:in)?)?")


class Durations:
    """Seconds that finished cells took, by what they are like."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], list[float]] = defaultdict(list)

    @classmethod
    def of(cls, records: Iterable[CellRecord]) -> Durations:
        """Those of the finished cells of some studies."""
        found = cls()
        for one in {record.key: record for record in records}.values():
            if one.state == DONE and one.seconds is not None:
                found.add(one, one.seconds)
        return found

    def add(self, cell: Cell | CellRecord, seconds: float) -> None:
        """Note how long a cell took."""
        for likeness in _likenesses(cell):
            self._seen[likeness].append(seconds)

    def expected(self, cell: Cell | CellRecord) -> float | None:
        """The mean of those that are most like a cell; None if nothing is known."""
        for likeness in _likenesses(cell):
            if likeness in self._seen:
                return fmean(self._seen[likeness])
        return 0.0 if _is_untrained(cell) else None


def _likenesses(cell: Cell | CellRecord) -> Iterator[tuple[str, ...]]:
    """From the most similar cells to all of a kind.

    A model that is never trained takes a moment, and says nothing about those that are.
    """
    yield cell.kind, cell.name, cell.method, cell.corpus or ""
    if _is_untrained(cell):
        return
    yield cell.kind, cell.name
    yield (cell.kind,)


def _is_untrained(cell: Cell | CellRecord) -> bool:
    return cell.kind == RUN and cell.method == RANDOM_OUTPUT


@dataclass(frozen=True)
class Estimate:
    """Cells that are not computed yet, and how long those take of which something is known."""

    left: int
    seconds: float
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, cells: Iterable[Cell], durations: Durations, workers: int = 1) -> Estimate:
        """Divided among workers; what nothing is known of is named by what it computes."""
        total, left = 0.0, 0
        unknown: dict[str, None] = {}
        for cell in cells:
            left += 1
            expected = durations.expected(cell)
            if expected is None:
                unknown[cell.name or cell.kind] = None
            else:
                total += expected
        return cls(left, total / max(1, workers), tuple(unknown))

    def sentence(self) -> str:
        """For people."""
        if not self.left:
            return "nothing is left to compute"
        cells = f"{self.left:,} cell{'s' * (self.left != 1)} left"
        if not self.seconds:
            return f"{cells}; how long they take is not known until some are finished"
        said = f"{cells}, about {spoken(self.seconds)}"
        if self.unknown:
            said += f" without {', '.join(self.unknown)}, of which nothing is known yet"
        return said


def spoken(seconds: float) -> str:
    """A duration for people.

    >>> spoken(42), spoken(3700), spoken(130)
    ('42 s', '1 h 2 min', '2 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def read_end(written: str, now: datetime) -> float:
    """The moment (seconds since 1970) that ``22:30``, ``2h30m`` or a date with a time means.

    A time of day is the next one; a moment without a zone is one of ``now``'s.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    >>> ends = [read_end(one, noon) for one in ("13:30", "11:00", "90m", "2026-01-02T14:00")]
    >>> [(end - noon.timestamp()) / 3600 for end in ends]
    [1.5, 23.0, 1.5, 2.0]
    """
    text = written.strip()
    lasting = _LASTING.fullmatch(text)
    if text and lasting is not None:
        return (now + _span(lasting[1], lasting[2])).timestamp()
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}", text):
            hour, _, minute = text.partition(":")
            then = now.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
            return (then if then > now else then + timedelta(days=1)).timestamp()
        then = datetime.fromisoformat(text)
    except ValueError:
        raise _unreadable() from None
    then = then if then.tzinfo is not None else then.replace(tzinfo=now.tzinfo)
    if then <= now:
        raise InvalidArgument("`until=...` is over already; give a moment that is still to come")
    return then.timestamp()


def _span(hours: str | None, minutes: str | None) -> timedelta:
    try:
        span = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    except (OverflowError, ValueError):
        raise _unreadable() from None
    if not timedelta() < span <= timedelta(days=3650):
        raise _unreadable()
    return span


def _unreadable() -> InvalidArgument:
    return InvalidArgument(
        "`until=...` must be a time of day (22:30), a span (2h30m, 90m) or a date with a time "
        "(2026-01-31T06:00)"
    )
