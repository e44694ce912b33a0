"""How well a mechanism hides frequent public words at its level, computed exactly or by draws.

Figures
    ``chance to stay``: the probability that a word stays unchanged, the median over words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from sfumato.charts.chapter import Chapter, Drawing, Listing
from sfumato.charts.deniability import HIDING, LevelLabels, LevelRow, deniability_chart
from sfumato.charts.numbers import as_number, plain
from sfumato.core.checks import at_least, between
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.metrics.deniability import DrawEffort, most_shown
from sfumato.metrics.population import frequent_words
from sfumato.metrics.protection import Watched, measure_protection
from sfumato.results.measured import SHARE, Measured
from sfumato.results.row import LEAKAGE, LOWER
from sfumato.studies.measures.measure import MECHANISM, MeasureReading, Specimen, Taken

_SPREAD = ("low", "median", "high")
NOT_BY_WORDS = "this method does not replace each word by another"


@dataclass(frozen=True, kw_only=True)
class DeniabilityMeasure:
    """Measure ``words`` frequent public words; without exact probabilities by ``draws`` draws each.

    S, the number of words that a word may become, is the size of the smallest set of words with
    probability 1 − ``eta``.
    """

    words: int = 200
    draws: int = 100
    eta: float = 0.1

    name: ClassVar[str] = "deniability"
    of: ClassVar[str] = MECHANISM
    role: ClassVar[str] = LEAKAGE
    better: ClassVar[Mapping[str, str]] = {"chance to stay": LOWER}

    def __post_init__(self) -> None:
        at_least("words", self.words, 1)
        at_least("draws", self.draws, 1)
        between("eta", self.eta, 0, 1)

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """The probability that a word stays unchanged, over words."""
        if not isinstance(specimen.mechanism, OverVocabulary):
            return MeasureReading(details={"none": NOT_BY_WORDS})
        points = specimen.mechanism.points
        watched = Watched.of(frequent_words(points.space), self.words, randomness)
        effort = DrawEffort(eta=self.eta, draws=self.draws)
        found = measure_protection(points, watched, effort, randomness.stream(1))
        median = found.median
        figure = Measured(
            "chance to stay", median.value, median.low, median.high, found.words, SHARE
        )
        return MeasureReading(
            figures=[figure],
            details={
                "keep": asdict(found.keep),
                "keep_worst": found.worst_keep,
                "outputs": asdict(found.outputs),
                "outputs_worst": found.worst_outputs,
                "draws": found.draws,
                "eta": self.eta,
                "space": points.space.name,
            },
        )

    @classmethod
    def chapter(cls, taken: Sequence[Taken]) -> Chapter | None:
        """For each method, the chance to stay and the number of words at every level."""
        by_method: dict[str, dict[float, Taken]] = {}
        for one in taken:
            if one.level is not None and _readable(one.measurement.details):
                by_method.setdefault(one.method, {}).setdefault(one.level, one)
        drawings = [_drawing(method, found) for method, found in by_method.items()]
        return Chapter(topic=HIDING, parts=drawings) if drawings else None


def _readable(details: Mapping[str, Any]) -> bool:
    spreads = [details.get("keep"), details.get("outputs")]
    numbers = [details.get(name) for name in ("keep_worst", "outputs_worst", "draws", "eta")]
    numbers += [one.get(key) for one in spreads if isinstance(one, dict) for key in _SPREAD]
    return len(numbers) == 4 + 2 * len(_SPREAD) and None not in map(as_number, numbers)


def _drawing(method: str, found: Mapping[float, Taken]) -> Drawing:
    levels = [_level(level, one.measurement.details) for level, one in sorted(found.items())]
    some = next(iter(found.values())).measurement
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
    return Drawing(
        title=f"Deniability under {method}.",
        description=f"Over {words:,} frequent public words, {how}: the median word, the middle "
        "80 %, and the word that is protected least.",
        listing=_list_levels(method, levels),
        draw=(lambda: deniability_chart(drawable, labels)) if drawable else None,
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


def _list_levels(method: str, levels: Sequence[LevelRow]) -> Listing:
    rows = [
        (
            plain(one.epsilon),
            one.keep_median,
            one.keep_high,
            one.keep_worst,
            one.outputs_median,
            one.outputs_low,
            one.outputs_worst,
        )
        for one in levels
    ]
    head = ("level", "N, median", "N, 90 % below", "N, worst", "S, median", "S, 10 % below")
    caption = f"Deniability under {method}"
    return Listing(caption=caption, head=(*head, "S, worst"), rows=rows)
