"""Mechanisms compared: guarantee, share of unchanged words, distance of replacements, speed.

Care
    The same epsilon means different things in different notions of privacy and in different
    distances: rows can be compared by what was measured, not by their level. For a fair comparison
    give each mechanism the level at which the median public word stays unchanged with the same
    probability. Speed is a single rough measurement on this machine; setup is timed separately.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sfumato.catalog import entries
from sfumato.core.arrays import Points
from sfumato.core.display import as_html, as_lines
from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.build import (
    build_mechanism,
    replaces_stretches,
    rewrites_documents,
    word_mechanisms,
)
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.metrics.deniability import DrawEffort, Estimate, interval
from sfumato.metrics.levels import Suggestion, find_level
from sfumato.metrics.population import Population
from sfumato.metrics.protection import Watched
from sfumato.metrics.similarity import SemanticDistance, semantic_distance
from sfumato.vectors.space import Space

# Enough words to trigger everything that is built at the first use.
WARM_UP = 2
# A comparison searches a level for each mechanism and shows how near it came: few draws suffice.
SEARCH = DrawEffort(draws=80)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One mechanism at one level."""

    mechanism: str
    epsilon: float
    guarantee: Guarantee
    kept: Estimate
    distance: SemanticDistance
    words_per_second: float
    seconds_to_build: float
    suggestion: Suggestion | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "mechanism": self.mechanism,
            "epsilon": self.epsilon,
            "guarantee": self.guarantee.as_dict(),
            "kept": asdict(self.kept),
            "distance": asdict(self.distance),
            "words_per_second": self.words_per_second,
            "seconds_to_build": self.seconds_to_build,
            "median_keep": asdict(self.suggestion.protection.median) if self.suggestion else None,
        }


@dataclass(frozen=True)
class Skipped:
    """A mechanism that was not measured, and why; ``epsilon`` is None if no level would do."""

    mechanism: str
    epsilon: float | None
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Bench:
    """What all mechanisms of a comparison share: the words and the space."""

    population: Population
    points: Points
    typical_distance: float
    randomness: Randomness

    @property
    def space(self) -> Space:
        """The public space."""
        return self.population.space


@dataclass(frozen=True, repr=False)
class Comparison:
    """What was measured, and what could not be."""

    bench: Bench
    rows: tuple[Compared, ...]
    skipped: tuple[Skipped, ...]

    @classmethod
    def of(cls, bench: Bench, found: Iterable[Compared | Skipped]) -> Comparison:
        """Separate results from refusals."""
        listed = list(found)
        return cls(
            bench,
            tuple(one for one in listed if isinstance(one, Compared)),
            tuple(one for one in listed if isinstance(one, Skipped)),
        )

    def __repr__(self) -> str:
        facts: list[tuple[str, object]] = [
            (f"{row.mechanism} at epsilon {row.epsilon:.4g}", f"keeps {row.kept.value:.1%}")
            for row in self.rows
        ]
        facts += [(one.mechanism, f"not measured: {one.reason}") for one in self.skipped]
        return as_lines(f"Comparison in {self.bench.space.name}", facts)

    def _repr_html_(self) -> str:
        rows = [
            (row.mechanism, f"{row.epsilon:.4g}", row.guarantee.notion.value,
             f"{row.kept.value:.1%}", f"{row.distance.mean:.2f}", f"{row.words_per_second:,.0f}")
            for row in self.rows
        ]  # fmt: skip
        heads = ("mechanism", "ε", "guarantee", "kept", "distance", "words/s")
        notes = [f"not measured: {one.mechanism}: {one.reason}" for one in self.skipped]
        return as_html(f"Mechanisms in {self.bench.space.name}", heads, rows, notes)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        population = self.bench.population
        return {
            "vectors": self.bench.space.name,
            "words": {
                "private": population.private,
                "occurrences": population.occurrences,
                "sampled": len(self.bench.points),
                "unknown_occurrences": population.unknown,
            },
            "distance_of_random_pairs": self.bench.typical_distance,
            "rows": [row.as_dict() for row in self.rows],
            "skipped": [asdict(one) for one in self.skipped],
        }


def at_levels(
    bench: Bench, names: Sequence[str], levels: Sequence[float], done: Advance = lambda _: None
) -> Comparison:
    """Every mechanism at every level, by name and level."""
    found: list[Compared | Skipped] = []
    for name in sorted(set(names)):
        unfit = _unfit(name, bench.space)
        found += [unfit] if unfit else [_at_level(bench, name, level) for level in levels]
        done(1)
    return Comparison.of(bench, found)


def at_keep(
    bench: Bench,
    names: Sequence[str],
    keep: float,
    watched: Watched,
    done: Advance = lambda _: None,
) -> Comparison:
    """Every mechanism at the level where the median public word stays with probability ``keep``.

    At equal ``keep``, nearer replacements make a mechanism more useful: those come first.
    """
    found: list[Compared | Skipped] = []
    for name in sorted(set(names)):
        unfit = _unfit(name, bench.space)
        found.append(unfit or _at_keep(bench, name, keep, watched))
        done(1)
    compared = Comparison.of(bench, found)
    return replace(compared, rows=tuple(sorted(compared.rows, key=lambda row: row.distance.mean)))


def _unfit(name: str, space: Space) -> Skipped | None:
    """Why a mechanism cannot be compared with word mechanisms; None if it can."""
    own = name not in entries("mechanisms")
    if own and rewrites_documents(name):
        return Skipped(name, None, "it rewrites whole documents and not words")
    if name in word_mechanisms() or (own and not replaces_stretches(name)):
        return None
    try:
        build_mechanism(name, space=space, epsilon=1.0)
    except InvalidArgument as error:
        return Skipped(name, None, str(error))
    return Skipped(name, None, "it does not replace word by word")


def _at_level(bench: Bench, name: str, epsilon: float) -> Compared | Skipped:
    start = time.perf_counter()
    try:
        mechanism = build_mechanism(name, space=bench.space, epsilon=epsilon)
        mechanism.privatize(bench.points[:WARM_UP], bench.randomness.stream(0))
    except InvalidArgument as error:
        return Skipped(name, epsilon, str(error))
    built = time.perf_counter() - start
    return _measure(bench, name, mechanism, epsilon, built)


def _at_keep(bench: Bench, name: str, keep: float, watched: Watched) -> Compared | Skipped:
    def level(epsilon: float) -> PointMechanism:
        return build_mechanism(name, space=bench.space, epsilon=epsilon)

    try:
        found = find_level(level, keep, watched, SEARCH, bench.randomness.stream(2))
    except InvalidArgument as error:
        return Skipped(name, None, str(error))
    row = _at_level(bench, name, found.epsilon)
    return row if isinstance(row, Skipped) else replace(row, suggestion=found)


def _measure(
    bench: Bench, name: str, mechanism: PointMechanism, epsilon: float, built: float
) -> Compared:
    start = time.perf_counter()
    outputs = mechanism.privatize(bench.points, bench.randomness.stream(1))
    seconds = time.perf_counter() - start
    words = len(bench.points)
    stayed = int((outputs == bench.points).sum())
    return Compared(
        mechanism=name,
        epsilon=epsilon,
        guarantee=mechanism.guarantee(),
        kept=Estimate(stayed / words, *interval(stayed, words), words),
        distance=semantic_distance(bench.points, outputs, bench.space, bench.typical_distance),
        words_per_second=words / seconds,
        seconds_to_build=built,
    )
