"""Which units take part in which step, and what an accountant may assume about that.

A sampling object draws the batches *and* states the releases that an accountant has to charge for
them, so the two always match.

Guarantee
    ``Poisson``: in every step each unit takes part with probability batch size / units,
    independently of all else. A step is a Poisson-sampled Gaussian release.
    ``Shuffled``: in every epoch each unit takes part in exactly one step. An epoch is one Gaussian
    release, with the least noise of its steps; shuffling gives no amplification here.
    Neighbors are two corpora of which one lacks a unit of the other, whose place is left empty (it
    contributes nothing when it is drawn). Sampling rate, steps and the divisor of the sums are the
    same constants for both.

Why it holds
    Poisson: the standard case, which the accountants cover. An empty batch also takes a step, with
    noise alone; skipping it would reveal that no unit was drawn.
    Shuffled: the order does not depend on the units, so fix it. In each epoch the missing unit
    moves one sum by at most C and no other sum; the other steps depend on it through earlier
    results only. That is one Gaussian release per epoch, adaptively composed. It holds for every
    order, hence on average over orders, and even if the order is known. If a unit were removed from
    the list, the batches after it would shift; that is why its place is left empty.

Care
    For ``Poisson`` the batches are secret, their sizes included: do not log them. Random batches of
    fixed size are not offered, and no guarantee is stated for them.
    A stopped run never repeats a step: it resumes with the step after the last one charged.
    ``Poisson`` needs to save nothing for that, and must not save its draws. ``Shuffled`` saves the
    seed of its orders, since otherwise a unit might be used twice in an epoch. The seed is not
    secret, because the guarantee does not depend on the order being secret.
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
    """A way to choose the units of each step."""

    name: ClassVar[str]

    def check(self, units: int, stages: Sequence[Stage]) -> None:
        """Refuse a schedule that cannot be sampled in this way."""
        ...

    def steps(self, units: int, batch_size: int, epochs: float) -> int:
        """The number of steps for this many passes over the data."""
        ...

    def events(self, units: int, stages: Sequence[Stage]) -> tuple[SampledGaussian, ...]:
        """What an accountant has to charge for these steps."""
        ...

    def start(self, randomness: Randomness) -> dict[str, int]:
        """What to save before the first step, so that the run can be resumed."""
        ...

    def drawing(self, units: int, randomness: Randomness, saved: Mapping[str, int]) -> Draw:
        """A function that draws the batch of a step."""
        ...


@dataclass(frozen=True)
class Poisson:
    """Every unit independently at random; if the batch size is the number of units, always all."""

    name: ClassVar[str] = "poisson"

    def check(self, units: int, stages: Sequence[Stage]) -> None:
        """The expected batch size cannot exceed the number of units."""
        _refuse_large_batches(units, stages)

    def steps(self, units: int, batch_size: int, epochs: float) -> int:
        """So many that every unit takes part ``epochs`` times on average, rounded up."""
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
        """Nothing: every step is drawn independently."""
        return {}

    def drawing(
        self,
        units: int,
        randomness: Randomness,
        saved: Mapping[str, int],  # noqa: ARG002
    ) -> Draw:
        """Batches of any size, none included."""

        def draw(step: int, batch_size: int) -> NDArray[np.intp]:
            # One number for every unit: whether it takes part is independent of all others.
            chances = randomness.stream(step).uniform(units)
            # A draw stands for all numbers up to the next possible one. So no unit takes part with
            # a probability above the rate that is charged, even if that is not a multiple of
            # 1/DRAWS.
            return (chances + 1 / DRAWS <= batch_size / units).nonzero()[0]

        return draw


@dataclass(frozen=True)
class Shuffled:
    """Every unit once per epoch, in batches cut from a random order."""

    name: ClassVar[str] = "shuffled"

    def check(self, units: int, stages: Sequence[Stage]) -> None:
        """The batch size must not change within a run."""
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
        """The seed that determines every epoch's order."""
        return {"order": int(randomness.integers(_LARGEST_KEY, 1)[0])}

    def drawing(
        self,
        units: int,
        randomness: Randomness,  # noqa: ARG002
        saved: Mapping[str, int],
    ) -> Draw:
        """The batches that the saved seed determines: the same after a stop."""
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
    """Pieces of a batch that fit into memory; their clipped sums are added before the noise.

    How a batch is split does not change what is released. An empty batch has no pieces, and its
    step is taken with noise alone.
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
                f"batch_size={stage.batch_size} is more than the {units} units; "
                f"batch_size={units} uses all of them in every step"
            )
