"""What an exhibit is, and the public words that several of them need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.audits.subject import Subject
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space

Maker = Callable[[], PointMechanism | Subject]


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A published claim, why it is false, and what would make it true."""

    name: str
    source: str
    claim: str
    reason: str
    repair: str
    broken: Maker
    repaired: Maker


def frequent_words(count: int) -> Space:
    """The most frequent words of the embedded space, with their vectors."""
    space = default_space()
    vectors = np.ascontiguousarray(space.vectors[:count])
    return Space(f"the {count} most frequent words of {space.name}", space.words[:count], vectors)
