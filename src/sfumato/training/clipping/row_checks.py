"""Comparisons that find rows of a batch which influence each other.

Guarantee
    A model, or a loss, in which rows influence each other in one of the batches that are compared
    is refused, however the influence comes about: through a gradient, a number that is detached, a
    capacity that rows share, the number of rows. Twice at the beginning a batch is compared, then
    each with a chance of one in a thousand, by a coin that knows nothing of the data.

Why it holds
    Of a random half of the rows, what is computed must stay what it is when all other rows are
    replaced, and when they are left out: results, the norm of each row's gradient, and a sum of
    the gradients with random signs. Replaced means: the same shape, the same mode and the same
    draws of dropout, rows of the batch in other places, with the other sign if they are numbers.
    Left out means a smaller batch, in which the same draws cannot be had; there nothing is dropped.

What stays unseen
    Differences that rounding could explain. When half of a batch is replaced at once, the norm of
    a row's contribution to the sum may change by 2·SLACK·C (C is the clipping norm), and the sum of
    n/2 contributions with random signs by n·SLACK·C; when it is left out, by ten times as much,
    because sums of other lengths are rounded differently. An influence between two rows that are
    on the same side of all halves that were drawn; each half parts them with a chance of ½ at
    least. An influence that begins later, until the coin finds it. What a model keeps from one call
    for the next. And numbers that are not finite prove nothing: then the next batch is compared.
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
from sfumato.training.clipping.records import Records
from sfumato.training.clipping.replays import (
    ModelInputs,
    draw_once,
    draws,
    row_axis,
    still_draws,
    tensors_in,
    unseen,
)
from sfumato.training.failures import is_about_memory

if TYPE_CHECKING:
    from sfumato.training.clipping.recording import Recording

# So many batches are compared at the beginning, and later ones with this chance. A comparison takes
# the time of three to six batches, so all of them take less than a hundredth of a long training.
FIRST, RARELY = 2, 1e-3
# By this share a number may differ in a batch of the same shape, where most are equal to the bit,
# and in one of another shape, where rounding is some ten times smaller at least.
SLACK, SLACK_IN_OTHER_SHAPES = 1e-4, 1e-3

LossesOf = Callable[[Tensor], Tensor]


class CheckSchedule:
    """When to compare: the first batches that prove something, then at random."""

    def __init__(self, coin: Randomness) -> None:
        self._coin, self._left = coin, FIRST

    def due(self) -> bool:
        """Whether the batch at hand is to be compared."""
        return self._left > 0 or float(self._coin.uniform(1)[0]) < RARELY

    def passed(self) -> None:
        """A comparison was made, and found nothing."""
        self._left = max(0, self._left - 1)


@dataclass(frozen=True, eq=False)
class RowSplit:
    """A half of the rows to look at, and other rows in the places of the rest."""

    kept: Tensor
    replaced: Tensor
    signs: Tensor
    flipped: bool

    @classmethod
    def drawn(cls, rows: int, coin: Randomness, *, flipped: bool = False) -> RowSplit:
        """Of two rows or more; one at least is looked at and one at least is not.

        ``flipped`` turns the sign of all numbers in the batch.
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
        """How many there are in all."""
        return len(self.replaced)

    @property
    def looked_at(self) -> Tensor:
        """Of each row whether it is in the half."""
        return torch.isin(torch.arange(self.rows), self.kept)


@dataclass(frozen=True, eq=False)
class RowPlaces:
    """A batch to be computed: which row stands where, and which of them change sign."""

    rows: Tensor
    flipped: Tensor


@dataclass(frozen=True, eq=False)
class Seen:
    """What was computed: results by row, the norms of gradients, and a sum with signs."""

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


# From a batch to its results, by row, and a number whose gradient is to be looked at.
Look = Callable[[RowPlaces], tuple[list[Tensor], Tensor]]


def check_call(recording: Recording, inputs: ModelInputs, split: RowSplit) -> bool:
    """Compare what a model computes for some rows; whether numbers were finite."""
    outputs = _Outputs(inputs.rows)

    def look(places: RowPlaces) -> tuple[list[Tensor], Tensor]:
        args, kwargs = inputs.taken(places.rows, places.flipped)
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
        return False  # the call itself will say what is wrong
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
        # What it says may tell how many rows there are.
        raise CoupledRows(
            "the model fails when other rows of a batch are replaced or left out, so nobody can "
            "see that rows have no influence on each other; let it take any rows"
        ) from None


def check_losses(recording: Recording, losses_of: LossesOf, split: RowSplit, length: float) -> bool:
    """Compare losses of some rows and their gradients; whether numbers were finite.

    Gradients much shorter than ``length`` contribute next to nothing, and are as good as equal.
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
    """One batch, and the same rows in other company."""

    def __init__(
        self, recording: Recording, look: Look, split: RowSplit, length: float | None = None
    ) -> None:
        self.recording, self.look, self.split, self._length = recording, look, split, length
        flipped = torch.full((split.rows,), split.flipped)
        self._whole = RowPlaces(torch.arange(split.rows), flipped)
        # The others have both signs: their own, and the other one where rows have theirs.
        self._replaced = RowPlaces(split.replaced, flipped ^ ~split.looked_at)
        self._half = RowPlaces(split.kept, flipped[: len(split.kept)])

    def begin(self) -> None:
        """See the batch as it is."""
        self.base, self.drew = self._see(self._whole, self.split.signs)

    def replaced(self) -> Coupling:
        """With other rows in the places of the rest, under the same draws."""
        other, _ = self._see(self._replaced, self.split.signs)
        return self._compare(self.base, other.of(self.split.kept), SLACK)

    def left_out(self) -> Coupling:
        """Without the rest."""
        signs, slack = self.split.signs[self.split.kept], SLACK_IN_OTHER_SHAPES
        if not self.drew:
            return self._compare(self.base, self._see(self._half, signs)[0], slack)
        base = self._see(self._whole, self.split.signs, still=True)[0]
        outcome = self._compare(base, self._see(self._half, signs, still=True)[0], slack)
        if outcome is Coupling.OTHER:
            # Chance that cannot be held still, in a kernel of its own, is no influence of rows.
            again = self._see(self._whole, self.split.signs, still=True, fresh=True)[0]
            if self._compare(base, again.of(self.split.kept), slack) is not Coupling.SAME:
                return Coupling.SAME
        return outcome

    def _see(
        self, places: RowPlaces, signs: Tensor, *, still: bool = False, fresh: bool = False
    ) -> tuple[Seen, bool]:
        """What is computed for a batch, and whether something was drawn in it."""
        recording, records = self.recording, Records(len(places.rows))
        chance = still_draws() if still else nullcontext()
        with unseen(recording.model), recording.comparing(), chance:
            if fresh:
                draw_once(recording.model)
            before = draws(recording.model)
            results, pulled = self.look(places)
            after = draws(recording.model)
            recording.gather(pulled, records)
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
    """There are no results by row, or they have another form in other company."""


class _Outputs:
    """The results of a model by row; what they are like is learned from the whole batch."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._pulls: list[tuple[int, int | None, Tensor]] | None = None

    def look(self, outputs: list[Tensor]) -> tuple[list[Tensor], Tensor]:
        """Results by row, and a number that pulls at all rows alike in a direction of no meaning.

        Results are not compared where two axes could be the rows; their gradients are.
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
    """Of each row the length; what is not finite, such as a masked score, does not count."""
    return torch.where(rows.isfinite(), rows, 0).double().square().sum(1).sqrt()
