"""Where a run stands, so that it can go on after it was killed.

Guarantee
    A checkpoint holds only what the guarantee of the run covers: weights, the state of the
    optimiser and the clipping norm, all computed from private gradients, and the number of the
    step. It is written after its steps were charged, whole or not at all.

Care
    Weights that are not trained are in it as well. Fresh ones cannot be made again, and factors
    that were trained beside some mean nothing beside others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from sfumato.core.errors import CannotResume, StorageFailed
from sfumato.core.files import replacing

SCHEMA = 1


@dataclass(frozen=True)
class Checkpoint:
    """The state after ``steps`` steps; ``kind`` is the name of the optimiser's class.

    ``between`` is the state of public training between the private steps, if there is any.
    """

    steps: int
    weights: Mapping[str, torch.Tensor]
    optimiser: Mapping[str, Any]
    kind: str
    clip_norm: float
    between: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, steps: int, model: torch.nn.Module, optimiser: torch.optim.Optimizer, clip_norm: float
    ) -> Checkpoint:
        """What has to be kept of a run under way."""
        state = optimiser.state_dict()
        return cls(steps, model.state_dict(), state, type(optimiser).__name__, clip_norm)

    def save(self, path: Path) -> None:
        """Write it; whoever looks sees the old one or the new one."""
        content = {
            "schema": SCHEMA,
            "steps": self.steps,
            "weights": dict(self.weights),
            "optimiser": dict(self.optimiser),
            "kind": self.kind,
            "clip_norm": self.clip_norm,
            "between": dict(self.between),
        }
        try:
            with replacing(path) as stream:
                torch.save(content, stream)
        except (OSError, RuntimeError) as error:  # torch has a name of its own for a full disk
            problem = getattr(error, "strerror", None) or "writing failed"
        else:
            return
        raise StorageFailed(f"cannot write {path}: {problem}; the one before is kept")

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read one; only tensors and plain values, never code."""
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
            if content["schema"] == SCHEMA and content["steps"] >= 0 and content["clip_norm"] >= 0:
                return cls(
                    int(content["steps"]),
                    dict(content["weights"]),
                    dict(content["optimiser"]),
                    str(content["kind"]),
                    float(content["clip_norm"]),
                    dict(content.get("between", {})),
                )
        except Exception as error:  # a damaged archive fails in many ways
            problem = type(error).__name__
        else:
            problem = "another version of sfumato wrote it"
        raise CannotResume(f"{path} cannot be read ({problem}); start a new run")

    def restore(self, model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> None:
        """Put weights and optimiser back, if they are those of the same model."""
        if _shapes(model.state_dict()) != _shapes(self.weights):
            raise CannotResume("the checkpoint belongs to another model; start a new run")
        if type(optimiser).__name__ != self.kind or not _fits(optimiser, self.optimiser):
            raise CannotResume("the checkpoint belongs to another optimiser; start a new run")
        model.load_state_dict(self.weights)
        optimiser.load_state_dict(dict(self.optimiser))


def _shapes(weights: Mapping[str, torch.Tensor]) -> dict[str, tuple[torch.Size, torch.dtype]]:
    return {name: (value.shape, value.dtype) for name, value in weights.items()}


def _fits(optimiser: torch.optim.Optimizer, state: Mapping[str, Any]) -> bool:
    """Whether the state speaks of as many parameters, in the same groups."""
    ours = [len(group["params"]) for group in optimiser.state_dict()["param_groups"]]
    return ours == [len(group["params"]) for group in state.get("param_groups", ())]
