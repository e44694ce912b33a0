"""A method of training as another package would add one: this file and an entry, nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from sfumato.core.checks import at_least
from sfumato.training.methods.base import (
    Prepared,
    Task,
    TokenMaterial,
    TrainingMethod,
    prepare_steps,
)


@dataclass(frozen=True)
class Beginnings(TrainingMethod):
    """DP-SGD on the first characters of every document."""

    name: ClassVar[str] = "beginnings"

    characters: int = 20

    def __post_init__(self) -> None:
        at_least("characters", self.characters, 1)

    def prepare(self, task: Task) -> Prepared:
        short = [replace(one, text=one.text[: self.characters]) for one in task.documents]
        return prepare_steps(task, TokenMaterial(replace(task, documents=short).records()))
