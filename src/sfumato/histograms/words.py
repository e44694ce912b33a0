"""A private histogram of documents, from settings to counts and guarantee.

``Budget`` holds everything that decides privacy, before a document is read. ``count_words`` reads
the documents, solves the noise for their number, and releases the histogram.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.costs import Costs
from sfumato.accounting.delta import resolve_delta
from sfumato.accounting.events import SampledGaussian
from sfumato.core.checks import one_of, positive
from sfumato.core.errors import BadInput
from sfumato.core.progress import progress
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import LACKS_ONE, Guarantee, Notion
from sfumato.histograms.counts import UNITS, NoisyCounts, Tally, words_of_contributors
from sfumato.histograms.thresholds import (
    SHOWN_ALONE,
    Contribution,
    Noise,
    solve_levels,
    solve_noise,
    solve_public,
)
from sfumato.text.document import Document

Cut = Callable[[str], Iterable[str]]

# Independent streams: which words a contributor gives, and the noise.
CHOICE, NOISE = range(2)

# A word that one contributor in so many gives is worth a place in a vocabulary.
ONE_IN = 200

_LEAKS = ("the settings, the number of {unit}s included",)
_UNCOVERED = {"example": ("what several examples of one person show together",), "author": ()}


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Level, unit and contribution; ``record`` says what an example is, in a public word or two."""

    epsilon: float
    delta: float | str = "auto"
    contribution: Contribution = field(default_factory=Contribution)
    unit: str = "example"
    record: str = ""

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        one_of("unit", self.unit, UNITS)
        if isinstance(self.delta, str):
            resolve_delta(self.delta, units=2)

    def solve(self, contributors: int, *, public: bool = False, levels: int = 1) -> Noise:
        """The noise for so many contributors; their number is public."""
        if contributors < 2:
            raise BadInput(
                f"there is one {self.unit} only; noise hides one among others, so two are needed "
                "at least"
                if contributors
                else "the corpus holds no documents"
            )
        delta = resolve_delta(self.delta, contributors)
        if public:
            return solve_public(self.epsilon, delta, self.contribution)
        if levels > 1:
            return solve_levels(self.epsilon, delta, self.contribution, levels)
        return solve_noise(self.epsilon, delta, self.contribution)

    def promise(self, noise: Noise, randomness: Randomness, scope: str) -> Guarantee:
        """What is proven about a release with this noise, and all that is computed from it."""
        stated = Guarantee(
            notion=Notion.APPROXIMATE_DP,
            unit=self.unit,
            neighbors=LACKS_ONE.format(unit=self.unit),
            epsilon=self.epsilon,
            delta=noise.delta,
            record=self.record,
            scope=scope,
            leaks=tuple(leak.format(unit=self.unit) for leak in _LEAKS),
            uncovered=_UNCOVERED[self.unit],
        )
        return stated if randomness.for_release else stated.reproducible()

    def claim(self, noise: Noise, randomness: Randomness, scope: str) -> Claim:
        """What an account is charged for a release with this noise."""
        proven = self.promise(noise, randomness, scope)
        costs = Costs(
            unit=proven.unit,
            neighbors=proven.neighbors,
            events=(SampledGaussian(noise_multiplier=noise.multiplier),),
            unbounded="" if noise.threshold is None else SHOWN_ALONE,
        )
        return Claim(proven, costs=costs)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "words": self.contribution.words,
            "weights": self.contribution.weights,
            "unit": self.unit,
            **({"record": self.record} if self.record else {}),
        }


def count_words(
    documents: Sequence[Document],
    budget: Budget,
    cut: Cut,
    randomness: Randomness,
    *,
    public: Iterable[str] | None = None,
    before: Callable[[Noise], None] | None = None,
) -> NoisyCounts:
    """How many contributors have each word, with noise; of a public list of words, if one is given.

    This is one release: calling it again on the same documents is another one. ``before`` is called
    when nothing is left to do but to draw the noise.
    """
    listed = None if public is None else frozenset(public)
    if listed is not None and not listed:
        raise BadInput("the public list holds no words")
    tally = Tally(budget.contribution, listed)
    chosen = randomness.stream(CHOICE)
    with progress("counting words", len(documents), unit_is_bytes=False) as advance:
        for words in words_of_contributors(documents, budget.unit, cut):
            tally.add(words, chosen)
            advance(tally.contributors)
    noise = budget.solve(tally.contributors, public=listed is not None)
    if before is not None:
        before(noise)
    return tally.release(noise, randomness.stream(NOISE))


def refuse_too_few(found: NoisyCounts, budget: Budget, fewest: int, purpose: str) -> None:
    """Refuse a release in which too few words came through to be of use.

    The number of words is part of the release, so the message is covered by its guarantee.
    """
    if len(found) >= fewest:
        return
    threshold = found.noise.threshold or found.noise.deviation
    average = threshold / found.noise.contribution.weight(found.noise.contribution.words)
    needed = round(ONE_IN * average, -2)
    raise BadInput(
        f"too few {budget.unit}s for {purpose}: {len(found):,} words came through, and "
        f"{fewest:,} are needed. With this noise a word is kept if about {average:,.0f} "
        f"{budget.unit}s give it, and there are {found.contributors:,}; about {needed:,.0f} "
        f"{budget.unit}s would keep what one in {ONE_IN} gives. Give more of them, a larger "
        "epsilon, fewer words of each, or a public list of words. (These numbers are released: "
        f"epsilon={budget.epsilon:g} is spent on this text, and the levels of further tries add up)"
    )
