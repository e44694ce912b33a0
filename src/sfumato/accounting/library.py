"""dp-accounting, loaded when it is needed, and silent."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

from sfumato.core.checks import extra


@cache
def load_library(module: str) -> ModuleType:
    """A module of dp-accounting, or an error that names the extra."""
    with quietly():
        return extra(module, needed_for="accounting for private training", extra="train")


@contextmanager
def quietly() -> Iterator[None]:
    """Hide the library's warnings; their causes (orders left out, overflows) are handled here."""
    import numpy as np

    logger = logging.getLogger("absl")
    before = logger.disabled
    logger.disabled = True  # to change its level would empty the caches of all loggers
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.disabled = before
