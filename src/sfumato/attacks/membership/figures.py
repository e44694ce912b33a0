"""From scores to figures: AUC, advantage, accuracy, hits at few false alarms, and the control.

``chapter`` makes what a report shows of many attempts: ROC curves of one signal against every
method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.membership import most_advantage, most_hits, most_ordered
from sfumato.attacks.attack import Attempt
from sfumato.attacks.membership.classifier import METRIC as WITHOUT_MODEL
from sfumato.attacks.model_target import ModelTarget
from sfumato.charts.chapter import Chapter, Drawing, Listing, Topic
from sfumato.charts.inference import RocPoints, roc_chart
from sfumato.charts.numbers import interval
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.results.measured import Measured
from sfumato.results.row import ANCHORS
from sfumato.results.scores import Control
from sfumato.statistics.ranking import (
    accuracy_at_median,
    advantage,
    advantage_of,
    hits_at,
    measure_auc,
    roc_points,
    smallest_rate,
)

ALONE = "auc references alone"
YEOM = "yeom"
# Figures of no model, and of a rule that was told something about the members.
_UNBOUNDED = (WITHOUT_MODEL, ALONE, f"advantage {YEOM}")
RATES = {"1%": 0.01, "0.1%": 0.001}
# More curves could not be distinguished in one chart.
MOST_CURVES = 14
RECOGNITION = Topic(
    name="recognition",
    title="Who is recognized as a member",
    lead="An attacker who holds some texts wants to know which of them were used for training. The "
    "curve shows which share of them is found at each rate of false alarms. The left end matters "
    "most, where the attacker is sure. The dotted line is chance.",
    order=10,
)
CONTROL = "the same scores on others alone, split in two at random: there is nothing to find"


@dataclass
class Findings:
    """The figures so far, with what chance would score, and the figures of the control."""

    randomness: Randomness
    figures: list[Measured] = field(default_factory=list)
    chance: dict[str, float] = field(default_factory=dict)
    controls: list[Measured] = field(default_factory=list)
    roc: dict[str, Any] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)
    allowed: list[list[float]] = field(default_factory=list)

    def add(self, figure: Measured, chance: float) -> None:
        """Add one figure."""
        self.figures.append(figure)
        self.chance[figure.metric] = chance

    def add_signal(
        self, name: str, members: Floats, others: Floats, half: NDArray[np.bool_]
    ) -> None:
        """Add all figures of a signal; ``half`` of the others play the members in the control."""
        self.add(measure_auc(f"auc {name}", members, others, self.randomness), 0.5)
        self.add(advantage(f"advantage {name}", members, others, self.randomness), 0.0)
        self.add(accuracy_at_median(f"accuracy {name}", members, others), 0.5)
        for said, rate in RATES.items():
            if smallest_rate(len(others)) <= rate:
                self.add(hits_at(f"tpr@{said}fpr {name}", members, others, rate), rate)
        self.controls.append(
            measure_auc(f"auc {name}", others[half], others[~half], self.randomness)
        )
        self.roc[name] = [list(point) for point in roc_points(members, others)]

    def add_rule(self, name: str, hits: NDArray[np.bool_], alarms: NDArray[np.bool_]) -> None:
        """Add TPR − FPR of a rule with a threshold of its own."""
        self.add(advantage_of(f"advantage {name}", hits, alarms), 0.0)

    def add_claim(self, target: ModelTarget) -> list[str]:
        """Bounds on the figures so far by what the run claims of a text, and a note on them."""
        epsilon, delta = target.epsilon, target.delta or 0.0
        if epsilon is None or not isfinite(epsilon) or not _is_about_texts(target):
            return []
        for one in self.figures:
            kind = one.metric.split(" ")[0]
            if one.metric in _UNBOUNDED or kind not in ("auc", "advantage", "accuracy"):
                continue
            most = most_advantage(epsilon, delta)
            limit = {"auc": most_ordered(epsilon, delta), "accuracy": (1 + most) / 2}
            self.bounds[one.metric] = limit.get(kind, most)
        rates = [10.0 ** (step / 10) for step in range(-40, 1)]
        self.allowed = [[one, most_hits(epsilon, delta, one)] for one in rates]
        return [
            f"what (ε = {epsilon:.4g}, δ = {delta:.2g}) proves of a text: an advantage of at most "
            f"{most_advantage(epsilon, delta):.4g}, an AUC of at most "
            f"{most_ordered(epsilon, delta):.4g} and {most_hits(epsilon, delta, 0.01):.4g} hits at "
            "1% false alarms, on average over which texts are members, if a fair coin decided that "
            "of each"
        ]

    def control(self) -> Control:
        """The figures of the control, where there is nothing to find."""
        return Control(what=CONTROL, figures=tuple(self.controls))

    def details(self) -> Mapping[str, Any]:
        """For the chart."""
        claimed = {"bounds": self.bounds, "allowed": self.allowed} if self.bounds else {}
        return {"roc": self.roc, **claimed}


def _is_about_texts(target: ModelTarget) -> bool:
    """Whether the claim is about one text that is added or removed."""
    plan = (target.settings or {}).get("plan")
    said = plan if isinstance(plan, dict) else {}
    one_text = said.get("unit", "example") == "example"
    # Runs with a text and without it are no neighbors if one text takes the place of another.
    there_or_not = said.get("neighbors", "add-or-remove") == "add-or-remove"
    known = target.notion in (Notion.PURE_DP, Notion.APPROXIMATE_DP)
    return known and one_text and there_or_not


def too_few(others: int) -> str | None:
    """A note on the false-alarm rates that so many others cannot show."""
    unseen = [said for said, rate in RATES.items() if smallest_rate(others) > rate]
    if not unseen:
        return None
    needed = round(1 / min(RATES[said] for said in unseen))
    return (
        f"hits at {' and '.join(unseen)} false alarms are not reported: {others:,} others cannot "
        f"show them; give {needed:,} or more"
    )


def chapter(attempts: Sequence[Attempt]) -> Chapter | None:
    """The curves of the signal with the largest area anywhere, and the areas of all signals."""
    found = [(one, curves) for one in attempts if (curves := _curves(one))]
    if not found:
        return None
    areas = [(one, name) for one, curves in found for name in curves]
    _, best = max(areas, key=lambda place: _area(*place).value)
    first = min(one.seed for one, _ in found)
    drawable = [
        (one, curves[best]) for one, curves in found if one.seed == first and best in curves
    ]
    chosen = _some(drawable)
    left_out = (
        ""
        if len(chosen) == len(drawable)
        else (
            f" Of {len(drawable)} curves {len(chosen)} are drawn: of each method the first and the "
            "last level."
        )
    )
    rows = [
        (one.said, name, one.seed, area.value, interval(area.low, area.high), area.n)
        for one, name in areas
        for area in (_area(one, name),)
    ]
    legend = {one.said: _area(one, best).value for one, _ in chosen}
    drawing = Drawing(
        title="Hits against false alarms.",
        description=f"The signal is '{best}', chosen because it has the largest area here"
        f"; seed {first}.{left_out}",
        listing=Listing(
            caption="Area under the curve of every signal; 0.5 is chance",
            head=("method", "signal", "seed", "AUC", "95 % interval", "texts"),
            rows=rows,
        ),
        draw=lambda: roc_chart({one.said: curve for one, curve in chosen}, legend),
    )
    return Chapter(topic=RECOGNITION, parts=[drawing])


def _curves(attempt: Attempt) -> dict[str, RocPoints]:
    """The curves of the signals whose area is known."""
    curves = attempt.scores.details.get("roc")
    if not isinstance(curves, dict):
        return {}
    known = {one.metric for one in attempt.scores.figures if not isnan(one.value)}
    return {name: curve for name, curve in curves.items() if curve and f"auc {name}" in known}


def _area(attempt: Attempt, signal: str) -> Measured:
    return attempt.scores.figure(f"auc {signal}")


def _some(found: list[tuple[Attempt, RocPoints]]) -> list[tuple[Attempt, RocPoints]]:
    """All curves, or of each method the first and the last level if there are too many."""
    if len(found) <= MOST_CURVES:
        return found
    by_method: dict[str, list[tuple[Attempt, RocPoints]]] = {}
    for attempt, curve in found:
        by_method.setdefault(attempt.method, []).append((attempt, curve))
    ordered = sorted(by_method.values(), key=lambda some: some[0][0].method not in ANCHORS)
    ends = []
    for some in ordered:
        some.sort(key=lambda one: one[0].level or 0.0)
        ends += [some[0]] if len(some) == 1 else [some[0], some[-1]]
    return ends[:MOST_CURVES]
