"""Tables and numbers of a page in Markdown, as figures: ``0.266 (0.161 – 0.367)``, ``11 to 20``.

A cell that a chart asks for must be a figure, or empty: what is not understood is refused and never
left out, and so is an interval that reaches past what was tried (``≤ 0.05 – 0.254``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# A number that stands by itself: not that of a name (SST-2, stories15m), not half of a longer one.
_DIGITS = r"-?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?"
_NUMBER = rf"(?<![\w.])(?<![^\W\d_]-)(?>{_DIGITS})(?!\w)"
_BETWEEN = rf"({_NUMBER})\s*(?:–|-|to)\s*({_NUMBER})"
NUMBER = re.compile(_NUMBER)
INTERVAL = re.compile(rf"({_NUMBER})\s*\(\s*{_BETWEEN}\s*\)")
_CELL = re.compile(rf"({_NUMBER})(?:\s*\(\s*{_BETWEEN}\s*\)|\s*\([^()≤≥–]*\))?")
_RANGE = re.compile(_BETWEEN)
_SIDE_BY_SIDE = re.compile(r",\s+(?![^(]*\))")
_HIGH = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_POWER = re.compile(r"\b10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
NOTHING = ("", "–")


class NotFound(ValueError):
    """What the gallery asks for is not on the page."""


@dataclass(frozen=True)
class Figure:
    """A number with its interval, if there is one; ``said`` is how the page writes the number.

    Of a range such as ``11 to 20`` only the ends are known. ``whole`` has the interval, too.
    """

    said: str
    value: float | None
    low: float | None = None
    high: float | None = None
    whole: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Table:
    """A table, its words without emphasis, and the heading that it stands under."""

    heading: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> int:
        """The place of a column."""
        if self.head.count(name) != 1:
            raise NotFound(f"no column, or several, '{name}' below '{self.heading}'")
        return self.head.index(name)


@dataclass(frozen=True)
class Page:
    """A page of results."""

    name: str
    text: str

    @classmethod
    def read(cls, path: Path) -> Page:
        """A page from its file."""
        return cls(path.name, path.read_text("utf-8"))

    @property
    def title(self) -> str:
        """The first heading."""
        return next(line[2:] for line in self.text.splitlines() if line.startswith("# "))

    def tables(self) -> Iterator[Table]:
        """All tables, in their order."""
        heading, lines, fenced = "", list[str](), False
        for line in [*self.text.splitlines(), ""]:
            fenced ^= line.startswith("```")
            if line.startswith("|") and not fenced:
                lines.append(line)
                continue
            if lines:
                head, _, *rows = (_cells(one) for one in lines)
                yield Table(heading, head, tuple(rows))
                lines = []
            if line.startswith("#") and not fenced:
                heading = line.lstrip("#").strip()

    def table(self, heading: str, number: int) -> Table:
        """A table by its heading (without one: that of the page), and by its place there."""
        wanted = heading or self.title
        found = [one for one in self.tables() if one.heading == wanted]
        if len(found) < number:
            raise NotFound(f"{self.name} has no table {number} below '{wanted}'")
        return found[number - 1]

    def quoted(self, quote: str) -> Figure:
        """The first number of some words that stand on the page, white space aside."""
        if " ".join(quote.split()) not in " ".join(self.text.split()):
            raise NotFound(f"{self.name} does not say '{quote}'")
        found = NUMBER.search(plain(quote))
        if found is None:
            raise NotFound(f"no number in '{quote}'")
        return Figure(found[0], as_number(found[0]), whole=found[0])


def figures(cell: str) -> list[Figure | None]:
    """The figures that stand side by side in a cell; None where there is none.

    >>> figures("4.0, 5.0 (3.0–7.1)")[1]
    Figure(said='5.0', value=5.0, low=3.0, high=7.1)
    >>> figures("11 to 20"), figures("–")
    ([Figure(said='11 to 20', value=None, low=11.0, high=20.0)], [None])
    """
    return [_figure(part.strip()) for part in _SIDE_BY_SIDE.split(plain(cell))]


def _figure(said: str) -> Figure | None:
    if said in NOTHING:
        return None
    if found := _RANGE.fullmatch(said):
        return Figure(said, None, as_number(found[1]), as_number(found[2]), said)
    found = _CELL.fullmatch(said)
    if found is None:
        raise NotFound(f"'{said}' is no figure")
    low, high = (None if end is None else as_number(end) for end in (found[2], found[3]))
    return Figure(found[1], as_number(found[1]), low, high, said if low is not None else found[1])


def as_number(said: str) -> float:
    """The value of a number, however it is written.

    >>> as_number("1,020"), as_number(".94"), as_number("1.82e+07")
    (1020.0, 0.94, 18200000.0)
    """
    return float(said.replace(",", ""))


def plain(text: str) -> str:
    """Text with one sign for minus, powers of ten as exponents, and no emphasis.

    >>> plain("**−0.5** at 10⁻⁵")
    '-0.5 at 1e-5'
    """
    text = text.replace("**", "").replace("−", "-")
    return _POWER.sub(lambda found: f"1e{found[1].translate(_HIGH)}", text)


def _cells(line: str) -> tuple[str, ...]:
    bare = line.strip().replace("`", "").removeprefix("|").removesuffix("|")
    return tuple(cell.strip().strip("*") for cell in bare.split("|"))
