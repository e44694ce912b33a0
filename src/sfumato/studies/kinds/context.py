"""What a cell is given to compute with, and what it gives back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured
from sfumato.results.row import LEAKAGE, LOWER, UTILITY, Row
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


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """How figures are to be read: who measured them, and which way is better."""

    by: str
    role: str = UTILITY
    better: str = LOWER
    chance: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def leaked(cls, by: str, chance: Mapping[str, float]) -> Meaning:
        """What an attack finds: the less, the better."""
        return cls(by=by, role=LEAKAGE, better=LOWER, chance=chance)


def rows(
    figures: Iterable[Measured], meaning: Meaning, group: tuple[str, str] | None = None
) -> list[Row]:
    """Figures as rows; which method they belong to is filled in by the grid."""
    field_, value = group or (None, None)
    return [
        Row(
            cell="",
            method="",
            role=meaning.role,
            by=meaning.by,
            metric=one.metric,
            better=meaning.better,
            value=one.value,
            low=one.low,
            high=one.high,
            n=one.n,
            chance=meaning.chance.get(one.metric),
            group_field=field_,
            group=value,
        )
        for one in figures
    ]
