"""How a table of text is written: what stands between cells, and what around them.

What nobody said is read off the beginning of the file. That beginning is private text, but what is
read off it (one of four separators, one of two quotation marks) stands in the output anyway, on
every line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sfumato.core.errors import InvalidArgument

DELIMITERS = (",", ";", "\t", "|")
BEGINNING = 1 << 16
_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """``delimiter`` and ``quote`` are one character each; an empty ``quote`` says that there is
    none.

    Without a ``header`` columns are called by their numbers: "1", "2", … ``sheet`` names that of a
    workbook.
    """

    delimiter: str | None = None
    quote: str | None = None
    header: bool = True
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            named = _NAMES.get(self.delimiter.lower(), self.delimiter)
            object.__setattr__(self, "delimiter", named)
        if self.quote is not None and self.quote.lower() == "none":
            object.__setattr__(self, "quote", "")
        for name, given in (("delimiter", self.delimiter), ("quote", self.quote)):
            if (
                given is not None
                and (len(given) != 1 or given in "\r\n")
                and (name, given) != ("quote", "")
            ):
                raise InvalidArgument(
                    f"`{name}={given!r}` must be one character, such as ';' or 'tab'"
                )
        if self.delimiter is not None and self.delimiter == self.quote:
            raise InvalidArgument("`delimiter=...` and `quote=...` must differ")

    def settings(self) -> dict[str, Any]:
        """As they are written down."""
        return asdict(self)

    def read_off(self, beginning: str, wanted: Sequence[str]) -> Dialect:
        """The same dialect, with what nobody said read off the beginning of a table.

        The delimiter is the one under which the first row has the ``wanted`` columns, or else the
        one that cuts every row into as many cells.
        """
        lines = beginning.removeprefix("\ufeff").splitlines()[:50]
        found = self
        if found.quote is None:
            found = replace(found, quote=_quote(lines, found.delimiter))
        if found.delimiter is None:
            found = replace(found, delimiter=_delimiter(lines, found, wanted))
        return found


def _quote(lines: Sequence[str], delimiter: str | None) -> str:
    between = re.escape(delimiter) if delimiter else "[,;\\t|]"
    counts = {
        mark: sum(
            len(re.findall(rf"(?:^|{between}){mark}[^{mark}]*{mark}(?={between}|$)", line))
            for line in lines
        )
        for mark in "\"'"
    }
    # An apostrophe may begin a word; it is taken for a quotation mark only where nothing else is.
    begins = any(re.search(rf'(?:^|{between})"', line) for line in lines)
    return "'" if not begins and counts["'"] >= max(2, len(lines)) else '"'


def _delimiter(lines: Sequence[str], dialect: Dialect, wanted: Sequence[str]) -> str:
    rows = {
        one: [cut_roughly(line, one, dialect.quote or "") for line in lines if line]
        for one in DELIMITERS
    }
    if dialect.header and lines:
        having = [
            one for one in DELIMITERS if rows[one] and wanted and set(wanted) <= set(rows[one][0])
        ]
        if having:
            return max(having, key=lambda one: len(rows[one][0]))
    return max(DELIMITERS, key=lambda one: _steadiness(rows[one]))


def _steadiness(rows: Sequence[Sequence[str]]) -> tuple[float, int]:
    widths = Counter(len(row) for row in rows)
    if not widths:
        return 0.0, 0
    width, count = widths.most_common(1)[0]
    return (0.0, 0) if width == 1 else (count / len(rows), width)


def cut_roughly(line: str, delimiter: str, quote: str) -> list[str]:
    """The cells of one line, for a guess; cells that go over several lines are cut apart."""
    if not quote:
        return line.split(delimiter)
    mark, between = re.escape(quote), re.escape(delimiter)
    cell = re.compile(
        rf"(?:{mark}((?:[^{mark}]|{mark}{mark})*){mark}|([^{between}]*))({between}|$)"
    )
    cells: list[str] = []
    place = 0
    while place <= len(line):
        found = cell.match(line, place)
        if found is None:
            return [*cells, line[place:]]
        cells.append(found[2] if found[1] is None else found[1].replace(quote * 2, quote))
        if not found[3]:
            break
        place = found.end()
    return cells
