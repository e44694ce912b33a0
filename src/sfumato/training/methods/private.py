"""DP-SGD on all documents: every record is clipped, and every step has noise.

Guarantee
    (epsilon, delta)-DP of all iterates together for every unit, as ``training.plan`` proves it.
    The noise follows from the level; or the noise is given, and the same accounting gives the
    level that follows from it.

Reference
    Abadi et al. 2016, "Deep learning with differential privacy".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument
from sfumato.training.methods.base import (
    Prepared,
    Task,
    TokenMaterial,
    TrainingMethod,
    prepare_steps,
)
from sfumato.training.stages import scale_stages

if TYPE_CHECKING:
    from sfumato.core.randomness import Randomness
    from sfumato.training.clipping.release import GradientRelease
    from sfumato.training.loop import Between, Instead
    from sfumato.training.request import Request
    from sfumato.training.settings import Course, Privacy


@dataclass(frozen=True)
class Private(TrainingMethod):
    """DP-SGD on everything.

    ``sigma`` takes the place of a level: the standard deviation of the noise on a sum, in units of
    the clipping norm, in the steps with the least noise.
    """

    name: ClassVar[str] = "private"
    adds_up: ClassVar[bool] = True
    weighs_groups: ClassVar[bool] = True
    saves_memory: ClassVar[bool] = True

    sigma: float | None = None

    def __post_init__(self) -> None:
        if self.sigma is not None:
            positive("sigma", self.sigma)

    @property
    def needs_level(self) -> bool:
        """A level, unless the noise itself is given."""
        return self.sigma is None

    def check(self, request: Request) -> None:
        """Refuse a level beside the noise."""
        super().check(request)
        if self.sigma is not None and request.privacy.epsilon != math.inf:
            raise InvalidArgument(
                "sigma decides the noise, and so does `epsilon=...`; give one of them"
            )

    def prepare(self, task: Task) -> Prepared:
        """All documents, one stream."""
        return self.planned(task)

    def planned(
        self,
        task: Task,
        *,
        between: Callable[[Randomness], Between] | None = None,
        instead: Instead | None = None,
        release: GradientRelease | None = None,
    ) -> Prepared:
        """Steps of DP-SGD on all documents; the rest is as ``prepare_steps`` takes it."""
        material = TokenMaterial(task.records())
        plan = None
        if self.sigma is not None:
            drafted = task.privacy.draft(len(material.records))
            factor = self.sigma / drafted.noise_multiplier
            plan = replace(drafted, stages=scale_stages(drafted.stages, factor))
        return prepare_steps(task, material, between, plan=plan, instead=instead, release=release)

    def as_dict(self, privacy: Privacy, course: Course) -> dict[str, object]:
        """There is no public step, and nothing to set but the noise."""
        return {"public": None} | ({} if self.needs_level else super().as_dict(privacy, course))
