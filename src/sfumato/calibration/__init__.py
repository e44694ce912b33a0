"""Levels of different methods at which one attack finds equally much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.calibration.equal_leakage import calibrate_methods as calibrate_methods
    from sfumato.calibration.fitness import Fitness as Fitness
    from sfumato.calibration.permission import Basis as Basis
    from sfumato.calibration.permission import basis as basis
    from sfumato.calibration.results import Calibration as Calibration
    from sfumato.calibration.select import select_rows as select_rows
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.calibration.equal_leakage": "calibrate_methods",
            "sfumato.calibration.fitness": "Fitness",
            "sfumato.calibration.permission": "Basis basis",
            "sfumato.calibration.results": "Calibration",
            "sfumato.calibration.select": "select_rows",
        },
    )

__all__ = [
    "Basis",
    "Calibration",
    "Fitness",
    "basis",
    "calibrate_methods",
    "select_rows",
]
