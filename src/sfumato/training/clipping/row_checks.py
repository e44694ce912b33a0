"""Checks that detect rows of a batch that influence each other.

Guarantee
    A model or a loss is refused if rows influence each other in one of the checked batches, by
    whatever way: through a gradient, a detached number, a capacity that rows share, or the number
    of rows. The first two batches are checked, then each batch with a probability of one in a
    thousand, independently of the data.

Why it holds
    For a random half of the rows, the computation must not change when all other rows are replaced,
    and when they are left out: neither the results, nor the norm of each row's gradient, nor a sum
    of the gradients with random signs. Replaced means: the same shape, the same mode and the same
    dropout masks, with rows of the batch at other positions, and with opposite signs if they are
    floating-point numbers. Left out means a smaller batch, which cannot have the same dropout
    masks; there nothing is dropped.

What is not detected
    Differences that rounding could explain. When half of a batch is replaced at once, the norm of a
    row's contribution to the sum may change by 2·SLACK·C (C is the clipping norm), and the sum of
    n/2 contributions with random signs by n·SLACK·C; when it is left out, by ten times as much,
    because sums of other lengths are rounded differently; and where numbers have the three digits
    of bfloat16, SLACK_IN_FEW_DIGITS takes the place of both (gradients in other rows must be zero
    in any precision). An influence between two rows that are in
    the same half in all checks; each check separates them with a probability of at least ½. An
    influence that begins later, until a random check finds it. State that a model keeps from one
    call to the next. If numbers are not finite, a check proves nothing, and the next batch is
    checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, is_dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from sfumato.core.errors import CoupledRows, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.output_layer import ask_for_scores
from sfumato.training.clipping.replays import (
    ModelInputs,
    draw_once,
    draws,
    row_axis,
    still_draws,
    tensors_in,
    unseen,
)
from sfumato.training.clipping.slots import Records

if TYPE_CHECKING:
    from sfumato.training.clipping.recording import Recording

# How many batches are checked at the beginning, and the probability for later ones. A check takes
# the time of three to six batches, so all checks take less than one percent of a long training.
FIRST, RARELY = 2, 1e-3
# The relative difference that is allowed in a batch of the same shape, where most numbers are
# bitwise equal, and in one of another shape, where rounding errors are at least ten times smaller.
SLACK, SLACK_IN_OTHER_SHAPES = 1e-4, 1e-3
# The same where something is computed in bfloat16, which has three digits: another kernel, for
# rows of other lengths, rounds all of them otherwise.
SLACK_IN_FEW_DIGITS = 0.1

LossesOf = Callable[[Tensor], Tensor]


class CheckSchedule:
    """When to check: the first batches that prove something, then at random."""

    def __init__(self, coin: Randomness) -> None:
        self._coin, self._left = coin, FIRST

    def due(self) -> bool:
        """Whether to check the current batch."""
        return self._left > 0 or float(self._coin.uniform(1)[0]) < RARELY

    def passed(self) -> None:
        """Note that a check found nothing."""
        self._left = max(0, self._left - 1)


@dataclass(frozen=True, eq=False)
class RowSplit:
    """A random half of the rows to compare, and replacements for the others."""

    kept: Tensor
    replaced: Tensor
    signs: Tensor
    flipped: bool

    @classmethod
    def drawn(cls, rows: int, coin: Randomness, *, flipped: bool = False) -> RowSplit:
        """For two rows or more; at least one is compared and at least one is not.

        ``flipped`` changes the sign of all numbers in the batch.
        """
        kept = np.sort(np.argsort(coin.uniform(rows))[: rows // 2])
        places = np.arange(rows)
        others = (places + 1 + coin.integers(rows - 1, rows)) % rows  # never the same row
        others[kept] = kept
        signs = torch.zeros(rows)
        signs[kept] = torch.from_numpy(2.0 * coin.integers(2, len(kept)) - 1).float()
        return cls(torch.from_numpy(kept), torch.from_numpy(others), signs, flipped)

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return len(self.replaced)

    @property
    def looked_at(self) -> Tensor:
        """For each row, whether it is in the half that is compared."""
        return torch.isin(torch.arange(self.rows), self.kept)


@dataclass(frozen=True, eq=False)
class RowPlaces:
    """A batch to be computed: which row is at which position, and which rows change sign."""

    rows: Tensor
    flipped: Tensor


@dataclass(frozen=True, eq=False)
class Seen:
    """What was computed: results by row, gradient norms, and a sum with random signs."""

    results: list[Tensor]
    norms: Tensor
    total: dict[str, Tensor]

    def of(self, rows: Tensor) -> Seen:
        """Some of the rows."""
        norms = self.norms[rows.to(self.norms.device)]
        return Seen([one[rows.to(one.device)] for one in self.results], norms, self.total)


class Coupling(Enum):
    """The outcome of a comparison."""

    SAME = auto()
    OTHER = auto()
    HIDDEN = auto()


# From a batch to its results by row, and a scalar whose gradient is compared.
Look = Callable[[RowPlaces], tuple[list[Tensor], Tensor]]


def check_call(recording: Recording, inputs: ModelInputs, split: RowSplit) -> bool:
    """Compare what a model computes for some rows; returns whether the numbers were finite."""
    outputs = _Outputs(inputs.rows)

    def look(places: RowPlaces) -> tuple[list[Tensor], Tensor]:
        args, kwargs = inputs.taken(places.rows, places.flipped)
        # Expected labels are those of the whole batch, so scores are compared; ``unseen`` restores.
        ask_for_scores(recording.model)
        results = recording.model(*args, **kwargs)
        if is_dataclass(results) and not isinstance(results, Mapping):
            results = list(vars(results).values())
        return outputs.look(tensors_in(results))

    comparison = _Comparison(recording, look, split)
    try:
        comparison.begin()
    except _Incomparable:
        return True
    except Exception:
        return False  # the actual call will raise the error
    changes = {"changes with the input of other rows of its batch": comparison.replaced}
    if inputs.can_be_cut:
        changes["changes when other rows of its batch are left out"] = comparison.left_out
    for change, compare in changes.items():
        outcome = _outcome_of(compare)
        if outcome is Coupling.OTHER:
            raise CoupledRows(
                f"what the model computes for a row {change}; rows must not see each other, "
                "neither through gradients nor through numbers that are detached, such as a mean "
                "over the batch or a capacity that rows share"
            )
        if outcome is Coupling.HIDDEN:
            return False
    return True


def _outcome_of(compare: Callable[[], Coupling]) -> Coupling:
    try:
        return compare()
    except _Incomparable:
        return Coupling.SAME
    except Exception as error:
        if is_about_memory(error):
            raise
        # The original message may contain the number of rows.
        raise CoupledRows(
            "the model fails when other rows of a batch are replaced or left out, so it cannot be "
            "checked that rows do not influence each other; the model must accept any rows"
        ) from None


def check_losses(recording: Recording, losses_of: LossesOf, split: RowSplit, length: float) -> bool:
    """Compare losses of some rows and their gradients; returns whether they were finite.

    Gradients much shorter than ``length`` contribute almost nothing, and count as equal.
    """

    def look(places: RowPlaces) -> tuple[list[Tensor], Tensor]:
        losses = losses_of(places.rows)
        if not isinstance(losses, Tensor) or losses.shape != places.rows.shape:
            raise InvalidArgument(
                "the losses must be one number for each row that was asked for, also if a row is "
                "asked for twice or if only some are"
            )
        return [losses[:, None]], losses.sum()

    comparison = _Comparison(recording, look, split, length)
    comparison.begin()
    changes = {"are replaced": comparison.replaced, "are left out": comparison.left_out}
    for change, compare in changes.items():
        outcome = compare()
        if outcome is Coupling.OTHER:
            raise CoupledRows(
                f"the loss of a row, or its gradient, changes when other rows of its batch {change}"
                "; rows must not see each other in the model, and a loss may be divided by what "
                "the row itself has or by a public constant, never by a number of the batch"
            )
        if outcome is Coupling.HIDDEN:
            return False
    return True


class _Comparison:
    """One batch, and some of its rows together with others."""

    def __init__(
        self, recording: Recording, look: Look, split: RowSplit, length: float | None = None
    ) -> None:
        self.recording, self.look, self.split, self._length = recording, look, split, length
        flipped = torch.full((split.rows,), split.flipped)
        self._whole = RowPlaces(torch.arange(split.rows), flipped)
        # The replacements have the opposite sign.
        self._replaced = RowPlaces(split.replaced, flipped ^ ~split.looked_at)
        self._half = RowPlaces(split.kept, flipped[: len(split.kept)])

    def begin(self) -> None:
        """Compute the original batch."""
        self.base, self.drew = self._see(self._whole, self.split.signs)

    def replaced(self) -> Coupling:
        """With other rows at the positions of the rest, and the same random numbers."""
        other, _ = self._see(self._replaced, self.split.signs)
        return self._compare(self.base, other.of(self.split.kept), self._slack(SLACK))

    def left_out(self) -> Coupling:
        """Without the rest."""
        signs, slack = self.split.signs[self.split.kept], self._slack(SLACK_IN_OTHER_SHAPES)
        if not self.drew:
            return self._compare(self.base, self._see(self._half, signs)[0], slack)
        base = self._see(self._whole, self.split.signs, still=True)[0]
        outcome = self._compare(base, self._see(self._half, signs, still=True)[0], slack)
        if outcome is Coupling.OTHER:
            # Randomness that cannot be removed, in a custom kernel, is not an influence of rows.
            again = self._see(self._whole, self.split.signs, still=True, fresh=True)[0]
            if self._compare(base, again.of(self.split.kept), slack) is not Coupling.SAME:
                return Coupling.SAME
        return outcome

    def _slack(self, usual: float) -> float:
        return SLACK_IN_FEW_DIGITS if self.recording.batch.coarse else usual

    def _see(
        self, places: RowPlaces, signs: Tensor, *, still: bool = False, fresh: bool = False
    ) -> tuple[Seen, bool]:
        """What is computed for a batch, and whether random numbers were drawn."""
        recording, records = self.recording, Records(len(places.rows))
        chance = still_draws() if still else nullcontext()
        with unseen(recording.model), recording.comparing(), chance:
            if fresh:
                draw_once(recording.model)
            before = draws(recording.model)
            results, pulled = self.look(places)
            after = draws(recording.model)
            signs = signs.to(pulled.device)
            recording.gather(pulled, records, weights=signs)
            norms = recording.measure(records).norms()
            total = dict(recording.weighted_sums(signs.to(norms.device), records))
        drew = not all(torch.equal(*one) for one in zip(before, after, strict=True))
        return Seen([one.detach() for one in results], norms, total), drew

    def _compare(self, whole: Seen, other: Seen, slack: float) -> Coupling:
        mine = whole.of(self.split.kept)
        length = float(mine.norms.mean()) if self._length is None else self._length
        if not _finite(mine) or not _finite(other):
            return Coupling.HIDDEN
        for one, same in zip(mine.results, other.results, strict=True):
            sizes = torch.maximum(_lengths(one), _lengths(same))
            allowed = slack * (sizes + sizes.max() + (self._length or 0.0))
            if bool((_lengths(one - same) > allowed).any()):
                return Coupling.OTHER
        allowed = slack * (torch.maximum(mine.norms, other.norms) + length)
        if bool(((mine.norms - other.norms).abs() > allowed).any()):
            return Coupling.OTHER
        shared = whole.total.keys() & other.total.keys()
        apart = [
            (whole.total[name].double() - other.total[name].double()).norm() for name in shared
        ]
        if math.hypot(*map(float, apart)) > float(allowed.sum()):
            return Coupling.OTHER
        return Coupling.SAME


class _Incomparable(Exception):
    """There are no results by row, or their shape changes with the other rows."""


class _Outputs:
    """The results of a model by row; their layout is taken from the whole batch."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._pulls: list[tuple[int, int | None, Tensor]] | None = None

    def look(self, outputs: list[Tensor]) -> tuple[list[Tensor], Tensor]:
        """Results by row, and their inner product with a random direction, equal for all rows.

        Results are not compared if two axes could be the rows; their gradients are.
        """
        if self._pulls is None:
            self._pulls = self._learn(outputs)
        pulled, results = torch.zeros(()), []
        for number, axis, pull in self._pulls:
            one = outputs[number] if number < len(outputs) else None
            if one is None or not _fits(one, pull, axis):
                raise _Incomparable
            if axis is not None:
                results.append(one.movedim(axis, 0).flatten(1))
            pulled = pulled + (one * pull.to(one)).sum()
        return results, pulled

    def _learn(self, outputs: list[Tensor]) -> list[tuple[int, int | None, Tensor]]:
        source, pulls = torch.Generator().manual_seed(0), []
        for number, one in enumerate(outputs):
            axis = row_axis(one, self.rows)
            if axis is None or not one.requires_grad:
                continue
            shape = [1 if place < 2 and n == self.rows else n for place, n in enumerate(one.shape)]
            doubtful = tuple(one.shape[:2]) == (self.rows, self.rows)
            pull = torch.randn(shape, generator=source)
            pulls.append((number, None if doubtful else axis, pull))
        if not pulls:
            raise _Incomparable
        return pulls


def _fits(output: Tensor, pull: Tensor, axis: int | None) -> bool:
    if output.dim() != pull.dim():
        return False
    sizes = zip(output.shape, pull.shape, strict=True)
    return all(
        place == axis or (axis is None and place < 2) or size == wanted
        for place, (size, wanted) in enumerate(sizes)
    )


def _finite(seen: Seen) -> bool:
    everything = [seen.norms, *seen.total.values()]
    return all(bool(one.isfinite().all()) for one in everything)


def _lengths(rows: Tensor) -> Tensor:
    """The length of each row; entries that are not finite, such as masked scores, do not count."""
    return torch.where(rows.isfinite(), rows, 0).double().square().sum(1).sqrt()


def is_about_memory(error: Exception) -> bool:
    """Whether an error means that there was not enough memory."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "alloc" in str(error)
