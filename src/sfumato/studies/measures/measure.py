"""The protocol of measures: a specimen goes in, figures with their meaning come out.

A measure is a frozen dataclass whose fields are its settings. It declares what it looks at (``of``:
a privatized text, noisy vectors, a model or a mechanism), whether its figures are about leakage or
utility (``role``), and for each figure which direction is better (``better``). So studies, curves
and reports can show the figures of any measure. For a group of documents it is called again with a
part of the specimen. A measure with charts has a class method ``chapter(taken)``, which returns
what a report shows.

Care
    Figures that were measured on private text reveal something about it, and no guarantee covers
    them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sfumato.attacks.vectors.target import open_vectors
from sfumato.catalog import find
from sfumato.charts.chapter import Against
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.core.settings import read_table
from sfumato.results.measured import Measured
from sfumato.results.row import LEAKAGE, LOWER, UTILITY, Row
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.models.load import LoadedModel

TEXT, MODEL, MECHANISM, VECTORS = "text", "model", "mechanism", "vectors"

ItemT = TypeVar("ItemT")
Each = Callable[["Specimen"], Sequence[ItemT]]
"""Computes one item for each document of a specimen."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Specimen:
    """What is measured.

    For a text, ``documents`` are the privatized documents and ``originals`` their originals, if
    these are known. For a model, ``model`` is its folder and ``documents`` are the texts to test it
    on. For a mechanism, ``mechanism`` is the mechanism, or None if it does not replace words one by
    one. For vectors, ``released`` and ``clear`` have a row for each document, with noise and
    without, and ``originals`` are the documents. ``group`` names the group of the documents, if
    they are only a part.
    """

    documents: Sequence[Document] = ()
    originals: Sequence[Document] | None = None
    model: Path | None = None
    mechanism: object | None = None
    released: Floats | None = None
    clear: Floats | None = None
    group: str | None = None
    _whole: Specimen | None = None
    _places: Sequence[int] = ()
    _known: dict[Each[Any], list[Any]] = field(default_factory=dict)

    def part(self, places: Sequence[int], group: str) -> Specimen:
        """The specimen with the documents of one group only."""
        originals = self.originals
        return replace(
            self,
            documents=[self.documents[place] for place in places] if self.documents else (),
            released=None if self.released is None else self.released[list(places)],
            clear=None if self.clear is None else self.clear[list(places)],
            originals=None if originals is None else [originals[place] for place in places],
            group=group,
            _whole=self,
            _places=places,
            _known={},
        )

    def each(self, compute: Each[ItemT]) -> list[ItemT]:
        """One item for each document, computed once however many groups there are."""
        if self._whole is not None:
            found = self._whole.each(compute)
            return [found[place] for place in self._places]
        if compute not in self._known:
            self._known[compute] = list(compute(self))
        return self._known[compute]

    def loaded(self, kind: str | None) -> LoadedModel:
        """The model, from the folder of a run or from its own; a language model without a kind."""
        from sfumato.models.kinds import kind_in
        from sfumato.models.load import load_model

        if self.model is None or not self.documents:
            raise MissingInput("a model is measured on text it has not seen: name it, `corpus=...`")
        inside = self.model / "model"
        folder = inside if inside.is_dir() else self.model
        found = kind or kind_in(folder)
        return load_model(str(folder), randomness=Randomness.secure(), kind=found)

    def pairs(self) -> list[tuple[str, str]]:
        """The text of every document before and after."""
        if self.originals is None:
            raise MissingInput(
                "this measure compares a privatized text with its originals: name their file with "
                "`originals=...`"
            )
        if len(self.originals) != len(self.documents):
            raise BadInput(
                f"there are {len(self.originals):,} originals and {len(self.documents):,} "
                "privatized documents: they must be the same documents in the same order"
            )
        both = zip(self.originals, self.documents, strict=True)
        return [(before.text, after.text) for before, after in both]


