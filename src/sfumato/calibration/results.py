"""The result of a calibration, its chart, and what a reader must know to judge it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.calibration.curves import Curve, LevelEstimate
from sfumato.calibration.fitness import CANNOT_TELL, RESAMPLED, Fitness
from sfumato.calibration.inverse import REACHED, Inversion
from sfumato.calibration.permission import Basis
from sfumato.calibration.select import ChosenFigure, Selected
from sfumato.charts.calibration import calibration_chart
from sfumato.charts.chart import Chart
from sfumato.charts.sweeps import Anchor, Labels, Spot, Sweep
from sfumato.core.display import as_html, as_lines
from sfumato.core.json import write_number
from sfumato.results.measured import CONFIDENCE

SCHEMA = 1
NOT_A_GUARANTEE = (
    "This is a measurement with one attack on one corpus, not a guarantee: another attack may find "
    "more, and it proves nothing about any level."
)


@dataclass(frozen=True, kw_only=True)
class AtTarget:
    """A method at a target: its level, and its utility there if that is known.

    ``utility_open`` says that the interval of the level extends beyond the levels tried, so that
    the interval of utility covers only a part of it.
    """

    inversion: Inversion
    utility: LevelEstimate | None = None
    utility_open: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **self.inversion.as_dict(),
            "utility": _write(self.utility),
            "utility_open": self.utility_open,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class MethodAtTargets:
    """One method: its curves, whether they are fit for calibration, and its level at each target.

    ``fit`` is the monotone curve of leakage at the levels of ``leakage``, None if that is unfit.
    """

    name: str
    parameter: str
    leakage: Curve
    utility: Curve | None
    fitness: Fitness
    fit: tuple[float, ...] | None
    targets: tuple[AtTarget, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON, the figures at each level included."""
        return {
            "method": self.name,
            "parameter": self.parameter,
            "seeds": self.leakage.seeds,
            "fitness": self.fitness.as_dict(),
            "leakage": _levels(self.leakage),
            "fit": None if self.fit is None else list(self.fit),
            "utility": None if self.utility is None else _levels(self.utility),
            "targets": [one.as_dict() for one in self.targets],
        }


@dataclass(frozen=True, kw_only=True)
class Single:
    """An anchor, or a method without a parameter: one point, as far as it is known."""

    name: str
    leakage: LevelEstimate | None
    utility: LevelEstimate | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "method": self.name,
            "leakage": _write(self.leakage),
            "utility": _write(self.utility),
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Calibration:
    """All methods at all targets, both anchors, and notes for the reader."""

    selected: Selected
    targets: tuple[float, ...]
    basis: Basis
    methods: tuple[MethodAtTargets, ...]
    anchors: tuple[Single, ...]
    fixed: tuple[Single, ...]
    notes: tuple[str, ...]

    @property
    def leakage(self) -> ChosenFigure:
        """The figure of leakage that methods are calibrated by."""
        return self.selected.leakage

    @property
    def utility(self) -> ChosenFigure | None:
        """The figure of utility."""
        return self.selected.utility

    @property
    def sentence(self) -> str:
        """The caveat that must be shown with the table."""
        return f"{NOT_A_GUARANTEE} {self.basis.sentence}"

    def chart(self) -> Chart:
        """Leakage and utility against each parameter, and against each other."""
        return _chart_of(self)

    def __repr__(self) -> str:
        facts = [
            (f"{method.name} ({method.parameter})", ", ".join(self._said(method)))
            for method in self.methods
        ]
        title = f"Calibration by {self.leakage.metric} of {self.leakage.by}"
        return as_lines(title, [*facts, ("care", self.sentence)])

    def _repr_html_(self) -> str:
        rows = [
            (method.name, method.parameter, ", ".join(self._said(method)))
            for method in self.methods
        ]
        title = f"Calibration by {self.leakage.metric} of {self.leakage.by}"
        return as_html(title, ("method", "parameter", "level"), rows, [*self.notes, self.sentence])

    def _said(self, method: MethodAtTargets) -> Iterator[str]:
        yield f"{method.fitness.verdict} for calibration"
        for one in method.targets:
            found = one.inversion
            level = found.status if found.level is None else f"level {found.level:.4g}"
            yield f"{level} at {found.target:g}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema": SCHEMA,
            "leakage": self.leakage.as_dict(),
            "utility": None if self.utility is None else self.utility.as_dict(),
            "targets": list(self.targets),
            "confidence": CONFIDENCE,
            "methods": [method.as_dict() for method in self.methods],
            "anchors": [anchor.as_dict() for anchor in self.anchors],
            "without_parameter": [one.as_dict() for one in self.fixed],
            "left_out": dict(self.selected.left_out),
            "public_proxy": self.basis.proxy,
            "notes": list(self.notes),
            "resampling": RESAMPLED,
            "sentence": self.sentence,
        }


