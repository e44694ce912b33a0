"""The cells of a study: what is computed, from what, and in which order.

Everything is computed on each corpus, and nothing on two corpora together.

A text method makes a privatized text and, if the study has a model, a training run on that text. A
synthetic method makes a synthetic corpus and a training run on it, a training method a training run
on the originals, and a vector method noisy vectors. Attacks and measures follow on each privatized
text, on all vectors and on each model. The two anchors, between which
every method lies, come first. A cell that two methods share is listed twice and computed once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.core.settings import configure
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.studies import cell as cells
from sfumato.studies.cell import CHARGED, Cell, code_identity, corpus_settings, find_named_files
from sfumato.studies.choice import choose
from sfumato.studies.measures.measure import MECHANISM, MODEL, TEXT, VECTORS
from sfumato.studies.points import MOST_POINTS, GridPoint, points_of
from sfumato.studies.resolve import (
    LINKED,
    TEXT_ANCHORS,
    anchor_settings,
    meaning_of,
    model_settings,
    resolve_measure,
    resolve_policy,
    text_settings,
    training_settings,
)
from sfumato.studies.spec import StudySpec
from sfumato.studies.synthesis import SYNTHESIS, synthesis_settings
from sfumato.studies.vectors import (
    REPRESENTATION,
    VECTOR_ANCHORS,
    vector_anchor_settings,
    vector_settings,
)
from sfumato.training.methods.plain import Plain
from sfumato.training.settings import Training


@dataclass(frozen=True)
class Grid:
    """All cells in order; the inputs of a cell come before it."""

    cells: tuple[Cell, ...]

    @property
    def distinct(self) -> list[Cell]:
        """The cells without repetitions."""
        return list({cell.key: cell for cell in self.cells}.values())

    @cached_property
    def by_priority(self) -> list[Cell]:
        """The cells without repetitions, the most urgent first; inputs still come before.

        A cell is as urgent as the most urgent one that needs it.
        """
        urgency: dict[str, int] = {}
        for cell in reversed(self.cells):
            own = max(cell.priority, urgency.get(cell.key, cell.priority))
            urgency[cell.key] = own
            for one in cell.inputs:
                urgency[one.key] = max(own, urgency.get(one.key, own))
        return sorted(self.distinct, key=lambda cell: -urgency[cell.key])

    def narrowed(self, only: Sequence[str]) -> Grid:
        """The cells whose titles a pattern describes, and what they need; without patterns all.

        ``*`` stands for anything. What a title says after its colon may be left out.
        """
        if isinstance(only, str):
            raise InvalidArgument("`only` is a list of titles; put the one that you mean in a list")
        return Grid(choose(self.cells, only)) if only else self


def list_cells(study: StudySpec) -> Grid:
    """The grid of a study; a wrong setting is an error here."""
    points = points_of(study)
    _refuse_too_many(study, [point for some in points.values() for point in some])
    each = study.each
    builders = [_Builder(each[name], name, some) for name, some in points.items()]
    found = tuple(cell for builder in builders for cell in builder.all())
    if all(cell.kind == cells.CORPUS for cell in found):
        raise InvalidArgument("nothing to compute: the study has no [[methods]] and no [model]")
    return Grid(found)


class _Builder:
    """The cells of a study on one corpus; ``called`` is its name if there are several."""

    def __init__(self, study: StudySpec, called: str, points: list[GridPoint]) -> None:
        self.study = study
        self.called = called
        self.corpus = Cell(kind=cells.CORPUS, corpus=called, settings=corpus_settings(study))
        self.points = [(point, _sort(point)) for point in points]
        _refuse_two_in_one_place(study, points)
        self.attacks = {
            name: (configure(study.component("attacks", name), settings), dict(settings))
            for name, settings in study.attacks.items()
        }
        self.measures = {
            name: (resolve_measure(study, name, settings), dict(settings))
            for name, settings in study.measures.items()
        }
        for name in study.policies:
            resolve_policy(study, {"policy": name})
        # Methods are checked before the anchors, which take settings from them.
        for point, sort in self.points:
            if sort == TEXT and study.tags:
                raise InvalidArgument(
                    f"the method {point.method} changes the text, and labeled spans would not fit "
                    "it any more; leave out tags, or train on the text itself"
                )
            if sort == TEXT:
                text_settings(study, point.settings, point.method)
            if sort == SYNTHESIS:
                synthesis_settings(study, point.settings, point.method)
            if sort == VECTORS:
                vector_settings(study, point.settings, point.method)

    def all(self) -> Iterator[Cell]:
        yield self.corpus
        extra = sorted(
            {seed for point, _ in self.points for seed in point.seeds or ()} - set(self.study.seeds)
        )
        for seed in (*self.study.seeds, *extra):
            if self.study.anchors:
                yield from self._anchors(seed)
            make = {
                TEXT: self._text,
                VECTORS: self._vectors,
                SYNTHESIS: self._synthetic,
                MODEL: self._trained,
            }
            for point, sort in self.points:
                if seed in (self.study.seeds if point.seeds is None else point.seeds):
                    yield from make[sort](point, seed)

    def _vectors(self, point: GridPoint, seed: int) -> Iterator[Cell]:
        settings = vector_settings(self.study, point.settings, point.method)
        if self.study.charged:
            settings |= {CHARGED: True}
        made = self._cell(cells.VECTORS, point, seed, settings=settings, inputs=(self.corpus,))
        yield made
        yield from self._looks(made, VECTORS)

    def _text(self, point: GridPoint, seed: int) -> Iterator[Cell]:
        settings = text_settings(self.study, point.settings, point.method)
        if self.study.charged:
            settings |= {CHARGED: True}
        release = self._cell(cells.RELEASE, point, seed, settings=settings, inputs=(self.corpus,))
        yield release
        yield from self._looks(release, "text")
        if self.study.model is not None:
            yield from self._model(point, seed, _training_of(point), release)

    def _synthetic(self, point: GridPoint, seed: int) -> Iterator[Cell]:
        settings = synthesis_settings(self.study, point.settings, point.method)
        made = self._cell(cells.SYNTHETIC, point, seed, settings=settings, inputs=(self.corpus,))
        yield made
        yield from self._model(point, seed, _training_of(point), made)

    def _trained(self, point: GridPoint, seed: int) -> Iterator[Cell]:
        if self.study.model is None:
            raise InvalidArgument(f"{point.method} trains a model, and there is no [model]")
        yield from self._model(point, seed, dict(point.settings), self.corpus)

    def _model(
        self, point: GridPoint, seed: int, training: dict[str, Any], text: Cell
    ) -> Iterator[Cell]:
        settings = _run_settings(self.study, training, point.method)
        if self.study.charged and _has_noise(self.study, settings["training"]):
            settings |= {CHARGED: True}
        inputs = (self.corpus,) if text is self.corpus else (self.corpus, text)
        run = self._cell(cells.RUN, point, seed, settings=settings, inputs=inputs)
        yield run
        yield from self._looks(run, "model")
        if self.study.coins is not None and settings["training"] is not None:
            looked = {"guesses": self.study.coins.guesses}
            inputs = (self.corpus, run)
            yield self._cell(cells.AUDIT, point, seed, settings=looked, inputs=inputs)

    def _looks(self, target: Cell, what: str) -> Iterator[Cell]:
        point = GridPoint(
            method=target.method,
            parameter=target.parameter,
            level=target.level,
            settings={},
            priority=target.priority,
        )
        groups = {"groups": self.study.groups} if self.study.groups else {}
        for name, (measure, given) in self.measures.items():
            if (TEXT if measure.of == MECHANISM else measure.of) == what:
                yield self._cell(
                    cells.MEASURE,
                    point,
                    target.seed,
                    name=name,
                    settings={"settings": given}
                    | groups
                    | self._files(type(measure), given)
                    | meaning_of(self.study, given)
                    | code_identity(self.study, name),
                    inputs=(self.corpus, target),
                )
        for name, (attack, given) in self.attacks.items():
            if attack.target == what:
                yield self._cell(
                    cells.ATTACK,
                    point,
                    target.seed,
                    name=name,
                    settings={"settings": given}
                    | groups
                    | self._files(type(attack), given)
                    | code_identity(self.study, name),
                    inputs=(self.corpus, target),
                )

    def _files(self, component: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
        found = find_named_files(self.study, component, given)
        return {"files": found} if found else {}

    def _anchors(self, seed: int) -> Iterator[Cell]:
        """A text without noise and one of noise only; a model trained on the originals and one that
        was never trained.
        """
        own = anchor_settings(point for point, sort in self.points if sort == TEXT)
        if own is not None and self._looked_at(TEXT):
            for name, chosen in TEXT_ANCHORS.items():
                point = GridPoint(method=name, parameter=None, level=None, settings={})
                settings = text_settings(self.study, own | chosen, name)
                if name == NO_PRIVACY and not self.study.corpus.copied:
                    # Without noise it is the private text itself, which is never copied.
                    settings |= {LINKED: True}
                release = self._cell(
                    cells.RELEASE, point, seed, settings=settings, inputs=(self.corpus,)
                )
                yield release
                yield from self._looks(release, "text")
        yield from self._vector_anchors(seed)
        if self.study.model is not None:
            for name, training in ((NO_PRIVACY, {"training": Plain.name}), (RANDOM_OUTPUT, None)):
                point = GridPoint(method=name, parameter=None, level=None, settings={})
                settings = _run_settings(self.study, training, name)
                run = self._cell(cells.RUN, point, seed, settings=settings, inputs=(self.corpus,))
                yield run
                yield from self._looks(run, "model")

    def _looked_at(self, what: str) -> bool:
        return any(attack.target == what for attack, _ in self.attacks.values()) or any(
            measure.of == what for measure, _ in self.measures.values()
        )

    def _vector_anchors(self, seed: int) -> Iterator[Cell]:
        own = vector_anchor_settings(point for point, sort in self.points if sort == VECTORS)
        if own is None or not self._looked_at(VECTORS):
            return
        for name, chosen in VECTOR_ANCHORS.items():
            if name == NO_PRIVACY and not self.study.corpus.copied:
                continue  # without noise the vectors show a private text, which is never copied
            point = GridPoint(method=name, parameter=None, level=None, settings={})
            settings = vector_settings(self.study, own | chosen, name)
            made = self._cell(cells.VECTORS, point, seed, settings=settings, inputs=(self.corpus,))
            yield made
            yield from self._looks(made, VECTORS)

    def _cell(
        self,
        kind: str,
        point: GridPoint,
        seed: int,
        *,
        settings: Mapping[str, Any],
        name: str = "",
        inputs: tuple[Cell, ...],
    ) -> Cell:
        return Cell(
            kind=kind,
            corpus=self.called,
            method=point.method,
            parameter=point.parameter,
            level=point.level,
            seed=seed,
            name=name,
            settings=settings,
            inputs=inputs,
            priority=point.priority,
        )


def _training_of(point: GridPoint) -> dict[str, Any]:
    """How a model is trained on a text that a method has made."""
    given = point.settings.get("training", Plain.name)
    return {"training": given} if isinstance(given, str) else dict(given)


def _has_noise(study: StudySpec, training: Mapping[str, Any] | None) -> bool:
    """Whether a training run is a release with a level of its own."""
    if training is None:
        return False
    named = {"method": study.component_name(training["method"])}
    chosen = Training.of(dict(training) | named)
    return chosen.built_method().adds_noise and chosen.epsilon != math.inf


def _refuse_too_many(study: StudySpec, found: list[GridPoint]) -> None:
    wanted = sum(len(point.seeds or study.seeds) for point in found)
    if wanted > MOST_POINTS:
        raise InvalidArgument(
            f"the study has {wanted:,} points over all methods and seeds, and at most "
            f"{MOST_POINTS:,} are allowed: split it into several studies"
        )


def _refuse_two_in_one_place(study: StudySpec, found: list[GridPoint]) -> None:
    """Methods that share a name are one curve, so they must differ in level or seed."""
    places: set[tuple[str, float | None, int]] = set()
    for point in found:
        for seed in point.seeds or study.seeds:
            place = (point.method, point.level, seed)
            if place in places:
                at = "" if point.level is None else f" at {point.level:g}"
                raise InvalidArgument(
                    f"the method {point.method!r} is there twice{at}: give one of them another name"
                )
            places.add(place)


def _sort(point: GridPoint) -> str:
    """What a method makes: a text, vectors, a synthetic corpus, or a model."""
    if SYNTHESIS in point.settings:
        if "mechanism" in point.settings or REPRESENTATION in point.settings:
            raise InvalidArgument(
                f"{point.method} makes a synthetic corpus: it has no mechanism and no "
                "representation"
            )
        return SYNTHESIS
    if REPRESENTATION in point.settings:
        if "mechanism" in point.settings or "training" in point.settings:
            raise InvalidArgument(
                f"{point.method} names a representation, which makes vectors: it has no mechanism "
                "and no training"
            )
        return VECTORS
    return TEXT if _is_text(point) else MODEL


def _is_text(point: GridPoint) -> bool:
    given = point.settings.get("training", "")
    if not isinstance(given, str | Mapping):
        raise InvalidArgument(f"the training of {point.method} must be a name or a table")
    if ("mechanism" in point.settings) == (isinstance(point.settings.get("training"), str)):
        if "mechanism" in point.settings:
            return True  # ``training`` names the method that trains on the privatized text
        raise InvalidArgument(
            f"{point.method} needs a mechanism, which privatizes text, a representation, which "
            "makes vectors, or training = METHOD"
        )
    return "mechanism" in point.settings


def _run_settings(
    study: StudySpec, training: Mapping[str, Any] | None, name: str
) -> dict[str, Any]:
    """The settings of a training run: the study's model and defaults, then the method's own."""
    model = model_settings(study)
    if training is None:
        return {"model": model, "training": None, "policy": None}
    own = dict(training)
    policy = resolve_policy(study, own) if "policy" in own else None
    method = own.pop("training", own.pop("method", Training.method))
    usual = {key: own[key] for key in own if key not in ("policy", "except")}
    chosen = training_settings(study, {"method": method} | usual, name)
    files = find_named_files(study, study.component("methods", chosen["method"]), chosen)
    return (
        {"model": model, "training": chosen, "policy": policy}
        | ({"files": files} if files else {})
        | code_identity(study, chosen["method"])
    )