def vector_specimen(path: Path, originals: Sequence[Document], encoder: str = "") -> Specimen:
    """Noisy vectors of a file, and those of its originals without noise."""
    target = open_vectors(path, encoder)
    if target.of_words or len(originals) > len(target.vectors):
        raise BadInput(
            f"{path} has vectors of words, or of other documents than the originals: one vector "
            "for each document is measured, in the same order"
        )
    # Coins are made-up documents at the end of a study's file. They are not measured.
    clear = target.encode([one.text for one in originals])
    return Specimen(originals=originals, released=target.vectors[: len(originals)], clear=clear)


@dataclass(frozen=True, kw_only=True)
class MeasureReading:
    """The result of a measure on one specimen.

    ``chance`` is what a figure would be if nothing of the text were left. ``details`` are for
    charts: JSON values without private text. If there is nothing to measure there is no figure, and
    ``details["none"]`` says why.
    """

    figures: Sequence[Measured] = ()
    chance: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


class Measure(Protocol):
    """One way to measure what a method made."""

    @property
    def name(self) -> str:
        """The name in the catalog."""
        ...

    @property
    def of(self) -> str:
        """What it looks at: a text, vectors, a model or a mechanism."""
        ...

    @property
    def role(self) -> str:
        """Whether its figures are about leakage or utility."""
        ...

    @property
    def better(self) -> Mapping[str, str]:
        """Which direction is better, for each figure, by its name up to a comma."""
        ...

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """Measure a specimen. Randomness is for sampling and resampling, never for noise."""
        ...


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """How to read figures: what measured them, and which direction is better."""

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
    """Figures as rows; the grid fills in the method that they belong to."""
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
            least=one.within[0],
            most=one.within[1],
            units=one.units,
        )
        for one in figures
    ]


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What was measured: rows as studies have them, and details for charts."""

    measure: str
    rows: tuple[Row, ...]
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        keys = ("metric", "value", "low", "high", "n", "chance", "role", "better")
        written = [row.as_dict() for row in self.rows]
        return {
            "measure": self.measure,
            "figures": [{key: row[key] for key in keys} for row in written],
            "details": dict(self.details),
        }

    def lines(self) -> list[tuple[str, str, str, str, str]]:
        """For people: figure, value, interval, how many, which way is better."""
        return [
            (
                row.metric,
                "–" if row.value is None else f"{row.value:.4g}",
                "–" if row.low is None or row.high is None else f"{row.low:.4g} – {row.high:.4g}",
                f"{row.n:,}",
                row.better,
            )
            for row in self.rows
        ]

    @property
    def none(self) -> str:
        """Why there is no figure, if there is none."""
        return "" if self.rows else str(self.details.get("none", "there is nothing to measure"))

    def __repr__(self) -> str:
        said = [
            f"  {metric}: {value} ({interval}), n = {n}, {better} is better"
            for metric, value, interval, n, better in self.lines()
        ]
        return "\n".join([f"Measurement of {self.measure}", *(said or [f"  {self.none}"])])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{one}</th>" for one in HEAD)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
            for line in self.lines()
        )
        caption = f"<caption>{escape(self.measure)} {escape(self.none)}</caption>"
        return f"<table>{caption}<tr>{head}</tr>{body}</table>"


@dataclass(frozen=True, kw_only=True)
class Taken(Against):
    """One measurement in a study, for the ``chapter`` that a measure may have in its report."""

    measurement: Measurement


HEAD = ("figure", "value", "95 % interval", "n", "better")


def take(
    measure: Measure,
    specimen: Specimen,
    randomness: Randomness,
    group: tuple[str, str] | None = None,
) -> Measurement:
    """Measure, and give every figure its meaning."""
    reading = measure.measure(specimen, randomness)
    found = []
    for figure in reading.figures:
        better = measure.better.get(figure.metric.partition(",")[0])
        if better is None:
            raise InvalidArgument(
                f"the measure {measure.name} does not say which way is better for {figure.metric!r}"
            )
        meaning = Meaning(by=measure.name, role=measure.role, better=better, chance=reading.chance)
        found += rows([figure], meaning, group)
    return Measurement(measure=measure.name, rows=tuple(found), details=reading.details)


def configure_measure(name: str, given: Mapping[str, object]) -> Measure:
    """The measure of that name with the settings of a study; the type of each is checked."""
    made: Measure = read_table(find("measures", name).load(), given, f"[measures.{name}]")
    return made
