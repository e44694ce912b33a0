"""From scores to figures: AUC, advantage, accuracy, hits at few false alarms, and the control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured
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

RATES = {"1%": 0.01, "0.1%": 0.001}
CONTROL = "the same scores on others alone, split in two at random: there is nothing to find"


@dataclass
class Findings:
    """Figures as they come in, with what chance would score, and the same on the control."""

    randomness: Randomness
    figures: list[Measured] = field(default_factory=list)
    chance: dict[str, float] = field(default_factory=dict)
    controls: list[Measured] = field(default_factory=list)
    roc: dict[str, Any] = field(default_factory=dict)

    def add(self, figure: Measured, chance: float) -> None:
        """One figure."""
        self.figures.append(figure)
        self.chance[figure.metric] = chance

    def add_signal(
        self, name: str, members: Floats, others: Floats, half: NDArray[np.bool_]
    ) -> None:
        """All figures of a signal; ``half`` of the others stand in for members in the control."""
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
        """TPR − FPR of a rule with a threshold of its own."""
        self.add(advantage_of(f"advantage {name}", hits, alarms), 0.0)

    def control(self) -> Control:
        """What the same scores say where nothing can be found."""
        return Control(what=CONTROL, figures=tuple(self.controls))

    def details(self) -> Mapping[str, Any]:
        """For the chart."""
        return {"roc": self.roc}


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
