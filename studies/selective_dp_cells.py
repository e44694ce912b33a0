"""The models of ``selective_dp``: corpora, methods, and what a policy that misses is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

POLICIES = {"customersim": "pii", "wikitext-2": "digits"}
METHODS = ("plain", "private", "interleaved", "selective")
# The paper's imperfect policy finds all digits but those of the planted secrets, which are written
# "My ID is 145572." Both methods are trained with it and without the miss.
MISSING = "wikitext-2"
MISSED = ("redacted", "redacted-missing", "selective", "selective-missing")
EXCEPT = r"regex:My ID is \d+"


@dataclass(frozen=True)
class Setting:
    """What all cells share."""

    resources: Path
    output: Path
    sizes: dict[str, int]
    tested: int
    epochs: int
    epsilon: float


@dataclass(frozen=True)
class Cell:
    """One model."""

    corpus: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        """For files."""
        return f"{self.corpus}-{self.method}-{self.seed}"

    @property
    def policy(self) -> tuple[str, ...]:
        """The options for what the model's training takes for private."""
        if self.method in ("plain", "private"):
            return ()
        found = ("--policy", POLICIES[self.corpus])
        return (*found, "--except", EXCEPT) if self.method.endswith("-missing") else found


def cells_of(seeds: int, missing_seeds: int) -> list[Cell]:
    """All models, those of the second table last; both may speak of one, which is trained once."""
    first = product(range(1, seeds + 1), POLICIES, METHODS)
    second = product(range(1, missing_seeds + 1), [MISSING], MISSED)
    return list(
        dict.fromkeys(Cell(corpus, method, seed) for seed, corpus, method in (*first, *second))
    )