def _write(estimate: LevelEstimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.as_dict()


def _levels(curve: Curve) -> list[dict[str, Any]]:
    return [
        {"level": write_number(level), **curve.at(index).as_dict()}
        for index, level in enumerate(curve.levels)
    ]


# Levels that cover less than this share of the range between the anchors say little.
NARROW = 0.1
# A step between neighboring levels that exceeds this share of the range is a jump.
JUMP = 0.5


def notes_of(
    methods: Sequence[MethodAtTargets], anchors: Sequence[Single], selected: Selected
) -> Iterator[str]:
    """What is missing, what was left out, and what the levels tried do not show."""
    missing = [one.name for one in anchors if one.leakage is None]
    if missing:
        yield f"not measured, and not drawn: the anchor(s) {', '.join(missing)}"
    for reason, count in selected.left_out.items():
        if count:
            yield f"left out: {count} row(s) {reason}"
    unsure = [one.name for one in methods if one.fitness.verdict == CANNOT_TELL]
    if unsure:
        names = ", ".join(unsure)
        yield f"{names}: levels assume a monotone curve, which these figures do not show"
    for method in methods:
        yield from _of_method(method, anchors)


def _of_method(method: MethodAtTargets, anchors: Sequence[Single]) -> Iterator[str]:
    if method.fit is None:
        return
    if method.leakage.band() is None:
        yield f"{method.name}: one seed and no intervals in its rows, so no interval is known"
    whole = max(method.fit) - min(method.fit)
    ends = [one.leakage.value for one in anchors if one.leakage is not None]
    if len(ends) == 2 and whole < NARROW * abs(ends[0] - ends[1]):
        share = 100 * whole / abs(ends[0] - ends[1])
        yield f"{method.name}: its levels cover {share:.0f} % of the range between the anchors"
    gaps = {_jump(method, one.inversion, whole) for one in method.targets}
    for low, high in sorted(gap for gap in gaps if gap is not None):
        yield f"{method.name}: leakage jumps between {low:g} and {high:g}; try levels between them"


def _jump(method: MethodAtTargets, found: Inversion, whole: float) -> tuple[float, float] | None:
    """The two neighboring levels around an answer, if leakage jumps between them."""
    if found.status != REACHED or found.level is None or method.fit is None:
        return None
    levels = method.leakage.levels
    for index in range(len(levels) - 1):
        low, high = levels[index], levels[index + 1]
        if low < found.level < high and abs(method.fit[index + 1] - method.fit[index]) > (
            JUMP * whole
        ):
            return low, high
    return None


def _chart_of(found: Calibration) -> Chart:
    """Leakage and utility against each parameter, and against each other, with both anchors."""
    sweeps = [one for method in found.methods for one in _sweeps(method)]
    anchors = [_anchor(one) for one in (*found.anchors, *found.fixed)]
    missing = [one.name for one in found.anchors if one.leakage is None]
    said = "measured with one attack, not a guarantee; means over seeds with 95 % intervals"
    if len({one.parameter for one in found.methods}) < len(found.methods):
        said += "; equal levels of different methods are not equal privacy"
    labels = Labels(
        leakage=_title(found.leakage),
        utility=None if found.utility is None else _title(found.utility),
        targets=found.targets,
        subtitle=f"{said}; not measured: {', '.join(missing)}" if missing else said,
    )
    return calibration_chart(sweeps, anchors, labels)


def _title(figure: ChosenFigure) -> str:
    name = figure.metric if figure.metric == figure.by else f"{figure.metric} ({figure.by})"
    return f"{name}, {figure.better} is better"


def _sweeps(method: MethodAtTargets) -> Iterator[Sweep]:
    use = {} if method.utility is None else {
        level: method.utility.at(index) for index, level in enumerate(method.utility.levels)
    }  # fmt: skip
    for index, level in enumerate(method.leakage.levels):
        yield Sweep(
            method=method.name,
            parameter=method.parameter,
            level=level,
            leakage=_spot(method.leakage.at(index)),
            utility=_spot(use.get(level)),
            fitted=None if method.fit is None else method.fit[index],
        )


def _anchor(one: Single) -> Anchor:
    return Anchor(name=one.name, leakage=_spot(one.leakage), utility=_spot(one.utility))


def _spot(estimate: LevelEstimate | None) -> Spot | None:
    if estimate is None:
        return None
    return Spot(value=estimate.value, low=estimate.low, high=estimate.high)
