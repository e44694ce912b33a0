"""Initial weights from a stream that is passed in, not from torch's global one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.core.randomness import Randomness


@contextmanager
def drawn_from(randomness: Randomness) -> Iterator[None]:
    """Within, torch draws what follows from ``randomness``; after, it goes on as if nothing was.

    Initial weights are public: they hold nothing of the data, and no guarantee hangs on them.
    """
    import torch

    seed = int(randomness.integers(2**62, 1)[0])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
