"""A private step around any torch model and optimizer: clip every record, add noise once, update.

Guarantee
    One step releases what its ``GradientRelease`` says. The Gaussian one, which ``make_private``
    takes, releases Σ_i c_i·G_i + N(0, (zC)²) over the records of a logical batch, with ‖c_i·G_i‖ <=
    C: a Gaussian release with noise multiplier z for adding or removing one record. The cost over a
    training run, under sampling, is computed by an accountant, which must be told the sampling that
    was really used.

Why it holds
    Contributions are summed over all physical batches, and noise is added to the sum once, in
    ``step``. The sum is divided by the *expected* batch size, a public number; the actual size is
    private. An empty batch takes a step of noise alone. Whatever the optimizer does with the noisy
    gradient is post-processing.

Care
    All rows of a record must be clipped together: give ``owner`` if a record has several rows, and
    do not spread a record over several calls of ``backward`` except within ``one_record``. Losses
    and gradient norms are private: printing or logging them is a release that is not accounted for.
    So is stopping because of them; a record whose gradient is not finite stops training. Errors
    state neither how many records are in a batch nor which ones: under Poisson sampling both are
    secret.

``PlainStep`` is the ordinary step, for comparison: no clipping, no noise, no guarantee.

It has the interface of ``PrivateStep``, so that the loop is the same with and without privacy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sfumato.accounting.events import computable_noise
from sfumato.core.checks import at_least, between, positive
from sfumato.core.errors import InvalidArgument, UndefinedGradient
from sfumato.core.randomness import Randomness
from sfumato.training.clipping.clippers import Clipper
from sfumato.training.clipping.passes import forgotten
from sfumato.training.clipping.recording import Recording
from sfumato.training.clipping.release import (
    GaussianRelease,
    GradientRelease,
    NamedTensors,
    StepNoise,
)
from sfumato.training.clipping.row_checks import (
    CheckSchedule,
    LossesOf,
    RowSplit,
    check_losses,
    is_about_memory,
)
from sfumato.training.processes.sums import add_gradients
from sfumato.training.processes.team import ALONE, Team

# The stream that decides when rows are compared; steps never draw noise from it.
_COIN = 2**32 - 1
# The stream of a step for noise that is drawn for each batch; noise at the end of a step comes from
# other streams.
_CONTRIBUTIONS = 2**32 - 1


def make_private(  # noqa: PLR0913  # keywords
    model: nn.Module,
    optimizer: Optimizer,
    *,
    clipper: Clipper,
    noise_multiplier: float,
    expected_batch_size: float,
    randomness: Randomness,
    two_passes: bool = False,
) -> PrivateStep:
    """Make the steps of an optimizer private; the model and the optimizer are used as they are.

    Call the model as before, give the losses of the rows to ``backward``, then call ``step``.
    ``randomness`` must be used for nothing else, and must have no seed if the model is to be
    released. Steps are Gaussian releases of clipped gradients; for another kind of release use
    ``PrivateStep``. With ``two_passes`` nothing of a layer is kept until all norms are known, which
    takes less memory and about twice the time (``clipping.passes``).
    """
    return PrivateStep(
        model,
        optimizer,
        release=GaussianRelease(clipper),
        noise_multiplier=noise_multiplier,
        expected_batch_size=expected_batch_size,
        randomness=randomness,
        two_passes=two_passes,
    )


class PrivateStep:
    """Sums of bounded gradients, and the step that releases one of them with noise.

    ``steps`` counts the steps taken; with a seed it decides which noise comes next. To resume after
    an interruption, set it to its last value, and ``restore`` the release. In a ``team`` each
    process gives its own records, and all take the step with the sum of all. A schedule sets
    ``noise_multiplier`` before the first batch of a step, or gives it to ``step`` if the release
    draws no noise before that. ``two_passes`` saves memory (``clipping.passes``).
    """

    def __init__(  # noqa: PLR0913  # what a step is made of, and who takes it
        self,
        model: nn.Module,
        optimizer: Optimizer,
        *,
        release: GradientRelease,
        noise_multiplier: float,
        expected_batch_size: float,
        randomness: Randomness,
        team: Team = ALONE,
        two_passes: bool = False,
    ) -> None:
        if team.size > 1 and not getattr(release, "adds_up_teams", False):
            raise InvalidArgument(
                f"{type(release).__name__} adds noise for one process and does not add up the sums "
                "of several; train in one process, or let its `finish` do that by `add_up`"
            )
        if two_passes and not getattr(release, "needs_norms_alone", False):
            raise forgotten()
        self.team = team
        self.recording = recording = Recording(
            model, randomness.stream(_COIN), two_passes=two_passes
        )
        self.optimizer = optimizer
        self.release = release
        self.noise_multiplier = computable_noise("noise_multiplier", noise_multiplier)
        self.expected_batch_size = positive("expected_batch_size", expected_batch_size)
        self.randomness = randomness
        self._sums: dict[str, Tensor] = {}
        self.steps = 0
        self._contributions = 0
        self._spoiled = False
        self._record: dict[str, Tensor] | None = None
        self._owners: set[int] = set()
        self._coin = recording.coin.stream(0)
        self._losses_compared = CheckSchedule(self._coin)
        _check_same_parameters(recording, optimizer)

    def backward(self, losses: Tensor, owner: Tensor | None = None, *, share: float = 1.0) -> None:
        """One backward pass from the losses of the rows; clip each record and add it to the sum.

        Row i belongs to the record ``owner[i]``; without ``owner`` each row is a record. A number
        means the same record in the whole step, and may not occur in a later call again. What the
        records add is multiplied by ``share``, at most 1, after clipping (``groups``).
        """
        self._check_share(share)
        if self._record is not None and owner is not None:
            raise InvalidArgument("within one_record all rows have the same owner; give none")
        if self._record is not None and share != 1.0:
            raise InvalidArgument(
                "within one_record all rows have the same share; give it to one_record"
            )
        records = self.recording.backward(losses, owner)
        if self._record is not None:
            _add(self._record, self.recording.weighted_sums(torch.ones_like(losses), records))
            return
        self._refuse_twice(owner)
        try:
            noise = self._noise_of_contribution()
            contributed = self.release.contribute(self.recording, records, noise)
            self._collect(_shared(contributed, share))
        finally:
            self.recording.clear()

    def check_rows(self, losses_of: LossesOf, rows: int) -> None:
        """From time to time, check whether rows of a batch influence each other's losses.

        ``losses_of`` takes the numbers of some of the batch's rows, possibly repeated, calls the
        model with these rows only, and returns their losses; ``rows`` is the number of rows of the
        batch. Call this for every batch, before or after ``backward``: it checks the first batches
        and then a few at random (``row_checks``), and changes nothing. It detects what ``backward``
        cannot: a loss divided by a number that depends on the batch.
        """
        at_least("rows", rows, 0)
        self.recording.compared = True  # these comparisons call the model as well
        if rows > 1 and not self.recording.paused and self._losses_compared.due():
            split = RowSplit.drawn(rows, self._coin)
            if check_losses(self.recording, losses_of, split, self.release.saturation):
                self._losses_compared.passed()

    @contextmanager
    def one_record(self, *, share: float = 1.0) -> Iterator[None]:
        """All that is given to ``backward`` within this block is one record in several batches."""
        self._check_share(share)
        if self._record is not None:
            raise InvalidArgument("a record is open already; end it before the next one begins")
        self._record = {}
        try:
            yield
            if self._record:
                self._fill(self._record)
                noise = self._noise_of_contribution()
                contributed = self.release.contribute_whole(self._record, noise)
                self._collect(_shared(contributed, share))
        finally:
            self._record = None

    def step(
        self, *, noise_multiplier: float | None = None, expected_batch_size: float | None = None
    ) -> None:
        """Add noise once, divide by the expected batch size, update; then begin the next batch.

        A schedule gives the noise and the batch size of this step; otherwise they are those that
        ``make_private`` was given.
        """
        if self._record is not None:
            raise InvalidArgument(
                "a record is still open; take the step after one_record has ended"
            )
        self._refuse_spoiled()
        multiplier, size = self.noise_multiplier, self.expected_batch_size
        if noise_multiplier is not None:
            multiplier = computable_noise("noise_multiplier", noise_multiplier)
        if expected_batch_size is not None:
            size = positive("expected_batch_size", expected_batch_size)
        noise = StepNoise(multiplier, self.randomness.stream(self.steps), self.team)
        slots = self.recording.slots
        self._fill(self._sums)
        self.release.finish([self._sums[name] for name in slots], size, noise)
        # The noisy sum, divided by the expected batch size, is the gradient for the optimizer.
        for name, slot in slots.items():
            slot.parameter.grad = self._sums.pop(name).div_(size)
        self._contributions = 0
        self._owners.clear()
        self.steps += 1
        self.optimizer.step()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Use the model in the ordinary way for a while, for instance for steps on public text."""
        with self.recording.pause():
            yield

    def close(self) -> None:
        """Restore the model as it was before."""
        self.recording.close()

    def _collect(self, contributed: NamedTensors) -> None:
        """Add to the sum; one that has only a part of a batch, after an error, is of no use."""
        self._refuse_spoiled()
        try:
            _add(self._sums, contributed)
        except BaseException:
            self._spoiled = True
            raise

    def _check_share(self, share: float) -> None:
        """Refuse a share that breaks the bound, or one of noise that each record has of its own."""
        if share == 1.0:
            return
        between("share", positive("share", share), 0.0, 1.0)
        if not getattr(self.release, "noise_at_the_end", False):
            raise InvalidArgument(
                "a share is for releases whose noise is added to the sum; here every record has "
                "noise of its own, which the share would shrink, too"
            )

    def _refuse_spoiled(self) -> None:
        if self._spoiled:
            raise InvalidArgument(
                "a batch of this step failed halfway, so that its records may count twice if they "
                "are given again; close this private step and make a new one"
            )

    def _fill(self, sums: dict[str, Tensor]) -> None:
        """Zeros for what nobody used: whether a record used a parameter must not show."""
        for name, slot in self.recording.slots.items():
            if name not in sums:
                sums[name] = torch.zeros(slot.parameter.shape).to(slot.parameter)

    def _noise_of_contribution(self) -> StepNoise:
        """Every contribution of every step, in every process, draws noise from its own stream."""
        of_step = self.randomness.stream(self.steps).stream(_CONTRIBUTIONS)
        self._contributions += 1
        number = self._contributions * self.team.size + self.team.rank
        return StepNoise(self.noise_multiplier, of_step.stream(number))

    def _refuse_twice(self, owner: Tensor | None) -> None:
        """Refuse a record given in two calls: it would be clipped twice and count twice."""
        names = set() if owner is None else set(owner.tolist())
        if not self._owners.isdisjoint(names):
            self.recording.clear()
            raise InvalidArgument(
                "a record of this step was given to backward before; give all of its rows at once, "
                "or within one_record (different records of a step need different numbers)"
            )
        self._owners |= names


