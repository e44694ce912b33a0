"""The embedded space with few of its words, for tests of commands rather than of that space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from sfumato.policies.pii import features, forms
from sfumato.vectors import load
from sfumato.vectors.space import Space

FREQUENT = 3000


@contextmanager
def few_words(others: Iterable[str] = (), frequent: int = FREQUENT) -> Iterator[Space]:
    """Let ``default_space`` hold its most frequent words, and ``others`` if it knows them.

    A search through all sixty thousand takes twenty times as long. Processes that a command starts
    load them all.
    """
    whole = load.default_space()
    # What the tagger keeps of the space while the process runs, it keeps of the whole.
    forms.vocabulary()
    features._frequent()
    asked = whole.points(sorted(set(others)))
    points = np.union1d(np.arange(frequent), asked[asked < whole.unknown])
    small = Space(whole.name, [whole.words[point] for point in points], whole.vectors[points])
    _embed(small)
    yield small
    load.default_space.cache_clear()


@contextmanager
def all_words() -> Iterator[Space]:
    """Let ``default_space`` hold all its words for a while, inside ``few_words``."""
    small = load.default_space()
    load.default_space.cache_clear()
    try:
        yield load.default_space()
    finally:
        _embed(small)


def _embed(space: Space) -> None:
    with pytest.MonkeyPatch.context() as patch:
        load.default_space.cache_clear()
        patch.setattr(load, "load_vectors", lambda *_: space)
        assert load.default_space() is space
