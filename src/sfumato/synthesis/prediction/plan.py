"""How many prompts speak at once, at which temperature, and what is then guaranteed.

Guarantee
    (epsilon, delta)-DP of all synthetic texts together, for two corpora of which one lacks a record
    (or what an author gives, one record), its place left empty. With a record replaced by another
    the level is ``replacement_epsilon``.

Why it holds
    - *One token* is a draw whose exponents a record moves by R = c/(s·T) at most (``law.py``).
    - *One text* is n such draws at most, n public, and each may depend on those before it: Rényi
      divergences add up, and ρ of a text is n·c²/(2s²T²). Fewer draws, after an early end, cost no
      more.
    - *All texts.* A record is read for one text only (``split.py``), and which one depends on its
      place and its label, not on what others say. Given the label counts that were released, all
      other texts have the same law with the record and without it, and are drawn independently: the
      divergence of all texts together is that of the one. Two corpora of which one has another
      record in a place differ in one text by 2R, four times ρ; or if the label is another one, in
      two texts by R each, whose log-ratios together lie within the same range of 4R.
    - *Label counts*, where they are noised, are a Gaussian release that a record moves by 1 (by √2
      if it is replaced), and are drawn first; divergences add up.

    With several records in a prompt (``shots``), a record that is left out does not silence its
    prompt: what the prompt says becomes anything in [−c, c]. Then R is 2c/(s·T) from the start.

Care
    s is a constant of the plan. The number of records in a text may be another one, and is not
    divided by. The number of records is taken for public, as in private training.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from sfumato.accounting.bounded_range import ProvenLevel, concentration, least_level, total
from sfumato.accounting.budget.costs import Costs
from sfumato.accounting.delta import privacy_units, resolve_delta
from sfumato.accounting.events import BoundedRange, SampledGaussian
from sfumato.accounting.orders import best_epsilon
from sfumato.core.checks import at_least, between, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.synthesis.plan import (
    EQUAL,
    LABELS,
    LABELS_UNCOVERED,
    NEIGHBORS,
    NOISED,
    PUBLIC,
    SAME_LABELS,
    SEVERAL,
    UNITS,
)

MOST_TOKENS = 4096
MOST_SHOTS = 100
# More than float64 is off by in an exponent, for both of two corpora.
_ROUNDING = 1e-12
# The part of ρ that noised label counts cost.
_LABEL_PART = 0.1
_HALVINGS = 100
_SCOPE = "the synthetic corpus, every token of it drawn by what {prompts:,} prompts say on average"
_UNITS_LEAK = "the plan of the prompts, the number of {unit}s included"
MODEL_GAP = "what the language model was trained on, which must not be these records"
VOCABULARY_GAP = "which tokens the vocabulary has, which must be public"


@dataclass(frozen=True, kw_only=True)
class PredictionPlan:
    """Everything public that the level follows from.

    ``tokens`` are the most of a text (n), ``clip`` is c, ``prompts`` s, ``temperature`` T. Where
    ``prompts`` is not given, it is as small as the level allows; where ``temperature`` is not given
    but ``prompts`` is, the temperature is.

    >>> plan = PredictionPlan(units=8000, epsilon=0.5, delta=1e-5, temperature=2.0, prompts=200)
    >>> round(plan.proven.epsilon, 3), round(plan.replacement_epsilon, 3), plan.texts
    (0.457, 0.967, 40)
    """

    units: int
    epsilon: float
    delta: float | str = "auto"
    tokens: int = 24
    clip: float = 10.0
    temperature: float | None = None
    prompts: int | None = None
    shots: int = 1
    unit: str = "record"
    labels: str = "equal"
    classes: int = 0
    asked: int | None = None

    def __post_init__(self) -> None:
        privacy_units("units", self.units)
        positive("epsilon", self.epsilon)
        at_least("tokens", self.tokens, 1, MOST_TOKENS)
        between("clip", self.clip, 1e-3, 1e3)
        if self.temperature is not None:
            between("temperature", self.temperature, 1e-3, 1e3)
        if self.prompts is not None:
            at_least("prompts", self.prompts, 1)
        at_least("shots", self.shots, 1, MOST_SHOTS)
        one_of("unit", self.unit, UNITS)
        one_of("labels", self.labels, LABELS)
        if self.asked is not None:
            at_least("texts", self.asked, 1)
        if self.shots > 1 and self.classes and self.labels != PUBLIC:
            raise InvalidArgument(
                f"shots={self.shots}: records of one prompt must have one label, and unless labels "
                "are public nobody may look at them to put records together; take "
                "`settings={'shots': 1}`, or `labels='public'`"
            )
        object.__setattr__(self, "delta", resolve_delta(self.delta, self.units))
        self._choose()
        self._refuse_too_much()

    def _choose(self) -> None:
        """Fill in what was left open: prompts, or the temperature."""
        needed = self._reach * self.clip / self._widest  # s·T
        if self.prompts is None:
            heat = 1.0 if self.temperature is None else self.temperature
            object.__setattr__(self, "temperature", heat)
            object.__setattr__(self, "prompts", max(1, math.ceil(needed / heat * (1 + 1e-12))))
        elif self.temperature is None:
            object.__setattr__(self, "temperature", needed / self.prompts * (1 + 1e-12))

    def _refuse_too_much(self) -> None:
        if self.proven.epsilon > self.epsilon:
            raise InvalidArgument(
                f"prompts={self.prompts:,} at the temperature {self.temperature:g} cost ε = "
                f"{self.proven.epsilon:.4g}, more than epsilon={self.epsilon:g}; leave one of both "
                "out, and it is chosen, or take fewer tokens or a smaller clip"
            )
        if self.most_texts < max(1, self.asked or 1):
            wanted = "a text is" if (self.asked or 1) == 1 else f"{self.asked:,} texts are"
            raise InvalidArgument(
                f"{wanted} asked for; each is made of {self.speakers:,} prompts with {self.shots} "
                f"of the {self.units:,} {self.unit}s, which are enough for {self.most_texts:,}. "
                "Take fewer texts or tokens, a smaller clip, a higher temperature, or a larger "
                "epsilon"
            )

    @property
    def speakers(self) -> int:
        """How many prompts speak for a text (s)."""
        return int(self.prompts or 0)

    @property
    def heat(self) -> float:
        """The temperature (T)."""
        return float(self.temperature or 0.0)

    @property
    def texts(self) -> int:
        """How many texts come out: as many as asked for, or as there are records for."""
        return self.most_texts if self.asked is None else self.asked

    @property
    def most_texts(self) -> int:
        """How many texts there are records for; of labels that share a group, equally many."""
        together = max(1, self.classes) if self.labels == EQUAL else 1
        groups = self.units // (self.speakers * self.shots * together)
        return groups * together

    @property
    def _reach(self) -> int:
        """How far a record moves what its prompt says, in c: to nothing, or to anything."""
        return 1 if self.shots == 1 else 2

    @property
    def counts_labels(self) -> bool:
        """Whether label counts are released."""
        return self.labels == NOISED and self.classes > 0

    @property
    def shift(self) -> float:
        """R: by how much a record moves an exponent."""
        return self._reach * self.clip / (self.speakers * self.heat)

    @property
    def label_noise(self) -> float:
        """The standard deviation of the noise on every label count."""
        return self._label_noise(self.shift)

    @property
    def rho(self) -> float:
        """ρ of one text."""
        return concentration([self._draws(self.shift)])

    @property
    def proven(self) -> ProvenLevel:
        """The level of everything together."""
        return self._level(self.shift, replaced=False)

    @property
    def replacement_epsilon(self) -> float:
        """The level if a record is replaced by another, at the same delta."""
        return self._level(self.shift, replaced=True).epsilon

    def guarantee(self) -> Guarantee:
        """What is proven."""
        neighbors = SAME_LABELS if self.labels == PUBLIC and self.classes else NEIGHBORS
        uncovered = [LABELS_UNCOVERED] if neighbors is SAME_LABELS else []
        uncovered += [SEVERAL] if self.unit == "record" else []
        proven = self.proven
        return Guarantee(
            notion=Notion.APPROXIMATE_DP if proven.delta else Notion.PURE_DP,
            unit=self.unit,
            neighbors=neighbors.format(unit=self.unit),
            epsilon=proven.epsilon,
            delta=proven.delta,
            scope=_SCOPE.format(prompts=self.speakers),
            leaks=(_UNITS_LEAK.format(unit=self.unit),),
            uncovered=(*uncovered, MODEL_GAP),
        )

    def costs(self) -> Costs:
        """What everything costs in divergences: the tokens of one text, and noised label counts."""
        stated = self.guarantee()
        counts = (SampledGaussian(noise_multiplier=self.label_noise),) if self.counts_labels else ()
        events = (self._draws(self.shift), *counts)
        return Costs(unit=self.unit, neighbors=stated.neighbors, events=events)

    def _draws(self, shift: float) -> BoundedRange:
        return BoundedRange(range=shift + _ROUNDING, outcomes=None, count=self.tokens)

    def _label_noise(self, shift: float) -> float:
        tokens = concentration([self._draws(shift)])
        return math.sqrt((1 - _LABEL_PART) / (2 * _LABEL_PART * tokens))

    def _level(self, shift: float, *, replaced: bool) -> ProvenLevel:
        # Replaced, a record of a prompt with several moves no further than if it is left out.
        moved = 2 * shift / self._reach if replaced else shift
        draws, delta = [self._draws(moved)], float(self.delta)
        if not self.counts_labels:
            return least_level(draws, delta)
        counts = (2 if replaced else 1) / (2 * self._label_noise(shift) ** 2)
        found = best_epsilon(lambda orders: total(draws, orders) + counts * orders, delta)
        return ProvenLevel(found, delta, "rdp")

    @cached_property
    def _widest(self) -> float:
        """The largest R whose level is at most the one that was asked for."""
        low, high = 0.0, 1.0
        while high < 16 and self._level(high, replaced=False).epsilon <= self.epsilon:
            high *= 2
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fits = self._level(middle, replaced=False).epsilon <= self.epsilon
            low, high = (middle, high) if fits else (low, middle)
        if low <= _ROUNDING:
            raise InvalidArgument(
                f"epsilon={self.epsilon:g} is too small for {self.tokens:,} tokens; take fewer"
            )
        return low
