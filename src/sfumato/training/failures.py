"""Errors of a training step, said so that they tell nothing about who is in its batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from sfumato.core.errors import UndefinedGradient


@contextmanager
def naming_nobody() -> Iterator[None]:
    """Who is in a batch is secret, and how many they are: no error may tell."""
    try:
        yield
    except UndefinedGradient:
        raise _diverged("a loss or gradient is not a finite number any more") from None
    except (MemoryError, RuntimeError) as error:
        if not is_about_memory(error):
            raise
        # Torch says how much it wanted, which is how long the longest document of a batch is.
        raise MemoryError(
            "not enough memory for a batch; take fewer tokens_at_once, or cut documents off"
        ) from None


def refuse_diverged(network: torch.nn.Module) -> None:
    """Weights that are not numbers must not take the place of a good checkpoint."""
    if not all(bool(one.isfinite().all()) for one in network.parameters()):
        raise _diverged("a weight is not a finite number any more")


def is_about_memory(error: Exception) -> bool:
    """Whether there was not enough of it."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "alloc" in str(error)


def _diverged(problem: str) -> UndefinedGradient:
    return UndefinedGradient(
        f"{problem}: training has diverged. A new run with a lower learning rate may not; the "
        "last checkpoint of this one is kept, and what it has spent stays spent"
    )
