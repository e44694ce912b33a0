"""``sfumato calibrate``: levels of different methods at which one attack finds equally much."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import cell, note, print_json, stdout, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sfumato.calibration.curves import LevelEstimate
    from sfumato.calibration.inverse import Inversion
    from sfumato.calibration.results import Calibration


def calibrate(  # noqa: PLR0913  # a command's options are its parameters
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The folder of a study.")],
    attack: Annotated[
        str | None,
        typer.Option("--attack", help="The attack that measures leakage. [default: the first]"),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", help="A figure of the attack. [default: the first]")
    ] = None,
    target: Annotated[
        list[str],
        typer.Option("--target", metavar="X[,Y…]", help="Leakage to compare at; may be repeated."),
    ] = [],  # noqa: B006
    utility: Annotated[
        str | None,
        typer.Option("--utility", metavar="METRIC", help="[default: perplexity, else the first]"),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", metavar="NAME", help="The corpus, if the study has several."),
    ] = None,
    public_proxy: Annotated[
        str | None,
        typer.Option(
            "--public-proxy",
            metavar="TEXT",
            help="The public corpus that the study was run on in place of the private one.",
        ),
    ] = None,
    output: options.ChartOption = None,
    overwrite: options.OverwriteOption = False,
    json: options.JsonOption = False,
) -> None:
    """Put every method at the level at which an attack finds as much as a target says.

    Epsilons of different notions cannot be compared, measured leakage can. An attack whose finding
    does not follow the level is called unfit. A measurement, never a guarantee.

    Example: sfumato calibrate out --attack exposure --target 2,4 -o chart.svg
    """
    from sfumato.verbs.calibrate import calibrate as calibrate_methods

    targets = _targets(target)
    if output is not None:
        from sfumato.charts.chart import ready_for

        ready_for(output, overwrite=overwrite)
    found = calibrate_methods(
        study,
        attack=attack,
        metric=metric,
        target=targets,
        utility=utility,
        corpus=corpus,
        public_proxy=public_proxy,
    )
    if output is not None:
        found.chart().save(output, overwrite=overwrite)
    print_json(found.as_dict(), indent=2) if json else _print(found)
    if attack is None or metric is None:
        note(f"leakage is {found.leakage.metric} as measured by {found.leakage.by}")
    if output is not None:
        note(f"the chart is in {output}")


def _targets(given: list[str]) -> list[float]:
    from sfumato.core.errors import InvalidArgument

    try:
        return [float(part) for text in given for part in text.split(",")]
    except ValueError:
        raise InvalidArgument("--target takes numbers, separated by commas, such as 2,4") from None


def _print(found: Calibration) -> None:
    from sfumato.calibration.fitness import RESAMPLED

    console = stdout()
    figure, use = found.leakage, found.utility
    console.print(
        f"leakage: {figure.metric} by {figure.by} ({figure.better} is better); utility: "
        + ("none measured" if use is None else f"{use.metric} ({use.better} is better)"),
        markup=False,
    )
    console.print(_ends(found))
    console.print()
    console.print(_fitness(found))
    for each in found.targets:
        _print_target(console, found, each)
    console.print()
    for sentence in (*found.notes, RESAMPLED, found.sentence):
        console.print(visible(sentence), markup=False)


def _ends(found: Calibration) -> Table:
    table = _table("without a level", "leakage", "95 % interval", "utility", "95 % interval")
    for one in (*found.anchors, *found.fixed):
        table.add_row(cell(one.name), *_cells(one.leakage), *_cells(one.utility))
    return table


def _fitness(found: Calibration) -> Table:
    from rich.table import Table

    table = Table("method", "parameter", box=None)
    table.add_column("levels", justify="right")
    table.add_column("seeds", justify="right")
    table.add_column("for calibration")
    table.add_column("why")
    for one in found.methods:
        table.add_row(
            cell(one.name),
            cell(one.parameter),
            str(len(one.leakage.levels)),
            str(one.leakage.seeds),
            one.fitness.verdict,
            cell(one.fitness.why),
        )
    return table


def _print_target(console: Console, found: Calibration, target: float) -> None:
    name = f"{found.leakage.metric} = {target:g}"
    console.print(f"\nat equal leakage, {name}:", markup=False)
    table = _table("method", "level", "95 % interval", "utility", "95 % interval")
    for method in found.methods:
        at = next(one for one in method.targets if one.inversion.target == target)
        level, interval = _level(at.inversion)
        value, around = _cells(at.utility)
        open_end = " and on" if at.utility_open else ""
        named = cell(f"{method.name}, {method.parameter}")
        table.add_row(named, level, interval, value, around + open_end)
    console.print(table)
    for method in found.methods:
        at = next(one for one in method.targets if one.inversion.target == target)
        if at.inversion.level is None:
            console.print(f"{visible(method.name)}: {at.inversion.status}", markup=False)


def _level(found: Inversion) -> tuple[str, str]:
    """A level and its interval for people; an end past the levels tried is said to be open."""
    level = "–" if found.level is None else _number(found.level)
    if found.low is None or found.high is None:
        return level, "–"
    low = f"≤ {_number(found.low)}" if found.open_low else _number(found.low)
    past = found.open_high and math.isfinite(found.high)  # nothing is past infinity
    high = f"≥ {_number(found.high)}" if past else _number(found.high)
    return level, f"{low} – {high}"


def _cells(estimate: LevelEstimate | None) -> tuple[str, str]:
    if estimate is None:
        return "–", "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.4g}", "–"
    return f"{estimate.value:.4g}", f"{estimate.low:.4g} – {estimate.high:.4g}"


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"


def _table(first: str, *numbers: str) -> Table:
    from rich.table import Table

    table = Table(first, box=None)
    for title in numbers:
        table.add_column(title, justify="right", no_wrap=True)
    return table