def _shared(contributed: NamedTensors, share: float) -> NamedTensors:
    """What bounded records add, each of them shortened by the same factor."""
    if share == 1.0:
        return contributed
    return ((name, one * share) for name, one in contributed)


def _add(sums: dict[str, Tensor], more: NamedTensors) -> None:
    for name, one in more:
        sums[name] = sums[name].add_(one) if name in sums else one.contiguous()


def _check_same_parameters(recording: Recording, optimizer: Optimizer) -> None:
    given = {one for group in optimizer.param_groups for one in group["params"]}
    ours = {slot.parameter for slot in recording.slots.values()}
    missing = [name for name, slot in recording.slots.items() if slot.parameter not in given]
    if missing:
        raise InvalidArgument(
            f"the optimizer does not have {', '.join(missing)}; give it all trainable parameters "
            "of the model, or freeze these with requires_grad_(False)"
        )
    foreign = sum(one.requires_grad and one not in ours for one in given)
    if foreign:
        raise InvalidArgument(
            f"the optimizer has {foreign} trainable parameters that the model does not have; "
            "their gradients would not be private"
        )


class PlainStep:
    """Sums of unclipped gradients, divided by the planned batch size."""

    clip_norm = float("inf")

    def __init__(self, optimizer: Optimizer, team: Team = ALONE) -> None:
        self.optimizer, self.team = optimizer, team
        self._share = 1.0
        optimizer.zero_grad()

    def backward(
        self,
        losses: Tensor,
        owner: Tensor | None = None,  # noqa: ARG002
        *,
        share: float = 1.0,
    ) -> None:
        """Add the gradients of the rows to the sum; their owners do not matter."""
        (losses.sum() * (share * self._share)).backward()  # type: ignore[no-untyped-call]

    def check_rows(self, losses_of: LossesOf, rows: int) -> None:
        """Without a guarantee nothing has to be checked."""

    @contextmanager
    def one_record(self, *, share: float = 1.0) -> Iterator[None]:
        """Records of several batches need no special treatment, but for what they count."""
        self._share = share
        try:
            yield
        finally:
            self._share = 1.0

    def step(self, *, noise_multiplier: float, expected_batch_size: float) -> None:  # noqa: ARG002
        """Divide and update."""
        parameters = [one for group in self.optimizer.param_groups for one in group["params"]]
        add_gradients(self.team, parameters)
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.div_(expected_batch_size)
        self.optimizer.step()
        self.optimizer.zero_grad()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Nothing is recorded, so nothing has to be paused; the sum so far is kept."""
        yield

    def close(self) -> None:
        """Nothing was changed."""


@contextmanager
def hide_members() -> Iterator[None]:
    """Errors within this block do not reveal which records are in a batch, or how many."""
    try:
        yield
    except UndefinedGradient as error:
        if error.met:  # it is that of another process
            raise
        raise _diverged("a loss or gradient is not a finite number any more") from None
    except (MemoryError, RuntimeError) as error:
        if not is_about_memory(error):
            raise
        # Torch's message contains the requested size, which depends on the longest document.
        raise MemoryError(
            "not enough memory for a batch; take fewer tokens_at_once, or cut documents off"
        ) from None


def refuse_diverged(network: torch.nn.Module) -> None:
    """Weights that are not finite must not replace a good checkpoint."""
    if not all(bool(one.isfinite().all()) for one in network.parameters()):
        raise _diverged("a weight is not a finite number any more")


def _diverged(problem: str) -> UndefinedGradient:
    return UndefinedGradient(
        f"{problem}: training has diverged. A new run with a lower learning rate may not; the "
        "last checkpoint of this one is kept, and what it has spent stays spent"
    )
