"""Some cells of a study by their titles, and what they need.

A pattern is a title, with or without what is computed (what follows the colon); ``*`` stands for
anything, and nothing else is special.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from sfumato.core.errors import InvalidArgument
from sfumato.studies.cell import Cell


def choose(cells: Sequence[Cell], only: Sequence[str]) -> tuple[Cell, ...]:
    """The cells that some pattern describes, and their inputs, which come before them."""
    for number, pattern in enumerate(only, start=1):
        if not any(_is_called(cell, pattern) for cell in cells):
            near = get_close_matches(pattern, dict.fromkeys(one.place for one in cells), cutoff=0.0)
            which = f" (title {number} that is given)" if len(only) > 1 else ""
            raise InvalidArgument(
                f"no cell of this study is called {pattern!r}{which}; cells are called "
                + ", ".join(map(repr, near))
            )
    wanted: set[str] = set()
    for cell in reversed(cells):
        if cell.key in wanted or any(_is_called(cell, one) for one in only):
            wanted |= {cell.key, *(one.key for one in cell.inputs)}
    return tuple(cell for cell in cells if cell.key in wanted)


def _is_called(cell: Cell, pattern: str) -> bool:
    return any(fits(one, pattern) for one in (cell.title, cell.place))


def fits(text: str, pattern: str) -> bool:
    """Whether a text is as a pattern says.

    >>> fits("SMDP, epsilon 8, seed 1", "SMDP*seed 1"), fits("MDP", "*S*")
    (True, False)
    """
    first, *others = pattern.split("*")
    if not others:
        return text == pattern
    *between, last = others
    if not text.startswith(first):
        return False
    place = len(first)
    for part in between:  # the first place is as good as any
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return len(text) - len(last) >= place and text.endswith(last)
