"""Whether what frozen layers say of a text is kept for other models with the same layers.

A study trains many heads on one encoder, and asks each of them about the same texts. Within
``keep_features`` the layers read every text once for all of them (``training.features``). Elsewhere
nothing is kept: a model that is asked once gains nothing by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

KEEPING: ContextVar[bool] = ContextVar("keeping features", default=False)


@contextmanager
def keep_features() -> Iterator[None]:
    """Within this block, classifiers whose layers are the same read the same rows only once."""
    token = KEEPING.set(True)
    try:
        yield
    finally:
        KEEPING.reset(token)
