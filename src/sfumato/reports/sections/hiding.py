"""How well words are hidden: deniability at every level, and what guessing finds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sfumato.charts.deniability import LevelLabels, LevelRow, deniability_chart
from sfumato.charts.guesses import guesses_chart
from sfumato.metrics.deniability import most_shown
from sfumato.reports.markup import CellValue, Html, Table
from sfumato.reports.numbers import as_number, plain
from sfumato.reports.parts import Figure, Section, draw_figure, paragraph
from sfumato.reports.studied import Studied, describe_method
from sfumato.studies.folder import CellRecord

# A chart for each attack on words would fill pages; the least protected ones are drawn.
MOST_GUESSES = 3
_SPREAD = ("low", "median", "high")


def hiding(study: Studied) -> Section | None:
    """A figure for each method's deniability, and the attacks that guess words."""
    figures = [*_deniability(study), *_guesses(study)]
    if not figures:
        return None
    said = paragraph(
        "A word is hidden if it may have been many others. N is the probability that a word stays "
        "as it is, S the number of words it may become. The median tells nothing about the words "
        "that are hidden least: they are drawn apart."
    )
    parts: list[Html | Figure] = [said, *figures]
    return Section(name="hiding", title="How well words are hidden", parts=parts)


def _deniability(study: Studied) -> list[Figure]:
    by_method: dict[str, dict[float, CellRecord]] = {}
    for cell in study.done:
        if cell.name == "deniability" and cell.level is not None and _readable(cell.details):
            by_method.setdefault(cell.method, {}).setdefault(cell.level, cell)
    return [_hidden(method, found) for method, found in by_method.items()]


def _readable(details: Mapping[str, Any]) -> bool:
    spreads = [details.get("keep"), details.get("outputs")]
    numbers = [details.get(name) for name in ("keep_worst", "outputs_worst", "draws", "eta")]
    numbers += [one.get(key) for one in spreads if isinstance(one, dict) for key in _SPREAD]
    return len(numbers) == 4 + 2 * len(_SPREAD) and None not in map(as_number, numbers)


def _hidden(method: str, found: Mapping[float, CellRecord]) -> Figure:
    levels = [_level(level, cell.details) for level, cell in sorted(found.items())]
    some = next(iter(found.values()))
    draws, eta = int(some.details["draws"]), float(some.details["eta"])
    words = max((row.n for row in some.rows), default=0)
    how = f"{draws:,} draws per word" if draws else "exact"
    held = f"fewest words that hold {1 - eta:.4g} of the probability (S)"
    labels = LevelLabels(
        title=method,
        subtitle=f"{words:,} frequent public words; {how}",
        outputs_title=f"{held}, at least" if draws else held,
        ceiling=(most_shown(draws, eta), "most that draws can show") if draws else None,
    )
    drawable = [one for one in levels if 0 < one.epsilon < math.inf and one.outputs_low > 0]
    return Figure(
        title=f"Deniability under {method}.",
        description=f"Over {words:,} frequent public words, {how}: the median word, the middle "
        "80 %, and the word that is protected least.",
        table=_table(method, levels),
        chart=draw_figure(lambda: deniability_chart(drawable, labels)) if drawable else None,
    )


def _level(level: float, details: Mapping[str, Any]) -> LevelRow:
    keep, outputs = details["keep"], details["outputs"]
    return LevelRow(
        epsilon=level,
        keep_low=keep["low"],
        keep_median=keep["median"],
        keep_high=keep["high"],
        keep_worst=details["keep_worst"],
        outputs_worst=details["outputs_worst"],
        outputs_low=outputs["low"],
        outputs_median=outputs["median"],
        outputs_high=outputs["high"],
    )


def _table(method: str, levels: list[LevelRow]) -> Table:
    rows: list[list[CellValue]] = [
        [
            plain(one.epsilon),
            one.keep_median,
            one.keep_high,
            one.keep_worst,
            one.outputs_median,
            one.outputs_low,
            one.outputs_worst,
        ]
        for one in levels
    ]
    head = (
        "level",
        "N, median",
        "N, 90 % below",
        "N, worst",
        "S, median",
        "S, 10 % below",
        "S, worst",
    )
    return Table(caption=f"Deniability under {method}", head=head, rows=rows)


def _guesses(study: Studied) -> list[Figure]:
    found = []
    for cell, scores in study.attacks("token-inference"):
        details = scores.get("details")
        success = details.get("success") if isinstance(details, dict) else None
        if success and all(as_number(one.get("share")) is not None for one in success):
            found.append((cell, scores, success))
    first = min((cell.seed for cell, *_ in found), default=0)
    found = [one for one in found if one[0].seed == first]
    found.sort(key=lambda one: -one[2][-1]["share"])
    return [_guessed(*one) for one in found[:MOST_GUESSES]]


def _guessed(cell: CellRecord, scores: Mapping[str, Any], success: list[dict[str, Any]]) -> Figure:
    details = scores["details"]
    said = f"attacker: {details.get('attacker')}; prior: {details.get('prior')}"
    rows: list[list[CellValue]] = [
        [str(one["guesses"]), one["share"], one["control"], one["chance"]] for one in success
    ]
    return Figure(
        title=f"Words inferred against {describe_method(cell)}.",
        description=f"Share of words found after so many guesses; {said}.",
        table=Table(
            caption="Share of words found",
            head=("guesses", "attacker", "null control", "best blind guesses"),
            rows=rows,
        ),
        chart=draw_figure(
            lambda: guesses_chart(success, title=describe_method(cell), subtitle=said)
        ),
    )
