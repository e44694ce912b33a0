"""How training goes, as far as it decides no privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.core.checks import at_least, between, one_of, positive

OPTIMIZERS = ("adam", "adam-bc", "sgd")
LARGEST_RATE = 1e6  # beyond it weights overflow, whatever the gradient
SCHEDULES = ("constant", "cosine", "linear")


@dataclass(frozen=True, kw_only=True)
class Course:
    """Optimizer, learning rate and how much is done at a time.

    The learning rate rises over ``warm_up`` steps and then follows the ``schedule``. The loss of a
    record is the mean over its own tokens, or their sum over ``divisor``, a public number. At most
    ``tokens_at_once`` places are computed at a time; a checkpoint is written every
    ``checkpoint_every`` steps.
    """

    optimizer: str = "adam"
    learning_rate: float = 1e-3
    schedule: str = "constant"
    warm_up: int = 0
    divisor: float | None = None
    tokens_at_once: int = 4096
    checkpoint_every: int = 50

    def __post_init__(self) -> None:
        one_of("optimizer", self.optimizer, OPTIMIZERS)
        one_of("schedule", self.schedule, SCHEDULES)
        between("learning_rate", positive("learning_rate", self.learning_rate), 0.0, LARGEST_RATE)
        at_least("warm_up", self.warm_up, 0)
        at_least("tokens_at_once", self.tokens_at_once, 1)
        at_least("checkpoint_every", self.checkpoint_every, 1)
        if self.divisor is not None:
            positive("divisor", self.divisor)

    def as_dict(self) -> Mapping[str, Any]:
        """For JSON."""
        return asdict(self)
