"""Where a study may read and write: its own folder, and what whoever runs it has allowed.

Guarantee
    A study that somebody else wrote uses no file outside the folder that it stands in, and the
    folder that its results go to, unless its user has named that file or a folder around it. A link
    inside the folder that leads out of it leads outside.

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


@dataclass(frozen=True, eq=False)
class Doors:
    """What is allowed; ``listing`` notes what is asked for, and refuses nothing."""

    allowed: tuple[Path, ...] = ()
    listing: bool = False
    asked: dict[tuple[Path, str], Passage] = field(default_factory=dict, repr=False)

    def pass_through(self, folder: Path, path: Path, purpose: str) -> None:
        """Refuse a path outside ``folder`` that is not allowed."""
        end = path.resolve()
        where = self._where(folder, end)
        if self.listing:
            self.asked.setdefault((end, purpose), Passage(end, purpose, where))
        elif where == OUTSIDE:
            raise InvalidArgument(
                f"the study {purpose} {end}, which is outside its folder {folder.resolve()}; if it "
                f"may, say so: `allow_path=[{str(end)!r}]` (or a folder around it). Checking the "
                "study lists everything that it asks for"
            )

    def _where(self, folder: Path, end: Path) -> str:
        if end.is_relative_to(folder.resolve()):
            return INSIDE
        return (
            ALLOWED if any(end.is_relative_to(one.resolve()) for one in self.allowed) else OUTSIDE
        )
