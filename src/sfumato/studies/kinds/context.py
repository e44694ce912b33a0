"""What a cell is given to compute with, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.row import Row
from sfumato.studies.cell import RELEASE, Cell
from sfumato.studies.folder import StudyFolder
from sfumato.studies.spec import StudySpec

# No other stream of a seed has this number.
LOOKING = 2**31


@dataclass(frozen=True)
class Context:
    """A cell and where everything stands."""

    study: StudySpec
    folder: StudyFolder
    cell: Cell

    @property
    def here(self) -> Path:
        """The cell's own folder."""
        return self.folder.cell(self.cell.key)

    @property
    def corpus(self) -> Path:
        """The folder of the corpus, which every other cell is computed from."""
        return self.folder.cell(self.cell.inputs[0].key)

    @property
    def target(self) -> Cell:
        """What is attacked or measured."""
        return self.cell.inputs[1]

    @property
    def target_path(self) -> Path:
        """The privatized file, the folder of the run, or that of a model without a run."""
        from sfumato.studies.kinds.corpus import texts

        there = self.folder.cell(self.target.key)
        if self.target.kind == RELEASE:
            return there / texts(self).released
        return there / ("model" if self.target.settings["training"] is None else "run")

    @property
    def randomness(self) -> Randomness:
        """For attacks and measures; a study repeats itself, so nothing it makes is for release.

        It is apart from what made the corpus, its secrets and coins, or a model, also where all of
        them have the same seed: who guesses must not draw again what was drawn to be hidden.
        """
        return Randomness.reproducible(self.cell.seed).stream(LOOKING)


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """What a cell gives: figures, what is proven of what it made, and what a chart needs."""

    rows: tuple[Row, ...] = ()
    guarantee: Mapping[str, Any] | None = None
    sentence: str | None = None
    scores: Mapping[str, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    """Documents that are looked at apart: their field, its value and their places."""

    field: str
    name: str
    number: int
    places: Sequence[int]

    @property
    def said(self) -> tuple[str, str]:
        """As rows name it."""
        return self.field, self.name


def by_group(
    context: Context, groups: Mapping[str, Sequence[int]], look: Callable[[Group], Iterable[Row]]
) -> tuple[list[Row], dict[str, str]]:
    """Rows of every group that the study asks for, and why a group has none."""
    field_ = context.cell.settings.get("groups")
    found: list[Row] = []
    left_out: dict[str, str] = {}
    for number, (name, places) in enumerate(groups.items() if field_ else ()):
        try:
            found += look(Group(str(field_), name, number, places))
        except (BadInput, InvalidArgument) as error:
            left_out[name] = str(error)
    return found, left_out
