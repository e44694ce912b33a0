"""Utility at equal leakage: each method at the level where one attack finds as much as a target.

Values of epsilon for different notions of privacy cannot be compared, but what one attack finds
can. Each method is set to the level at which its leakage meets the target, and its utility there is
read from its own curve.

Why the interval of utility holds
    The level lies in its interval, and the utility at that level lies in its band. Each may fail
    with half of the allowed error probability (97.5 % each for 95 %). If both hold, utility lies
    between the smallest and the largest value of the band over the interval of levels.

Care
    This is a measurement with one attack on one corpus, and no bound: another attack may find more.
    A level chosen this way has no guarantee but the one that the method proves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from sfumato.calibration.curves import Curve, LevelEstimate, curve_of, estimate_of
from sfumato.calibration.fitness import UNFIT, Anchors, fitness_of
from sfumato.calibration.inverse import UNFIT_CURVE, Inversion, fit_monotone, invert
from sfumato.calibration.permission import Basis
from sfumato.calibration.results import AtTarget, Calibration, MethodAtTargets, Single, notes_of
from sfumato.calibration.select import Selected, orient
from sfumato.core.checks import number
from sfumato.core.errors import BadInput
from sfumato.results.measured import CONFIDENCE
from sfumato.results.row import ANCHORS, HIGHER, NO_PRIVACY, RANDOM_OUTPUT, Row

# The intervals of level and utility share the allowed error probability.
HALF_THE_ERROR = 1 - (1 - CONFIDENCE) / 2


def calibrate_methods(selected: Selected, targets: Iterable[float], *, basis: Basis) -> Calibration:
    """Fit, judge and invert every method's curve, and read off its utility.

    ``basis`` comes from ``permission.basis``, which refuses figures that nothing may be chosen by.
    """
    wanted = tuple(dict.fromkeys(number("target", target) for target in targets))
    use = () if selected.utility is None else selected.utility.rows
    methods = tuple(_method(key, selected, wanted) for key in _swept(selected.leakage.rows))
    if not methods:
        raise BadInput(
            "nothing can be calibrated: no method of these rows was run at several levels of a "
            "parameter"
        )
    swept = {method.name for method in methods}
    present = dict.fromkeys(row.method for row in selected.leakage.rows)
    anchors = tuple(_single(name, selected.leakage.rows, use) for name in ANCHORS)
    return Calibration(
        selected=selected,
        targets=wanted,
        basis=basis,
        methods=methods,
        anchors=anchors,
        fixed=tuple(
            _single(name, selected.leakage.rows, use)
            for name in present
            if name not in swept and name not in ANCHORS
        ),
        notes=tuple(notes_of(methods, anchors, selected)),
    )


def _swept(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Methods with their parameters, in the order of the rows."""
    keys = ((row.method, row.parameter or "level") for row in rows if _has_level(row))
    return list(dict.fromkeys(keys))


def _has_level(row: Row) -> bool:
    return row.level is not None and not row.anchor


def _of(rows: Sequence[Row], key: tuple[str, str]) -> list[Row]:
    return [
        row for row in rows if _has_level(row) and (row.method, row.parameter or "level") == key
    ]


def _single(name: str, leakage: Sequence[Row], use: Sequence[Row]) -> Single:
    return Single(
        name=name,
        leakage=estimate_of([row for row in leakage if row.method == name]),
        utility=estimate_of([row for row in use if row.method == name]),
    )


def _method(key: tuple[str, str], selected: Selected, targets: Sequence[float]) -> MethodAtTargets:
    name, parameter = key
    rows = _of(selected.leakage.rows, key)
    use = [] if selected.utility is None else _of(selected.utility.rows, key)
    leaking = curve_of(orient(rows, larger="worse"), method=name, parameter=parameter)
    utility = curve_of(use, method=name, parameter=parameter) if use else None
    useful = (
        curve_of(orient(use, larger="better"), method=name, parameter=parameter) if use else None
    )
    fitness = fitness_of(leaking, useful, _anchors(selected))
    sign = -1.0 if selected.leakage.better == HIGHER else 1.0
    fit = None
    if fitness.verdict != UNFIT:
        fit = tuple((sign * fit_monotone(leaking, rising=fitness.rising)).tolist())
    return MethodAtTargets(
        name=name,
        parameter=parameter,
        leakage=curve_of(rows, method=name, parameter=parameter),
        utility=utility,
        fitness=fitness,
        fit=fit,
        targets=tuple(
            AtTarget(inversion=Inversion(target=target, status=UNFIT_CURVE))
            if fit is None
            else _at(sign * target, leaking, utility, fitness.rising, target)
            for target in targets
        ),
    )


def _anchors(selected: Selected) -> Anchors:
    rows = orient(selected.leakage.rows, larger="worse")
    return Anchors(
        no_privacy=estimate_of([row for row in rows if row.method == NO_PRIVACY]),
        random_output=estimate_of([row for row in rows if row.method == RANDOM_OUTPUT]),
    )


def _at(
    oriented_target: float, leaking: Curve, utility: Curve | None, rising: bool, target: float
) -> AtTarget:
    found = replace(invert(leaking, oriented_target, rising=rising), target=target)
    if utility is None or found.level is None:
        return AtTarget(inversion=found)
    wide = invert(leaking, oriented_target, rising=rising, confidence=HALF_THE_ERROR)
    value, is_open = utility_at(utility, wide, leaking)
    return AtTarget(inversion=found, utility=value, utility_open=is_open)


def utility_at(
    utility: Curve, found: Inversion, leaking: Curve
) -> tuple[LevelEstimate | None, bool]:
    """Utility at a level that was found, and whether its interval is cut off by the levels tried.

    Between levels it is interpolated linearly, on the scale of the curve of leakage.
    """
    axis = leaking.axis
    places = np.array([axis.place(level) for level in utility.levels])
    here = axis.place(found.level) if found.level is not None else np.nan
    if not places[0] <= here <= places[-1]:
        return None, False
    value = float(np.interp(here, places, utility.means))
    band = utility.band(HALF_THE_ERROR)
    count = int(utility.counts.min())
    if band is None or found.low is None or found.high is None:
        return LevelEstimate(value=value, low=None, high=None, n=count), False
    ends = np.array([axis.place(found.low), axis.place(found.high)])
    cut = np.clip(ends, places[0], places[-1])
    inside = places[(places > cut[0]) & (places < cut[1])]
    looked = np.concatenate([cut, inside])
    sides = band.around(utility.means)
    lower, upper = (np.interp(looked, places, side) for side in sides)
    is_open = found.open_low or found.open_high or bool((cut != ends).any())
    return LevelEstimate(
        value=value, low=float(lower.min()), high=float(upper.max()), n=count
    ), is_open
