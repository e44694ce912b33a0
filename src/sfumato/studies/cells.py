"""A cell: one computation of a study, named by everything that decides what it gives.

Its key is a digest of its settings, its seed, the keys of the cells it is computed from, and the
version of sfumato. So two methods that share a computation share the cell, a changed setting makes
a new one and leaves the others alone, and a name is only a name: renaming a method computes
nothing again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from sfumato.accounting.empirical import written

# Raised when a computation here changes what it gives for the same settings.
SCHEMA = 3
CORPUS, RELEASE, RUN, ATTACK, MEASURE, AUDIT = (
    "corpus",
    "release",
    "run",
    "attack",
    "measure",
    "audit",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """One computation; ``method``, ``parameter`` and ``level`` are its place in the picture."""

    kind: str
    method: str = ""
    parameter: str | None = None
    level: float | None = None
    seed: int = 0
    name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Cell, ...] = ()

    @cached_property
    def key(self) -> str:
        """The name of its folder."""
        decides = {
            "schema": SCHEMA,
            "sfumato": version("sfumato"),
            "kind": self.kind,
            "name": self.name,
            "seed": self.seed,
            "settings": self.settings,
            "inputs": [one.key for one in self.inputs],
        }
        spelled = json.dumps(decides, sort_keys=True, default=list)
        return f"{self.kind}-{sha256(spelled.encode()).hexdigest()[:20]}"

    @property
    def title(self) -> str:
        """For people: which method at which level, and what is done.

        >>> Cell(kind=ATTACK, method="SMDP", parameter="epsilon", level=8.0, seed=1,
        ...      name="exposure").title
        'SMDP, epsilon 8, seed 1: exposure'
        """
        if self.kind == CORPUS:
            return "the corpus"
        at = "" if self.level is None else f", {self.parameter} {self.level:g}"
        return f"{self.method}{at}, seed {self.seed}: {self.name or _DOING[self.kind]}"

    def entry(self) -> dict[str, Any]:
        """For the description of the study."""
        return {
            "key": self.key,
            "kind": self.kind,
            "method": self.method,
            "parameter": self.parameter,
            "level": None if self.level is None else written(self.level),
            "seed": self.seed,
            "name": self.name,
            "inputs": [one.key for one in self.inputs],
        }


_DOING = {RELEASE: "privatizing", RUN: "training", AUDIT: "auditing"}
