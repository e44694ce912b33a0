"""Training on noisy directions: every record's gradient is replaced by a draw around its direction.

``directional`` draws from von Mises–Fisher distributions. ``per-record`` adds Gaussian noise to the
direction of every record; in many dimensions the two are the same up to a total variation that
``accounting.directional`` states.

Guarantee
    (epsilon, delta)-DP of all iterates together for every unit, by the best of three proofs in
    ``accounting.directional``. Neighbors are two corpora of which one lacks a unit of the other,
    whose place is left empty and has a uniform draw in it (noise alone, for ``per-record``).

Why it holds
    In every epoch each unit is in one batch and has one draw there (``sampling.Shuffled``). Other
    steps depend on it through earlier results only. The sum, the division by public numbers and the
    optimizer work on draws.

Care
    There is no amplification by sampling, and Poisson sampling is refused: ‖sum‖² is close to the
    number of draws, so the sum of a secret sample would show its size. At the same level, noise
    that is added once to the sum of clipped gradients is smaller by a factor of √(batch size). So
    where somebody can be trusted to add it, ``private`` learns more; directional noise is for an
    observer of every single draw.

    A record's length is lost: a record that is predicted well moves the model as much as one that
    is not, so steps do not shrink as training goes on. Let the learning rate fall.

Reference
    Weggenmann and Kerschbaum 2021; Faustini, Fernandes, McIver and Dras 2023, "Directional privacy
    for deep learning". They state 2κ for any number of epochs, for which there is no proof: uses of
    the same record add up (``as_in_the_paper``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.accounting.directional import directional_epsilon, match_kappa, pure_epsilon
from sfumato.accounting.events import SampledGaussian
from sfumato.core.checks import at_least, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.json import write_number
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.guarantees.wording import at_most
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.methods.base import (
    Prepared,
    Task,
    TokenMaterial,
    TrainingMethod,
    prepare_steps,
)
from sfumato.training.plan import Plan, quietly
from sfumato.training.sampling import Shuffled
from sfumato.training.stages import scale_stages

if TYPE_CHECKING:
    from sfumato.training.clipping.release import GradientRelease
    from sfumato.training.request import Request

VMF, GAUSSIAN = "von Mises–Fisher", "Gaussian"
_EMPTY = ", with {noise} in it"
_DRAWS = {VMF: "a uniform draw", GAUSSIAN: "noise alone"}


@dataclass(frozen=True, kw_only=True)
class DirectionalPlan(Plan):
    """A plan whose noise every record has of its own, in ``dimension`` trainable numbers."""

    dimension: int
    noise: str = VMF

    def __post_init__(self) -> None:
        at_least("dimension", self.dimension, 2)
        super().__post_init__()

    @property
    def kappa(self) -> float:
        """The largest concentration of any step; infinite without noise."""
        return math.sqrt(self.dimension) / self.noise_multiplier if self.private else math.inf

    def level(self, events: tuple[SampledGaussian, ...], delta: float, neighbors: str) -> float:
        """The proven level of some uses of every record."""
        if self.noise == GAUSSIAN:
            return super().level(events, delta, neighbors)
        return _directional(events, self.dimension, delta, neighbors, self.accountant)

    # What it costs in divergences is that of Gaussian noise of the same multiplier, for draws
    # around directions, too (``accounting.directional``): see ``Plan.costs``.

    def so_far(self, steps: int) -> float:
        """The level is in closed form, so it is computed for every step."""
        return self.epsilon(steps)

    def release(self) -> GradientRelease:
        """Draws around directions, or directions with noise."""
        from sfumato.training.clipping.directional import DirectionalRelease, PerRecordRelease

        places = self.stages[0].batch_size
        if self.noise == GAUSSIAN:
            return PerRecordRelease(places)
        return DirectionalRelease(self.dimension, places)

    def guarantee(self, after_steps: int | None = None) -> Guarantee:
        """The guarantee of the model after so many steps."""
        made = super().guarantee(after_steps)
        if made.notion is Notion.NONE or self.neighbors != "add-or-remove":
            return made
        return replace(made, neighbors=made.neighbors + _EMPTY.format(noise=_DRAWS[self.noise]))

    def summary(self) -> str:
        """Steps and noise in a line."""
        if not self.private:
            return super().summary()
        return (
            f"{super().summary()}, for every record of its own (κ = {self.kappa:.4g} in "
            f"{self.dimension:,} dimensions)"
        )

    def as_in_the_paper(self) -> dict[str, Any]:
        """The pure level, which is proven, and the published one, which is not."""
        if self.noise == GAUSSIAN or not self.private:
            return {}
        events = self.events()
        pure = pure_epsilon(events, dimension=self.dimension)
        uses = sum(event.count for event in events)
        claim = 2 * self.kappa
        why = (
            "proven for one epoch, a record replaced by another"
            if uses == 1
            else f"not proven: {uses} epochs use every record {uses} times, and the levels add up "
            f"to {at_most(pure, 4)}"
        )
        return {
            "epsilon": write_number(claim),
            "delta": 0.0,
            "proven": uses == 1,
            "why": why,
            "pure_epsilon": write_number(pure),
        }

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return super().as_dict() | {"dimension": self.dimension, "noise": self.noise}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DirectionalPlan:
        """The inverse of ``as_dict``."""
        own = {key: values[key] for key in ("dimension", "noise") if key in values}
        with quietly():
            common = Plan.from_dict({key: values[key] for key in values if key not in own})
            return cls(**{one.name: getattr(common, one.name) for one in fields(common)}, **own)


@lru_cache(maxsize=4096)
def _directional(
    events: tuple[SampledGaussian, ...],
    dimension: int,
    delta: float,
    neighbors: str,
    accountant: str,
) -> float:
    return directional_epsilon(
        events, dimension=dimension, delta=delta, neighbors=neighbors, accountant=accountant
    )


@dataclass(frozen=True)
class Directional(TrainingMethod):
    """Directions of gradients, each replaced by a draw around it.

    The noise follows from the level, or from one of two settings instead of it: ``kappa`` is the
    concentration of the draws, ``sigma`` the standard deviation of Gaussian noise on unit vectors
    that is matched.
    """

    name: ClassVar[str] = "directional"
    noise: ClassVar[str] = VMF

    kappa: float | None = None
    sigma: float | None = None

    def __post_init__(self) -> None:
        for setting in ("kappa", "sigma"):
            if getattr(self, setting) is not None:
                positive(setting, getattr(self, setting))
        if self.kappa is not None and self.sigma is not None:
            raise InvalidArgument("kappa and sigma both say how much noise there is; give one")

    @property
    def needs_level(self) -> bool:
        """A level, unless the noise itself is given."""
        return self.kappa is None and self.sigma is None

    def check(self, request: Request) -> None:
        """Refuse Poisson sampling, clipping, and a level beside the noise."""
        super().check(request)
        privacy = request.privacy
        if not self.needs_level and privacy.epsilon != math.inf:
            raise InvalidArgument(
                "kappa or sigma decides the noise, and so does `epsilon=...`; give one of them"
            )
        if privacy.choose_sampling(Shuffled.name) != Shuffled():
            raise InvalidArgument(
                f"the method {self.name} has noise for every record, so that the length of a sum "
                "shows how many records are in it; Poisson sampling would have to keep that "
                'secret. Take `sampling="shuffled"`'
            )
        if privacy.clipping != Clipping():
            raise InvalidArgument(
                f"the method {self.name} takes directions only, so there is nothing to clip; leave "
                "`clipping=...` and `clip_norm=...` out"
            )

    def prepare(self, task: Task) -> Prepared:
        """All documents, one stream, and the plan for the model's number of weights."""
        material = TokenMaterial(task.records())
        dimension = sum(one.numel() for one in task.model.network.parameters() if one.requires_grad)
        shuffled = replace(task.privacy, sampling=Shuffled.name)
        drafted = shuffled.draft(len(material.records))
        with quietly():
            plan = DirectionalPlan(
                **{one.name: getattr(drafted, one.name) for one in fields(drafted)},
                dimension=dimension,
                noise=self.noise,
            )
        noise = self._noise(dimension)
        if noise is None:
            return prepare_steps(task, material, plan=plan.with_epsilon(task.privacy.epsilon))
        scaled = replace(plan, stages=scale_stages(plan.stages, noise / plan.noise_multiplier))
        return prepare_steps(task, material, plan=scaled)

    def _noise(self, dimension: int) -> float | None:
        """The least noise multiplier of any step, if it is given."""
        if self.sigma is not None:
            return math.sqrt(dimension) / match_kappa(self.sigma, dimension)
        return None if self.kappa is None else math.sqrt(dimension) / self.kappa


@dataclass(frozen=True)
class PerRecord(Directional):
    """Directions of gradients, each with Gaussian noise; ``sigma`` or ``kappa`` match those."""

    name: ClassVar[str] = "per-record"
    noise: ClassVar[str] = GAUSSIAN

    def _noise(self, dimension: int) -> float | None:
        return self.sigma if self.sigma is not None else super()._noise(dimension)
