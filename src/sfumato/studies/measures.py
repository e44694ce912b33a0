"""The settings of each measure, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.core.checks import at_least, between
from sfumato.core.settings import read_table


@dataclass(frozen=True, kw_only=True)
class TextMeasure:
    """There is nothing to set."""


@dataclass(frozen=True, kw_only=True)
class DeniabilityMeasure:
    """``words`` are measured, each drawn ``draws`` times where there are no rows."""

    words: int = 200
    draws: int = 100
    eta: float = 0.1

    def __post_init__(self) -> None:
        at_least("words", self.words, 1)
        at_least("draws", self.draws, 1)
        between("eta", self.eta, 0, 1)


@dataclass(frozen=True, kw_only=True)
class PerplexityMeasure:
    """``policy`` tells private tokens from others."""

    policy: str | tuple[str, ...] = ()


_SETTINGS: dict[str, type[Any]] = {
    "deniability": DeniabilityMeasure,
    "perplexity": PerplexityMeasure,
    "text": TextMeasure,
}


def check_measure(name: str, given: Mapping[str, object]) -> Any:
    """The settings of the measure called ``name``."""
    return read_table(_SETTINGS[name], given, f"[measures.{name}]")
