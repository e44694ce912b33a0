"""Levels of a mechanism: what each does to words, and which one to choose.

``ProtectionByLevel`` holds what a mechanism does to the same words at several levels.
``find_level`` finds the epsilon at which the median word stays unchanged with a given probability.

Why the choice costs no privacy
    It looks at public words only, and so does not depend on the text that is to be protected. The
    same search over the words of a private text would be a release of its own.

What it does not say
    The median is one number over very different words. Half of the words stay unchanged more often
    than it says, and isolated words far more often: the tail is part of the answer. Nor is this
    probability what the guarantee is about; it is one visible effect of it.

How it searches
    The probability to stay grows with epsilon. So two levels with the target between them are found
    by steps. Between them the next level is where a straight line meets the target, on the
    scales of the logarithm of epsilon and of the odds; an end that stays loses weight, so that the
    line comes near from both sides (the Illinois method). All levels are tried with the same
    words and, where the mechanism has no rows, with the same random numbers: Laplace noise then
    only shrinks as epsilon grows, and a draw that stays inside a word's cell keeps doing so. The
    result is measured again with random numbers that were not used in the search.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sfumato.core.checks import number
from sfumato.core.display import as_html, as_lines
from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import RowMechanism
from sfumato.metrics.deniability import DrawEffort, measure_deniability, most_shown
from sfumato.metrics.population import Population
from sfumato.metrics.protection import Protection, Watched, measure_protection

if TYPE_CHECKING:
    from sfumato.charts.chart import Chart

SMALLEST, LARGEST = 1e-6, 1e6
# First a rough search with few draws and long steps, then a fine one around what it found.
ROUGH_STEP, ROUGH_RATIO = 4.0, 1.15
FINE_STEP, FINE_RATIO = 1.12, 1.03
EXACT_RATIO = 1.002
SHORTEST_STEP = 1e-3
# A level is found if the median there is this near to the target; draws move it by more.
EXACT_CLOSE, ROUGH_CLOSE, FINE_CLOSE = 5e-4, 0.02, 0.003
# No level is tried nearer to an end than this share of the interval.
INNER = 0.05
TINY = 1e-6
# How far the median may be from the target; sampling noise moves it by about 0.01.
EXACT_MISS, DRAWN_MISS = 1e-3, 0.03
# The fewest expected draws on each side, so that a probability can be estimated.
ROUGH_SHOWN, FINE_SHOWN = 2, 8

MechanismAt = Callable[[float], PointMechanism]
Median = Callable[[float], float]
_Tried = tuple[float, float]  # a level, and the median there
_At = Callable[[float], _Tried]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProtectionByLevel:
    """What a mechanism does to the same words at each of several levels.

    The words of a private text are only in ``levels``; the representation shows none.
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
        """Which words were measured, in a phrase."""
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
        """A chart of N and S at every level."""
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


@dataclass(frozen=True, kw_only=True, repr=False)
class Suggestion:
    """A suggested level, and what it does to public words."""

    keep: float
    epsilon: float
    protection: Protection
    vectors: str

    @property
    def missed(self) -> bool:
        """Whether the median is not near the target: it jumps, or does not grow with epsilon."""
        allowed = EXACT_MISS if self.protection.exact else DRAWN_MISS
        return abs(self.protection.median.value - self.keep) > allowed

    @property
    def caution(self) -> str | None:
        """A warning if the median is not near the target."""
        if not self.missed:
            return None
        median = self.protection.median
        reason = (
            f"that may be chance with {self.protection.draws:,} draws per word; take more draws"
            if not self.protection.exact and median.low <= self.keep <= median.high
            else "it jumps between neighboring levels, or does not grow with epsilon"
        )
        return f"the median is {median.value:.3f} there, not {self.keep:g}: {reason}"

    def __repr__(self) -> str:
        there = self.protection
        facts: list[tuple[str, object]] = [
            ("the median public word stays with", f"{there.median.value:.3g}"),
            ("the least protected one with", f"{there.worst_keep:.3g}"),
        ]
        facts += [("care", self.caution)] if self.caution else []
        return as_lines(f"epsilon {self.epsilon:.4g} for keep = {self.keep:g}", facts)

    def _repr_html_(self) -> str:
        rows = [
            (one.word, f"{one.keep.value:.3g}", f"{one.outputs:,}", one.neighbor.word)
            for one in self.protection.exposed
        ]
        heads = ("least protected", "stays with", "outputs (S)", "nearest word")
        return as_html(
            f"ε = {self.epsilon:.4g}", heads, rows, [self.caution] if self.caution else []
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "target": self.keep,
            "epsilon": self.epsilon,
            "reached": not self.missed,
            **self.protection.as_dict(),
        }


@dataclass(frozen=True)
class _Steps:
    """The step between levels, the ratio at which two are close, and when a median is close."""

    step: float
    ratio: float
    close: float


