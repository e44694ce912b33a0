"""What became of the columns that were not privatized: left as they are, kept on purpose, or
dropped.

A column that is left stands in the output as it stood in the input. A policy looks at it all the
same, so that a name in another column is not published by oversight. A file may be released only
when somebody has decided about every column: it is privatized, dropped, or named to be kept.

What these counts tell
    How many cells of a column there are, and in how many a policy finds something, is computed from
    private text and written down. It tells nothing new: the cells stand in the output, and whoever
    has that can count them with the same policy. That needs a policy that is public. What a pattern
    or a word list finds in published text would let guesses of the pattern be tested, so of those
    the counts are told to the person who runs it, and are written nowhere but among the parts of an
    unfinished run, with the other counts of that policy.

    Nothing is counted in what is dropped, and of a name to be dropped only whether it was there at
    all.

Names of columns
    A key may itself be data (``{"ann@example.org": 3}``). A key in which the policy finds something
    is never written down: a star stands for it, or the number of the column in a table, and it
    counts as a finding. Where the policy is not public, ``pii`` decides that in its place: which
    names are hidden would else tell what a secret pattern finds in names that stand in the output.
    What such a policy finds in a name counts as found in the cells, which is told to nobody else.
    Names that the user typed are no secret, and neither are single letters and the names that
    columns have in many files (``lang``, ``meta``), whatever a policy takes them for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sfumato.core.errors import UndecodableText
from sfumato.files.chunks import Left
from sfumato.files.layout import is_usual_name
from sfumato.files.paths import Place, column_of
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.selective import Selective
from sfumato.policies.combine import Union
from sfumato.policies.identity import identity_of
from sfumato.policies.policy import Policy, find_each
from sfumato.text.document import Document

MOST = 1000
FURTHER = "further columns"
_HIDDEN = "*"


@dataclass
class Column:
    """Cells that are not empty, in how many something was found, and if it is kept on purpose."""

    cells: int = 0
    found: int = 0
    kept: bool = False
    hidden: bool = False

    @property
    def share(self) -> float:
        """The share of cells in which something was found; a name that is data counts as one."""
        if not self.cells:
            return 1.0 if self.hidden else 0.0
        return 1.0 if self.hidden else self.found / self.cells

    def add(self, other: Column) -> None:
        """Count further cells."""
        self.cells += other.cells
        self.found += other.found
        # One cell that nobody decided about is enough.
        self.kept = self.kept and other.kept
        self.hidden = self.hidden or other.hidden


@dataclass
class Columns:
    """The columns that were left, and which of the names for `drop=...` and `keep=...` were met."""

    left: dict[str, Column] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, cells: Iterable[Left], dropped: Iterable[str], policy: Policy) -> Columns:
        """Look at the cells that a chunk leaves as they are."""
        columns, look = cls(met=set(dropped)), _Look(policy)
        cells = list(cells)
        look.at({cell.text for cell in cells if cell.text})
        look.at({part for cell in cells for part in cell.place if isinstance(part, str)})
        for cell in cells:
            name, hidden = look.name(cell)
            if cell.is_text and not hidden:
                continue
            counted = bool(cell.text)
            found = counted and (look.finds(cell.text) or look.finds_name(cell))
            if cell.kept is not None:
                columns.met.add(cell.kept)
            one = Column(int(counted), int(found), cell.kept is not None, hidden)
            columns._add(name, one)
        return columns

    def add(self, other: Columns) -> None:
        """Count the columns of a further chunk."""
        self.met |= other.met
        for name, one in other.left.items():
            self._add(name, one)

    def _add(self, name: str, one: Column) -> None:
        if name not in self.left and len(self.left) >= MOST:
            name = FURTHER
        self.left.setdefault(name, Column(kept=one.kept)).add(one)

    @property
    def undecided(self) -> dict[str, Column]:
        """The columns about which nobody has said anything."""
        return {name: one for name, one in self.left.items() if not one.kept}

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "left": {
                name: [one.cells, one.found, int(one.kept), int(one.hidden)]
                for name, one in self.left.items()
            },
            "met": sorted(self.met),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Columns:
        """The inverse of ``as_dict``."""
        left = {}
        for name, counts in values["left"].items():
            cells, found, kept, hidden = counts
            if any(type(one) is not int or one < 0 for one in counts) or found > cells:
                raise ValueError("a count must be a whole number, 0 or more")
            left[str(name)] = Column(cells, found, bool(kept), bool(hidden))
        return cls(left, set(map(str, values["met"])))


class _Look:
    """What a policy finds, each text looked at once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._found: dict[str, bool] = {}
        # Of a policy that finds something in any word a finding in a key says nothing.
        self.at({"column"})
        self._names_tell = not self._found["column"]
        identity = identity_of(policy)
        self._is_public = identity is not None and not identity.private
        self._data: dict[str, bool] = {}

    def at(self, texts: set[str]) -> None:
        """Look at texts that were not seen yet, all at once."""
        documents = {}
        for text in sorted(texts - self._found.keys()):
            try:
                documents[text] = Document(text)
            except UndecodableText:
                self._found[text] = True  # half a character: nobody can say what it is
        spans = find_each(self._policy, list(documents.values()))
        self._found |= {text: len(one) > 0 for text, one in zip(documents, spans, strict=True)}

    def finds(self, text: str) -> bool:
        """Whether something was found in a text that was looked at."""
        return self._found[text]

    def finds_name(self, cell: Left) -> bool:
        """Whether a policy that is not public finds something in the name of a cell's column."""
        if self._is_public or not self._may_hide(cell):
            return False
        return any(not _is_usual(one) and self._found[str(one)] for one in cell.place)

    def name(self, cell: Left) -> tuple[str, bool]:
        """The name of a cell's column, as far as it may be told, and whether some of it may not."""
        hidden = self._may_hide(cell)
        data = [hidden and self._is_data(one) for one in cell.place]
        if cell.number:  # a table: its names are no paths
            return (f"column {cell.number}", True) if any(data) else (str(cell.place[0]), False)
        shown: Place = tuple(
            _HIDDEN if is_data else part for part, is_data in zip(cell.place, data, strict=True)
        )
        return column_of(shown).replace('"*"', _HIDDEN), any(data)

    def _may_hide(self, cell: Left) -> bool:
        return cell.kept in (None, _HIDDEN) and self._names_tell

    def _is_data(self, part: str | int) -> bool:
        if isinstance(part, int) or _is_usual(part):
            return False
        if self._is_public:
            return self._found[part]
        if part not in self._data:
            self._data[part] = _looks_like_data(part)
        return self._data[part]


def _is_usual(part: str | int) -> bool:
    return isinstance(part, int) or len(part) <= 1 or is_usual_name(part)


def _looks_like_data(name: str) -> bool:
    """Whether a policy that everybody has finds something in a name."""
    try:
        return len(_names_policy().find(Document(name))) > 0
    except UndecodableText:
        return True


@cache
def _names_policy() -> Policy:
    from sfumato.policies.parsing import parse_policy

    return parse_policy("pii")


def looking(selective: Selective | Levels) -> Policy:
    """The policy that looks at the other columns: the one of the release, or all of its levels."""
    if isinstance(selective, Selective):
        return selective.policy
    policies = tuple(level.policy for level in selective.levels)
    return policies[0] if len(policies) == 1 else Union(policies)
