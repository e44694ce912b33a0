"""Where a run stands, so that it can go on after it was killed.

Guarantee
    A checkpoint holds only what the guarantee of the run covers: trainable weights, the state of
    the optimiser and the clipping norm, all computed from private gradients, and the number of the
    step. It is written after its steps were charged, whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from sfumato.core.errors import CannotResume
from sfumato.core.files import replacing

SCHEMA = 1


@dataclass(frozen=True)
class Checkpoint:
    """The state after ``steps`` steps."""

    steps: int
    weights: Mapping[str, torch.Tensor]
    optimiser: Mapping[str, Any]
    clip_norm: float

    @classmethod
    def of(
        cls, steps: int, model: torch.nn.Module, optimiser: torch.optim.Optimizer, clip_norm: float
    ) -> Checkpoint:
        """What has to be kept of a run under way."""
        trained = {
            name: value.detach() for name, value in model.named_parameters() if value.requires_grad
        }
        return cls(steps, trained, optimiser.state_dict(), clip_norm)

    def save(self, path: Path) -> None:
        """Write it; whoever looks sees the old one or the new one."""
        content = {
            "schema": SCHEMA,
            "steps": self.steps,
            "weights": dict(self.weights),
            "optimiser": dict(self.optimiser),
            "clip_norm": self.clip_norm,
        }
        with replacing(path) as stream:
            torch.save(content, stream)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read one; only tensors and plain values, never code."""
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
            if content["schema"] == SCHEMA:
                return cls(
                    content["steps"],
                    content["weights"],
                    content["optimiser"],
                    content["clip_norm"],
                )
        except Exception as error:  # a damaged archive fails in many ways
            problem = type(error).__name__
        else:
            problem = "another version of sfumato wrote it"
        raise CannotResume(f"{path} cannot be read ({problem}); start a new run")

    @torch.no_grad()
    def restore(self, model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> None:
        """Put weights and optimiser back, if they are those of the same model."""
        here = {name: value for name, value in model.named_parameters() if value.requires_grad}
        if {name: value.shape for name, value in here.items()} != {
            name: value.shape for name, value in self.weights.items()
        }:
            raise CannotResume("the checkpoint belongs to another model; start a new run")
        for name, value in here.items():
            value.copy_(self.weights[name])
        try:
            optimiser.load_state_dict(dict(self.optimiser))
        except ValueError:
            known = False
        else:
            known = True
        if not known:
            raise CannotResume("the checkpoint belongs to another optimiser; start a new run")
