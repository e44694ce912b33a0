"""DP-SGD on all documents: every record is clipped, and every step has noise.

Guarantee
    (epsilon, delta)-DP of all iterates together for every unit, as ``training.plan`` proves it.

Reference
    Abadi et al. 2016, "Deep learning with differential privacy".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.training.methods.base import (
    Prepared,
    Task,
    TokenMaterial,
    TrainingMethod,
    prepare_steps,
)

if TYPE_CHECKING:
    from sfumato.training.settings import Course, Privacy


@dataclass(frozen=True)
class Private(TrainingMethod):
    """DP-SGD on everything."""

    name: ClassVar[str] = "private"
    adds_up: ClassVar[bool] = True

    def prepare(self, task: Task) -> Prepared:
        """All documents, one stream."""
        return prepare_steps(task, TokenMaterial(task.records()))

    def as_dict(self, privacy: Privacy, course: Course) -> dict[str, object]:  # noqa: ARG002
        """There is nothing to set, and no public step."""
        return {"public": None}
