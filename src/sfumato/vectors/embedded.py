"""The space that comes with the package: the frequent words of GloVe 6B in 50 dimensions.

Built by ``scripts/build_default_vectors.py``; attribution and terms stand beside the data.
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path

from sfumato.vectors.loading import load
from sfumato.vectors.space import Space

NAME = "glove-6b-50d"


@cache
def default_space() -> Space:
    """The embedded space, loaded once per process."""
    return load(Path(__file__).parent / "data" / f"{NAME}.npy")


def public_words(count: int) -> list[str]:
    """The most frequent words of the embedded vectors that are of letters only."""
    return list(islice((word for word in default_space().words if word.isalpha()), count))
