"""Where a study may read and write: its own folder, and what whoever runs it has allowed.

Guarantee
    A study that somebody else wrote uses no file outside the folder that it stands in, and the
    folder that its results go to, unless its user has named that file or a folder around it. A link
    inside the folder that leads out of it leads outside.

    Code is no data: a class of the study's own (``file.py:Class``) is loaded only if its user has
    named that very file, also where it stands in the study's folder. A folder around it does not
    do, and neither running the study nor checking it runs a line of it before.

Why it holds
    Every path of a study is asked for by one function, which looks where the path ends after all
    links. Settings that are paths say so by their type (``sfumato.core.settings``), and a test
    holds every component of the catalog to that. A name that could be a file where the command is
    run is asked for like a path.

What weakens it
    What a link leads to may be changed between the look and the reading, by somebody who can write
    to the folder while the study runs. A model's name that is no folder is fetched from the hub.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.core.settings import RUNS


@dataclass(frozen=True)
class Passage:
    """A file or folder that a study asks for: ``purpose`` is what is done to it."""

    path: Path
    purpose: str
    where: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"path": str(self.path), "use": self.purpose, "where": self.where}


INSIDE, ALLOWED, OUTSIDE = "inside", "allowed", "outside"
CODE = "code that is not allowed"


class CodeNotAllowed(InvalidArgument):
    """A study asks for code to be run that its user has not named."""


@dataclass(frozen=True, eq=False)
class Doors:
    """What is allowed; ``listing`` notes what is asked for, and refuses nothing but code."""

    allowed: tuple[Path, ...] = ()
    listing: bool = False
    asked: dict[tuple[Path, str], Passage] = field(default_factory=dict, repr=False)

    def pass_through(self, folder: Path, path: Path, purpose: str) -> None:
        """Refuse a path outside ``folder`` that is not allowed, and code wherever it stands."""
        end = path.resolve()
        where = self._where_code(end) if purpose == RUNS else self._where(folder, end)
        if self.listing:
            self.asked.setdefault((end, purpose), Passage(end, purpose, where))
        if where == CODE:
            raise CodeNotAllowed(
                f"the study runs the code in {end}, which can do whatever you can; read it, and if "
                f"it may, name the file itself: `allow_path=[{str(end)!r}]` (a folder around it "
                "does not do)"
            )
        if self.listing:
            return
        if where == OUTSIDE:
            raise InvalidArgument(
                f"the study {purpose} {end}, which is outside its folder {folder.resolve()}; if it "
                f"may, say so: `allow_path=[{str(end)!r}]` (or a folder around it). Checking the "
                "study lists everything that it asks for"
            )

    def _where_code(self, end: Path) -> str:
        return ALLOWED if any(end == one.resolve() for one in self.allowed) else CODE

    def _where(self, folder: Path, end: Path) -> str:
        if end.is_relative_to(folder.resolve()):
            return INSIDE
        return (
            ALLOWED if any(end.is_relative_to(one.resolve()) for one in self.allowed) else OUTSIDE
        )
