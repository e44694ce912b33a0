"""Ordinary steps on all documents, for comparison: no clipping, no noise, no guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.training.methods.private import Private


@dataclass(frozen=True)
class Plain(Private):
    """The same steps as in private training, without clipping and noise."""

    name: ClassVar[str] = "plain"
    adds_noise: ClassVar[bool] = False
