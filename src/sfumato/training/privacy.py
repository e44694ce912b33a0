"""What decides the privacy of a training run, as a user asks for it before the data are read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sfumato.accounting.accountants import ACCOUNTANTS
from sfumato.accounting.delta import resolve_delta
from sfumato.core.checks import one_of, positive
from sfumato.training.bounds import Clipping
from sfumato.training.plan import UNITS, Plan, check_record, quietly
from sfumato.training.sampling import sampling
from sfumato.training.schedule import Schedule


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """Several batch sizes are stages of equal length, as are several amounts of noise.

    ``noise_schedule`` holds the noise of each stage against that of the others, ``record`` what an
    example is, in a public word or two.
    """

    epsilon: float
    delta: float | str = "auto"
    epochs: float = 3.0
    batch_sizes: tuple[int, ...] = (64,)
    noise_schedule: tuple[float, ...] = (1.0,)
    unit: str = "example"
    record: str = ""
    sampling: str = "poisson"
    clipping: Clipping = field(default_factory=Clipping)
    accountant: str = "pld"

    def __post_init__(self) -> None:
        if self.epsilon != math.inf:
            positive("epsilon", self.epsilon)
        # What is wrong is said before a model is loaded; the rest hangs on the number of units.
        one_of("unit", self.unit, UNITS)
        check_record(self.record, self.unit)
        one_of("accountant", self.accountant, ACCOUNTANTS)
        sampling(self.sampling)
        if isinstance(self.delta, str):
            resolve_delta(self.delta, units=2)
        self._schedule(self.batch_sizes)

    def plan(self, units: int) -> Plan:
        """The plan for so many units, with the least noise that keeps the level."""
        way = sampling(self.sampling)
        # A batch cannot be larger than the corpus; then everybody is in it.
        sizes = tuple(min(size, units) for size in self.batch_sizes)
        with quietly():
            drawn = Plan(
                units=units,
                stages=self._schedule(sizes).stages(units, way),
                delta=self.delta,
                unit=self.unit,
                record=self.record,
                sampling=way,
                clipping=self.clipping,
                accountant=self.accountant,
            )
        return drawn.with_epsilon(self.epsilon)

    def _schedule(self, sizes: tuple[int, ...]) -> Schedule:
        return Schedule(epochs=self.epochs, batch_sizes=sizes, noise=self.noise_schedule)
