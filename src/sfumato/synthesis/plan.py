"""How much noise the votes get, and what is then guaranteed.

Guarantee
    (epsilon, delta)-DP of everything that private evolution releases, all noisy histograms
    together, for two corpora of which one lacks one unit of the other, its place left empty. With
    one unit replaced by another the level is ``replacement_epsilon``.

Why it holds
    In a round a unit casts at most k votes, all for different candidates (``voting.py``), and no
    vote depends on another unit. So without the unit a histogram differs by a vector of at most k
    ones: by √k in length, and by √(2k) where a unit is replaced. Each of T histograms gets Gaussian
    noise of standard deviation σ on every count. A later one depends on earlier ones through what
    was released only, so all of them together are one Gaussian release with the shift
    μ = √(T·k)/σ, exactly (Dong, Roth and Su 2022, corollary 3.3), and its level is that of
    ``accounting/gaussian.py``. Rounding the noise to whole numbers is post-processing, because the
    counts are whole numbers: v + round(g) = round(v + g).

Care
    How many units there are is taken for public, as in private training: delta and the refusal of
    too few voters follow from it.

Reference
    Xie, Lin, Backurs, Gopi, Yu, Inan et al. 2024, "Differentially private synthetic data via
    foundation model APIs 2: text" (AUG-PE).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from sfumato.accounting.budget.costs import Costs
from sfumato.accounting.delta import privacy_units, resolve_delta
from sfumato.accounting.events import SampledGaussian
from sfumato.accounting.gaussian import gaussian_epsilon, gaussian_noise
from sfumato.core.checks import at_least, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.guarantees.wording import at_most

UNITS = ("author", "record")
EQUAL, NOISED, PUBLIC = "equal", "noised", "public"
LABELS = (EQUAL, NOISED, PUBLIC)
# More noise than this among the votes, and what comes out is mostly chosen by chance.
MOST_NOISE = 0.75

NEIGHBORS = "two corpora of which one lacks one {unit} of the other, its place left empty"
SAME_LABELS = (
    "two corpora of which one lacks the text of one {unit} of the other, its label left in place"
)
_SCOPE = "the synthetic corpus, and all noisy votes that it was chosen by"
_UNITS_LEAK = "the plan of the votes, the number of {unit}s included"
LABELS_UNCOVERED = "the labels: how many records have which is taken for public"
SEVERAL = "what several records of one person show together"


@dataclass(frozen=True, kw_only=True)
class VotingPlan:
    """Rounds, votes of a unit in each, and the level of all of them together.

    ``labels`` says how many texts of each label are given out: equally many, by the noisy votes, or
    as many as there are records, which is then no part of what is protected.

    >>> plan = VotingPlan(units=8000, epsilon=1, rounds=2, delta=1e-5)
    >>> round(plan.noise, 2), round(plan.replacement_epsilon, 2)
    (5.28, 1.47)
    """

    units: int
    epsilon: float
    delta: float | str = "auto"
    rounds: int = 2
    votes: int = 1
    unit: str = "record"
    labels: str = EQUAL

    def __post_init__(self) -> None:
        privacy_units("units", self.units)
        positive("epsilon", self.epsilon)
        at_least("rounds", self.rounds, 1, 1000)
        at_least("votes", self.votes, 1, 10_000)
        one_of("unit", self.unit, UNITS)
        one_of("labels", self.labels, LABELS)
        object.__setattr__(self, "delta", resolve_delta(self.delta, self.units))

    @property
    def sensitivity(self) -> float:
        """By how much a unit moves all histograms together, in length: √(T·k)."""
        return math.sqrt(self.rounds * self.votes)

    @cached_property
    def noise(self) -> float:
        """The standard deviation of the noise on every count, in votes."""
        return self.sensitivity * gaussian_noise(self.epsilon, float(self.delta))

    @property
    def replacement_epsilon(self) -> float:
        """The level if a unit is replaced by another, at the same delta."""
        return gaussian_epsilon(math.sqrt(2) * self.sensitivity / self.noise, float(self.delta))

    def guarantee(self) -> Guarantee:
        """What is proven."""
        neighbors = SAME_LABELS if self.labels == PUBLIC else NEIGHBORS
        uncovered = [LABELS_UNCOVERED] if self.labels == PUBLIC else []
        uncovered += [SEVERAL] if self.unit == "record" else []
        return Guarantee(
            notion=Notion.APPROXIMATE_DP,
            unit=self.unit,
            neighbors=neighbors.format(unit=self.unit),
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            scope=_SCOPE,
            leaks=(_UNITS_LEAK.format(unit=self.unit),),
            uncovered=tuple(uncovered),
        )

    def costs(self) -> Costs:
        """What all rounds cost in divergences: those of one Gaussian release."""
        stated = self.guarantee()
        event = SampledGaussian(noise_multiplier=self.noise / self.sensitivity)
        return Costs(unit=self.unit, neighbors=stated.neighbors, events=(event,))

    def noise_share(self, cells: int) -> float:
        """The part of all that is counted that is noise, with so many counts.

        The mean size of Gaussian noise is σ·√(2/π) for each count; votes are at most k per unit.
        """
        noise = cells * self.noise * math.sqrt(2 / math.pi)
        return noise / (noise + self.units * self.votes)

    def refuse_mostly_noise(self, cells: int) -> None:
        """Refuse, before anything is drawn, votes that noise would drown."""
        share = self.noise_share(cells)
        if share <= MOST_NOISE:
            return
        wanted = cells * self.noise * math.sqrt(2 / math.pi) * (1 - MOST_NOISE) / MOST_NOISE
        fewer = int(cells * self.units * self.votes / (self.votes * wanted))
        raise InvalidArgument(
            f"{share:.0%} of the counts would be noise (standard deviation "
            f"{at_most(self.noise, 3)} on each of {cells:,} counts, for {self.units:,} "
            f"{self.unit}s with {_votes(self.votes)} each): what comes out would be chosen by "
            f"chance. About {math.ceil(wanted / self.votes):,} {self.unit}s would be needed; or "
            f"take at most {max(1, fewer):,} candidates for all labels together "
            "(`candidates=...`, for each label), fewer rounds, or a larger epsilon"
        )


def _votes(count: int) -> str:
    return "one vote" if count == 1 else f"{count:,} votes"