def find_level(
    level: MechanismAt,
    keep: float,
    watched: Watched,
    effort: DrawEffort,
    randomness: Randomness,
    done: Advance = lambda _: None,
) -> Suggestion:
    """The epsilon at which the median of N_w over the sample is ``keep``."""
    if not 0 < number("keep", keep) < 1:
        raise InvalidArgument(f"keep={keep} must lie between 0 and 1, both excluded")
    replayed = _replay(randomness.stream(0))

    def median_with(draws: int) -> Median:
        def median(epsilon: float) -> float:
            some = DrawEffort(eta=effort.eta, draws=draws)
            # Making the stream again replays the same numbers.
            numbers = replayed.stream(draws)
            measured = measure_deniability(level(epsilon), watched.sample, some, numbers, done)
            return float(np.median(measured.keep))

        return median

    rarer = min(keep, 1 - keep)
    enough = DrawEffort(eta=effort.eta, draws=max(effort.draws, math.ceil(FINE_SHOWN / rarer)))
    start = _first_level(level)
    if isinstance(level(start), RowMechanism):
        epsilon = _crossing(
            median_with(1), keep, start, _Steps(ROUGH_STEP, EXACT_RATIO, EXACT_CLOSE)
        )
    else:
        rough = median_with(max(effort.draws // 6, math.ceil(ROUGH_SHOWN / rarer)))
        near = _crossing(rough, keep, start, _Steps(ROUGH_STEP, ROUGH_RATIO, ROUGH_CLOSE))
        fine = median_with(enough.draws)
        epsilon = _crossing(fine, keep, near, _Steps(FINE_STEP, FINE_RATIO, FINE_CLOSE))
    there = level(epsilon)
    found = measure_protection(there, watched, enough, randomness.stream(1), done)
    return Suggestion(keep=keep, epsilon=epsilon, protection=found, vectors=there.space.name)


def _crossing(median: Median, target: float, start: float, steps: _Steps) -> float:
    """The level at which the median crosses the target."""
    seen: list[_Tried] = []

    def at(epsilon: float) -> _Tried:
        seen.append((epsilon, median(epsilon)))
        return seen[-1]

    low = high = at(start)
    if high[1] < target:
        while high[1] < target:
            low, high = high, _step(at, high, steps.step) or _give_up(at, target, seen)
    else:
        while low[1] >= target:
            low, high = _step(at, low, 1 / steps.step) or _give_up(at, target, seen), low
    weights = [1.0, 1.0]  # of the ends; an end that stays too long loses weight
    while high[0] / low[0] > steps.ratio:
        aim = _odds(target)
        gaps = weights[0] * (aim - _odds(low[1])), weights[1] * (_odds(high[1]) - aim)
        share = min(max(gaps[0] / max(sum(gaps), TINY), INNER), 1 - INNER)
        middle = at(_between(low[0], high[0], share))
        if abs(middle[1] - target) <= steps.close:
            return middle[0]
        if middle[1] < target:
            low, weights = middle, [1.0, weights[1] / 2]
        else:
            high, weights = middle, [weights[0] / 2, 1.0]
    # Between two close levels the median is nearly linear in log epsilon.
    return _between(low[0], high[0], (target - low[1]) / (high[1] - low[1]))


def _odds(median: float) -> float:
    """The logarithm of the odds, in which a median grows nearly straight with log epsilon."""
    inside = min(max(median, TINY), 1 - TINY)
    return math.log(inside / (1 - inside))


def _between(low: float, high: float, share: float) -> float:
    """A level between two, on a logarithmic scale."""
    return math.exp((1 - share) * math.log(low) + share * math.log(high))


def _step(at: _At, last: _Tried, factor: float) -> _Tried | None:
    """The next level in a direction; a shorter step if the mechanism refuses the level."""
    while abs(math.log(factor)) > SHORTEST_STEP and SMALLEST <= last[0] * factor <= LARGEST:
        try:
            return at(last[0] * factor)
        except InvalidArgument:
            factor = math.sqrt(factor)
    return None


def _give_up(at: _At, target: float, seen: list[_Tried]) -> NoReturn:
    """Fail with the range of the median; for that, the opposite end is tried as well."""
    first, last = seen[0], seen[-1]
    _step(at, first, SMALLEST / first[0] if last[0] >= first[0] else LARGEST / first[0])
    levels, medians = zip(*sorted(seen), strict=True)
    raise InvalidArgument(
        f"no level makes the median word stay with probability {target:g}: for epsilon from "
        f"{levels[0]:.4g} to {levels[-1]:.4g}, as far as could be tried, it ranges from "
        f"{min(medians):.4f} to {max(medians):.4f}"
    )


def _first_level(level: MechanismAt) -> float:
    """Epsilon 1, or the next larger level that the mechanism accepts."""
    epsilon, problem = 1.0, None
    while epsilon <= LARGEST:
        try:
            level(epsilon)
        except InvalidArgument as error:
            problem, epsilon = problem or error, epsilon * ROUGH_STEP
        else:
            return epsilon
    raise problem or InvalidArgument("the mechanism accepts no level")


def _replay(randomness: Randomness) -> Randomness:
    # The draws of a search are compared with each other and discarded. Nothing made with them is
    # released, so using a seed more than once is harmless here.
    if randomness.for_release:
        return Randomness.reproducible(secrets.randbits(63))
    return randomness
