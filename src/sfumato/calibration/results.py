"""What a calibration found, ready for a table, a chart or JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.accounting.empirical import written
from sfumato.calibration.choosing import Basis
from sfumato.calibration.curves import Curve, Estimate
from sfumato.calibration.fitness import Fitness
from sfumato.calibration.inverse import Inversion
from sfumato.calibration.noise import CONFIDENCE
from sfumato.calibration.selecting import Figure, Selected

SCHEMA = 1
NOT_A_GUARANTEE = (
    "This is a measurement with one attack on one corpus, not a guarantee: another attack may find "
    "more, and nothing is proven about any level by it."
)


@dataclass(frozen=True, kw_only=True)
class AtTarget:
    """A method at a target: its level, and its utility there if that is known.

    ``utility_open`` says that the interval of utility covers the levels tried only, while that of
    the level runs past them.
    """

    inversion: Inversion
    utility: Estimate | None = None
    utility_open: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **self.inversion.as_dict(),
            "utility": _written(self.utility),
            "utility_open": self.utility_open,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Method:
    """One method: its curves, whether they are fit for calibration, and where it meets targets.

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
    """An anchor or a method without a parameter: one point, or what is known of it."""

    name: str
    leakage: Estimate | None
    utility: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "method": self.name,
            "leakage": _written(self.leakage),
            "utility": _written(self.utility),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """All methods, both anchors, and what to know before reading them."""

    selected: Selected
    targets: tuple[float, ...]
    basis: Basis
    methods: tuple[Method, ...]
    anchors: tuple[Single, ...]
    fixed: tuple[Single, ...]
    notes: tuple[str, ...]

    @property
    def leakage(self) -> Figure:
        """The figure that was calibrated by."""
        return self.selected.leakage

    @property
    def utility(self) -> Figure | None:
        """The figure of use."""
        return self.selected.utility

    @property
    def sentence(self) -> str:
        """What must stand beside the table."""
        return f"{NOT_A_GUARANTEE} {self.basis.sentence}"

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
            "sentence": self.sentence,
        }


def _written(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.as_dict()


def _levels(curve: Curve) -> list[dict[str, Any]]:
    return [
        {"level": written(level), **curve.at(index).as_dict()}
        for index, level in enumerate(curve.levels)
    ]
