"""How well one mechanism hides words at several levels: figures, JSON and a chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.display import as_html, as_lines
from sfumato.metrics.deniability import most_shown
from sfumato.metrics.population import Population
from sfumato.metrics.protection import Protection, Watched

if TYPE_CHECKING:
    from sfumato.charts.chart import Chart


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProtectionByLevel:
    """What a mechanism does to the same words at each of some levels.

    The words of a private text are named in ``levels`` only; the representation shows none.
    """

    mechanism: str
    settings: Mapping[str, object]
    eta: float
    population: Population
    watched: Watched
    levels: Mapping[float, Protection]

    @property
    def vectors(self) -> str:
        """The name of the public space."""
        return self.population.space.name

    @property
    def words(self) -> str:
        """Which words were looked at, in a phrase."""
        kind = (
            "distinct words of a private text"
            if self.population.private
            else "frequent public words"
        )
        return f"{len(self.population):,} {kind}"

    def __repr__(self) -> str:
        facts = [
            (
                f"epsilon {level:g}",
                f"the median word stays with {found.keep.median:.3g}, the least protected one "
                f"with {found.worst_keep:.3g}",
            )
            for level, found in self.levels.items()
        ]
        return as_lines(f"{self.mechanism} in {self.vectors}, {self.words}", facts)

    def _repr_html_(self) -> str:
        rows = [
            (f"{level:g}", *(f"{n:.3g}" for n in (one.keep.median, one.worst_keep)),
             f"{one.outputs.median:,.0f}", f"{one.worst_outputs:,}")
            for level, one in self.levels.items()
        ]  # fmt: skip
        heads = ("ε", "median N", "worst N", "median S", "worst S")
        return as_html(f"{self.mechanism} in {self.vectors}", heads, rows, [self.words])

    def as_dict(self) -> dict[str, Any]:
        """For JSON; only the least protected words are named."""
        population = self.population
        return {
            "mechanism": self.mechanism,
            "settings": dict(self.settings),
            "vectors": self.vectors,
            "eta": self.eta,
            "words": {
                "private": population.private,
                "distinct": len(population),
                "sampled": len(self.watched.sample),
                "isolated": len(self.watched.suspects),
                "unknown_occurrences": population.unknown,
            },
            "levels": [
                {"epsilon": level, **found.as_dict()} for level, found in self.levels.items()
            ],
        }

    def chart(self) -> Chart:
        """N and S at every level."""
        from sfumato.charts.deniability import LevelLabels, LevelRow, deniability_chart

        some = next(iter(self.levels.values()))
        exact = "exact" if some.exact else f"{some.draws} draws per word"
        held = f"fewest words that hold {100 * (1 - self.eta):.0f} % (S)"
        rows = [
            LevelRow(
                epsilon=level,
                keep_low=found.keep.low,
                keep_median=found.keep.median,
                keep_high=found.keep.high,
                keep_worst=found.worst_keep,
                outputs_worst=found.worst_outputs,
                outputs_low=found.outputs.low,
                outputs_median=found.outputs.median,
                outputs_high=found.outputs.high,
            )
            for level, found in self.levels.items()
        ]
        most = (most_shown(some.draws, self.eta), "most that draws can show")
        labels = LevelLabels(
            title=f"{self.mechanism} in {self.vectors}",
            subtitle=f"{some.words:,} of {self.words}; {exact}",
            outputs_title=held if some.exact else f"{held}, at least",
            ceiling=None if some.exact else most,
        )
        return deniability_chart(rows, labels)
