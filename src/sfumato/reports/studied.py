"""A study as its report sees it: read once, checked, and used by every section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sfumato.attacks.attack import Attempt
from sfumato.charts.chapter import Against
from sfumato.core.errors import BadInput, SfumatoError
from sfumato.guarantees.guarantee import Guarantee
from sfumato.results.row import ANCHORS, Row
from sfumato.results.scores import Scores
from sfumato.studies.cell import ATTACK, MEASURE, RUN
from sfumato.studies.folder import DONE, FAILED, MISSING, CellRecord, StudyFolder
from sfumato.studies.measures.measure import Measurement, Taken


@dataclass(frozen=True)
class Studied:
    """A study and its results; ``about`` is its description."""

    folder: StudyFolder
    about: Mapping[str, Any]
    cells: tuple[CellRecord, ...]

    @classmethod
    def of(cls, folder: StudyFolder) -> Studied:
        """Read a study completely."""
        about = folder.study()
        if not isinstance(about.get("cells"), list):
            raise BadInput(f"{folder.description} has no grid of cells")
        try:
            return cls(folder, about, tuple(folder.cells()))
        except (KeyError, TypeError, AttributeError):
            raise BadInput(
                f"{folder.description} was not written by this version, or is damaged"
            ) from None

    @property
    def title(self) -> str:
        """The title of the study."""
        return self.said("title") or self.said("name") or "Untitled study"

    @property
    def public(self) -> bool:
        """Whether the corpus is generated or declared public."""
        return self.about.get("public") is True

    def said(self, key: str) -> str:
        """A text of the description; empty if there is none."""
        value = self.about.get(key)
        return value if isinstance(value, str) else ""

    def listed(self, key: str) -> Mapping[str, Any]:
        """A table of the description; empty if there is none."""
        value = self.about.get(key)
        return value if isinstance(value, dict) else {}

    def in_state(self, state: str) -> list[CellRecord]:
        """The cells that are done, have failed or are missing."""
        return [cell for cell in self.cells if cell.state == state]

    @property
    def done(self) -> list[CellRecord]:
        """The finished cells."""
        return self.in_state(DONE)

    @property
    def failed(self) -> list[CellRecord]:
        """The cells that stopped with an error."""
        return self.in_state(FAILED)

    @property
    def missing(self) -> list[CellRecord]:
        """The cells that were not computed yet, or depend on one that failed."""
        return self.in_state(MISSING)

    @property
    def corpora(self) -> list[str]:
        """The names of its corpora in the order of the grid, if there are several."""
        return list(dict.fromkeys(cell.corpus for cell in self.cells if cell.corpus))

    def of_corpus(self, name: str) -> Studied:
        """The study on one of several corpora, whose name is not repeated in each line."""
        own = (replace(cell, corpus=None) for cell in self.cells if cell.corpus == name)
        return Studied(self.folder, self.about, tuple(own))

    @cached_property
    def rows(self) -> list[Row]:
        """All figures, in the order of the grid."""
        return [row for cell in self.done for row in cell.rows]

    @cached_property
    def methods(self) -> list[str]:
        """The methods in the order of the grid, without the two anchors."""
        named = dict.fromkeys(cell.method for cell in self.cells if cell.method)
        return [one for one in named if one not in ANCHORS]

    @cached_property
    def on_models(self) -> frozenset[str]:
        """The attacks and measures that look at a trained model, not at a text."""
        runs = {cell.key for cell in self.cells if cell.kind == RUN}
        return frozenset(
            row.by for cell in self.done if not runs.isdisjoint(cell.inputs) for row in cell.rows
        )

    def attempts(self, name: str) -> list[Attempt]:
        """The finished attacks of that name whose scores can be read."""
        return [
            Attempt(scores=scores, **_place(cell))
            for cell in self.done
            if cell.kind == ATTACK and cell.name == name
            for scores in _scores(cell)
        ]

    def taken(self, name: str) -> list[Taken]:
        """The finished measures of that name."""
        return [
            Taken(
                measurement=Measurement(measure=name, rows=cell.rows, details=cell.details),
                **_place(cell),
            )
            for cell in self.done
            if cell.kind == MEASURE and cell.name == name
        ]

    def guarantees(self, method: str) -> dict[tuple[str | None, float | None], Guarantee]:
        """What is proven about a method, for each parameter and level."""
        found: dict[tuple[str | None, float | None], tuple[str, Guarantee]] = {}
        for cell in self.done:
            if cell.method == method and cell.guarantee is not None:
                place, made = (cell.parameter, cell.level), _guarantee(cell)
                # A model that was trained on a privatized text is as private as that text, which
                # comes first in the grid. Of several seeds the least guarantee counts.
                kind, least = found.setdefault(place, (cell.kind, made))
                if kind == cell.kind and made.epsilon > least.epsilon:
                    found[place] = (kind, made)
        return {place: made for place, (_, made) in found.items()}


def _guarantee(cell: CellRecord) -> Guarantee:
    try:
        return Guarantee.from_dict(cell.guarantee or {})
    except SfumatoError as error:
        raise BadInput(f"the guarantee of the cell {cell.key} cannot be read: {error}") from None


def describe_method(cell: CellRecord) -> str:
    """A cell's method with its level, as legends and tables name it.

    >>> cell = CellRecord(key="a", kind="run", method="DP-SGD", parameter="epsilon", level=2.0)
    >>> describe_method(cell)
    'DP-SGD, ε = 2'
    """
    return Against(**_place(cell)).said


def _place(cell: CellRecord) -> dict[str, Any]:
    on = f"{cell.method} on {cell.corpus}" if cell.corpus and cell.method else cell.method
    return {"method": on} | {name: getattr(cell, name) for name in ("parameter", "level", "seed")}


def _scores(cell: CellRecord) -> Iterator[Scores]:
    """The scores, if this version can read them."""
    with suppress(SfumatoError):
        yield Scores.from_dict(cell.scores or {})
