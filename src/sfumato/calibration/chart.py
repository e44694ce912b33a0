"""A calibration as a chart."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.calibration.curves import LevelEstimate
from sfumato.calibration.results import Calibration, MethodAtTargets, Single
from sfumato.calibration.select import ChosenFigure
from sfumato.charts.calibration import calibration_chart
from sfumato.charts.chart import Chart
from sfumato.charts.sweeps import Anchor, Labels, Spot, Sweep


def chart_of(found: Calibration) -> Chart:
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
