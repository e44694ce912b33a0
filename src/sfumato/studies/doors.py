"""Which files a study may use: those in its own folder, and those that its user allowed.

Guarantee
    A study that somebody else wrote uses no file outside its own folder and the folder of its
    results, unless its user has named that file or a folder that contains it. A link inside the
    folder that points out of it counts as outside.

    For code the rule is stricter. A class of the study's own (``file.py:Class``) is loaded only if
    its user has named exactly that file, even if the file is in the study's folder. Naming a folder
    that contains it is not enough. Until then neither running nor checking the study executes a
    line of it.

Why it holds
    Every path of a study passes through one function, which resolves all links before it decides.
    Settings that are paths say so by their type (``sfumato.core.settings``), and a test checks this
    for every component of the catalog. A name that is also a file in the working folder is treated
    as a path.

What weakens it
    Somebody who can write to the folder while the study runs can change a link between the check
    and the reading. A model's name that is not a folder is fetched from the hub.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.core.settings import RUNS


@dataclass(frozen=True)
class Passage:
    """A file or folder that a study asks for; ``purpose`` says what it is used for."""

    path: Path
    purpose: str
    where: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"path": str(self.path), "use": self.purpose, "where": self.where}


INSIDE, ALLOWED, OUTSIDE = "inside", "allowed", "outside"
CODE = "code that is not allowed"


class CodeNotAllowed(InvalidArgument):
    """A study asks to run code that its user has not named."""


@dataclass(frozen=True, eq=False)
class Doors:
    """What a study may use. With ``listing`` requests are noted, and only code is refused."""

    allowed: tuple[Path, ...] = ()
    listing: bool = False
    asked: dict[tuple[Path, str], Passage] = field(default_factory=dict, repr=False)

    def pass_through(self, folder: Path, path: Path, purpose: str) -> None:
        """Refuse a path outside ``folder``, or code in any folder, that is not allowed."""
        end = path.resolve()
        where = self._where_code(end) if purpose == RUNS else self._where(folder, end)
        if self.listing:
            self.asked.setdefault((end, purpose), Passage(end, purpose, where))
        if where == CODE:
            raise CodeNotAllowed(
                f"the study runs the code in {end}, which can do whatever you can; read it, and if "
                f"you trust it, name the file itself: `allow_path=[{str(end)!r}]` (naming a folder "
                "that contains it is not enough)"
            )
        if self.listing:
            return
        if where == OUTSIDE:
            raise InvalidArgument(
                f"the study {purpose} {end}, which is outside its folder {folder.resolve()}; to "
                f"allow it, name it: `allow_path=[{str(end)!r}]` (or a folder that contains it). "
                "Checking the study lists everything that it asks for"
            )

    def _where_code(self, end: Path) -> str:
        return ALLOWED if any(end == one.resolve() for one in self.allowed) else CODE

    def _where(self, folder: Path, end: Path) -> str:
        if end.is_relative_to(folder.resolve()):
            return INSIDE
        return (
            ALLOWED if any(end.is_relative_to(one.resolve()) for one in self.allowed) else OUTSIDE
        )
