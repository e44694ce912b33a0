"""Which units take part in which step, and what that lets an accountant claim.

A way of sampling draws the batches *and* states the releases that an accountant has to charge for
them, so the two cannot be mismatched.

Guarantee
    ``Poisson``: in every step each unit takes part with probability batch size / units,
    independently of all else. A step is a Poisson-sampled Gaussian release.
    ``Shuffled``: in every epoch each unit takes part in exactly one step. An epoch is one Gaussian
    release, with the least noise of its steps; nothing is gained from the shuffling.
    Neighbors are two corpora of which one lacks a unit of the other, its place left empty (the
    unit contributes nothing when it is drawn). Sampling rate, steps and the divisor of the sums
    are the same constants for both.

Why it holds
    Poisson: the textbook case; the accountants know it. An empty batch takes a step, too, with
    noise alone, for leaving it out would show that nobody was drawn.
    Shuffled: the order is drawn without looking at the units, so fix it. In each epoch the unit
    that is missing moves one sum by at most C and no other; the other steps see it through
    earlier results only. That is one Gaussian release per epoch, adaptively composed, for every
    order, hence on average, and even if the order is known. Were a unit really cut out of the
    list, the batches behind it would shift; that is why its place is left empty.

Care
    For ``Poisson`` the batches are secret, their sizes included: do not log them. For a batch of
    fixed size drawn at random nothing is claimed here, and none is offered.
    A stopped run never draws a step again: it goes on with the step after the last one charged.
    ``Poisson`` needs nothing saved for that, and must not save its draws; ``Shuffled`` needs the
    number from which its orders follow, or a unit might be used twice in an epoch. That number is
    no secret, as nothing rests on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from sfumato.accounting.events import SampledGaussian, merge
from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import CannotResume, InvalidArgument
from sfumato.core.randomness import DRAWS, Randomness
from sfumato.training.stages import Stage, countable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The units that take part in a step (from 0), for a batch size; in increasing order.
Draw = Callable[[int, int], "NDArray[np.intp]"]

_LARGEST_KEY = 2**62


class Sampling(Protocol):
    """A way to choose who takes part in a step."""

    name: ClassVar[str]

    def check(self, units: int, stages: Sequence[Stage]) -> None:
        """Refuse a schedule that cannot be sampled in this way."""
        ...

    def steps(self, units: int, batch_size: int, epochs: float) -> int:
        """How many steps so many passes over the data take."""
        ...

    def events(self, units: int, stages: Sequence[Stage]) -> tuple[SampledGaussian, ...]:
        """What an accountant has to charge for these steps."""
        ...

    def start(self, randomness: Randomness) -> dict[str, int]:
        """What to save before the first step, so that the run can go on after a stop."""
        ...

    def drawing(self, units: int, randomness: Randomness, saved: Mapping[str, int]) -> Draw:
        """A function that draws the batch of a step."""
        ...


@dataclass(frozen=True)
class Poisson:
    """Every unit by a coin of its own; with a batch of all units, everybody in every step."""

    name: ClassVar[str] = "poisson"

    def check(self, units: int, stages: Sequence[Stage]) -> None:
        """A batch cannot expect more units than there are."""
        _refuse_large_batches(units, stages)

    def steps(self, units: int, batch_size: int, epochs: float) -> int:
        """As many as make every unit take part ``epochs`` times on average, rounded up."""
        return countable(epochs * units / batch_size)

    def events(self, units: int, stages: Sequence[Stage]) -> tuple[SampledGaussian, ...]:
        """Every step is a Gaussian release on a Poisson sample."""
        return merge(
            SampledGaussian(
                noise_multiplier=stage.noise_multiplier,
                rate=stage.batch_size / units,
                count=stage.steps,
            )
            for stage in stages
        )

    def start(self, randomness: Randomness) -> dict[str, int]:  # noqa: ARG002
        """Nothing: every step is drawn afresh."""
        return {}

    def drawing(
        self,
        units: int,
        randomness: Randomness,
        saved: Mapping[str, int],  # noqa: ARG002
    ) -> Draw:
        """Batches of any size, none included."""

        def draw(step: int, batch_size: int) -> NDArray[np.intp]:
            # A number for every unit: whether it takes part says nothing about anybody else.
            chances = randomness.stream(step).uniform(units)
            # A draw stands for all numbers up to the next one: nobody takes part with more than the
            # rate that is charged for, also where that is no multiple of 1/DRAWS.
            return (chances + 1 / DRAWS <= batch_size / units).nonzero()[0]

        return draw


@dataclass(frozen=True)
class Shuffled:
    """Every unit once per epoch, in batches cut from a random order."""

    name: ClassVar[str] = "shuffled"

    def check(self, units: int, stages: Sequence[Stage]) -> None:
        """Batches that change size do not cut an epoch evenly."""
        _refuse_large_batches(units, stages)
        if len({stage.batch_size for stage in stages}) > 1:
            raise InvalidArgument(
                "batches of changing size need Poisson sampling: an epoch of shuffled batches is "
                "cut into equal ones"
            )

    def steps(self, units: int, batch_size: int, epochs: float) -> int:
        """Whole batches per epoch; the last one may be smaller."""
        return countable(epochs * _per_epoch(units, batch_size))

    def events(self, units: int, stages: Sequence[Stage]) -> tuple[SampledGaussian, ...]:
        """An epoch, begun or finished, is one release with the least noise of its steps."""
        length = _per_epoch(units, stages[0].batch_size) if stages else 1
        least: dict[int, float] = {}  # of the epochs in which a stage begins or ends
        events, begin = [], 0
        for stage in stages:
            noise = stage.noise_multiplier
            first, last = begin // length, (begin + stage.steps - 1) // length
            for epoch in (first, last):
                least[epoch] = min(noise, least.get(epoch, noise))
            if last - first > 1:
                events.append(SampledGaussian(noise_multiplier=noise, count=last - first - 1))
            begin += stage.steps
        return merge([*events, *(SampledGaussian(noise_multiplier=z) for z in least.values())])

    def start(self, randomness: Randomness) -> dict[str, int]:
        """The number from which every epoch's order follows."""
        return {"order": int(randomness.integers(_LARGEST_KEY, 1)[0])}

    def drawing(
        self,
        units: int,
        randomness: Randomness,  # noqa: ARG002
        saved: Mapping[str, int],
    ) -> Draw:
        """The batches that the saved number determines: the same after a stop."""
        if "order" not in saved:
            raise CannotResume(
                "the order of the shuffled batches was not saved, so a unit might be used twice "
                "in an epoch; start a new run"
            )
        orders = Randomness.reproducible(saved["order"])
        latest: dict[int, NDArray[np.intp]] = {}

        def draw(step: int, batch_size: int) -> NDArray[np.intp]:
            import numpy as np

            epoch, place = divmod(step, _per_epoch(units, batch_size))
            if epoch not in latest:
                latest.clear()
                latest[epoch] = orders.stream(epoch).uniform(units).argsort(kind="stable")
            return np.sort(latest[epoch][place * batch_size : (place + 1) * batch_size])

        return draw


SAMPLINGS: Mapping[str, type[Poisson] | type[Shuffled]] = {
    "poisson": Poisson,
    "shuffled": Shuffled,
}


def sampling(name: str) -> Sampling:
    """The way of sampling that a user names."""
    return SAMPLINGS[one_of("sampling", name, SAMPLINGS)]()


def micro_batches(members: NDArray[np.intp], size: int) -> Iterator[NDArray[np.intp]]:
    """A batch in pieces that fit into memory; their clipped sums are added before the noise.

    How a batch is cut changes nothing about what is released. An empty batch has no pieces, and
    its step is taken with noise alone.
    """
    at_least("size", size, 1)
    for begin in range(0, len(members), size):
        yield members[begin : begin + size]


def _per_epoch(units: int, batch_size: int) -> int:
    return -(-units // batch_size)


def _refuse_large_batches(units: int, stages: Sequence[Stage]) -> None:
    for stage in stages:
        if stage.batch_size > units:
            raise InvalidArgument(
                f"batch_size={stage.batch_size} is more than there are: {units}; "
                f"batch_size={units} takes everybody in every step"
            )
