"""Rough vectors of the rarer words of GloVe, for the tagger of ``pii``.

The package embeds the 60,000 most frequent words. Of the other words of GloVe 6B (public domain)
that are of letters only, each gets the sum of two typical vectors, found by k-means and by k-means
of what is left. Words of public lists are kept with them, also without a vector.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.features import BITS, FINE, LISTS
from sfumato.vectors.load import default_space

_CLUSTERS = 255  # the code 0 stands for no vector
_LONGEST = 22


def rare_words(path: Path, lists: dict[str, set[str]]) -> dict[str, NDArray[Any]]:
    """The arrays ``rare_gaps``, ``rare_codes``, ``rare_lists`` and ``typical``."""
    listed = path.with_name(path.name.removesuffix(".npy") + ".vocab.txt")
    words = listed.read_text(encoding="utf-8").splitlines()
    matrix = np.load(path, mmap_mode="r")
    frequent = set(default_space().words)
    chosen = [
        row for row, word in enumerate(words)
        if word.isalpha() and 2 < len(word) <= _LONGEST and word not in frequent
    ]  # fmt: skip
    vectors = np.asarray(matrix[chosen], dtype=np.float32)
    first, centers = k_means(vectors)
    second, rests = k_means(vectors - centers[first])
    codes = np.stack([first, second], axis=1).astype(np.uint8) + 1
    error = np.square(vectors - centers[first] - rests[second]).sum() / np.square(vectors).sum()
    print(f"{len(chosen):,} rare words; rough vectors miss {error:.0%} of the squared length")
    zero = np.zeros((1, vectors.shape[1]), dtype=np.float32)
    typical = np.stack([np.vstack([zero, centers]), np.vstack([zero, rests])]) * FINE
    entries: dict[int, tuple[NDArray[np.uint8], int]] = {}
    for row, code in zip(reversed(chosen), codes[::-1], strict=True):  # the most frequent word wins
        entries[_key(words[row])] = code, 0
    nothing = np.zeros(2, dtype=np.uint8)
    for bit, name in enumerate(LISTS):
        for word in sorted(lists[name]):
            code, bits = entries.get(_key(word), (nothing, 0))
            entries[_key(word)] = code, bits | 1 << bit
    keys = sorted(entries)
    gaps = np.diff(np.array([0, *keys], dtype=np.int64))
    return {
        "rare_gaps": gaps.astype(np.uint16 if gaps.max() < 1 << 16 else np.uint32),
        "rare_codes": np.stack([entries[key][0] for key in keys]),
        "rare_lists": np.array([entries[key][1] for key in keys], dtype=np.uint8),
        "typical": np.rint(typical).astype(np.int16),
    }


def _key(word: str) -> int:
    return crc32(word.encode()) >> (32 - BITS)


def k_means(
    rows: NDArray[np.float32], rounds: int = 8
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The cluster of each row, and the clusters' centers."""
    draw = np.random.default_rng(0)
    sample = rows[draw.choice(len(rows), min(len(rows), 60_000), replace=False)]
    centers = sample[:_CLUSTERS].copy()
    for _ in range(rounds):
        nearest = _nearest(sample, centers)
        for cluster in range(_CLUSTERS):
            members = sample[nearest == cluster]
            if len(members):
                centers[cluster] = members.mean(axis=0)
    return _nearest(rows, centers), centers


def _nearest(rows: NDArray[np.float32], centers: NDArray[np.float32]) -> NDArray[np.int64]:
    squares = np.square(centers).sum(axis=1)
    return np.concatenate([
        (squares - 2 * part @ centers.T).argmin(axis=1)
        for part in np.array_split(rows, max(1, len(rows) // 20_000))
    ])  # fmt: skip
