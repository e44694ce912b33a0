"""Exact exposure: all secrets through a tree of tokens, against each candidate read by itself.

The tree's time is that of the whole space, tokenization included. The two others are measured on a
sample, half of it before the tree and half after, and scaled up to the space: each candidate in a
forward pass of its own, and whole candidates in batches. They are read with one thread, and their
time is divided by the number of threads the tree may use, as if they shared the work without loss;
their tokenization is not counted. All three give the same scores; how far they are apart is in the
last column.
"""

from __future__ import annotations

import math
import resource as process
import time

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.inputs import resource
from benchmarks.timing import Row
from sfumato.attacks.exposure.candidates import (
    Frame,
    SecretSpace,
    TokenizedSecrets,
    enumerate_candidates,
    tokenize,
)
from sfumato.attacks.exposure.trie import surprises
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel, load_model

THREADS = 2
# How many whole candidates are read at a time.
WAYS = {"each separately": 1, "whole, 64 at a time": 64}
FRAME = Frame(". ", "My ID is {}.")

Floats = NDArray[np.float64]


def run(quick: bool) -> list[Row]:
    """One model, one space, three ways."""
    torch.set_num_threads(THREADS)
    folder = resource("models/stories15m")
    name = "gpt-small" if folder is None else folder.name
    model = load_model(str(folder or name), randomness=Randomness.reproducible(1))
    space = SecretSpace("####" if quick else "######")
    sample = _sample(model, space, 64 if quick else 256)
    for count in WAYS.values():
        _whole(model, sample, slice(0, count), count)  # untimed: the first pass takes longer
    middle = len(sample) // 2
    first = {way: _timed(model, sample, slice(0, middle), WAYS[way]) for way in WAYS}
    start = time.perf_counter()
    candidates = enumerate_candidates(model.tokenizer, FRAME, space)
    tokenizing = time.perf_counter() - start
    scores = surprises(model, candidates)
    tree = time.perf_counter() - start
    second = {way: _timed(model, sample, slice(middle, None), WAYS[way]) for way in WAYS}
    rows: list[Row] = [
        {
            "model": name,
            "way": f"tree ({tokenizing:.1f} s of it to tokenize)",
            "candidates": f"{space.size:,}",
            "seconds": f"{tree:.1f}",
            "times as long": "1",
            "peak MB": f"{process.getrusage(process.RUSAGE_SELF).ru_maxrss / 1024:.0f}",
        }
    ]
    expected = scores[_places(space, len(sample))]
    for way in WAYS:
        seconds = (first[way][0] + second[way][0]) * space.size / len(sample)
        found = np.concatenate([first[way][1], second[way][1]])
        rows.append(
            {
                "model": name,
                "way": way,
                "candidates": f"{space.size:,}, from {len(sample)}",
                "seconds": f"{seconds:,.0f}",
                "times as long": f"{seconds / tree:.0f}",
                "scores apart": f"{np.abs(found - expected).max():.1g} bits",
            }
        )
    return rows


def _places(space: SecretSpace, count: int) -> NDArray[np.int64]:
    """Secrets all over the space."""
    return np.linspace(0, space.size - 1, count).astype(np.int64)


def _sample(model: LoadedModel, space: SecretSpace, count: int) -> TokenizedSecrets:
    secrets = [space.secret(int(place)) for place in _places(space, count)]
    every = tokenize(model.tokenizer, map(FRAME.text, [*secrets, *space.corners()]))
    return TokenizedSecrets(every.prefix, every.tokens[:count])


def _timed(
    model: LoadedModel, sample: TokenizedSecrets, some: slice, count: int
) -> tuple[float, Floats]:
    torch.set_num_threads(1)
    start = time.perf_counter()
    found = _whole(model, sample, some, count)
    seconds = time.perf_counter() - start
    torch.set_num_threads(THREADS)
    return seconds / THREADS, found


def _whole(model: LoadedModel, sample: TokenizedSecrets, some: slice, count: int) -> Floats:
    """Scores of some candidates, so many in a forward pass, each read from its beginning."""
    scored = sample.tokens.shape[1]
    found = []
    model.network.eval()
    for rows in torch.split(torch.from_numpy(sample.tokens[some]).long(), count):
        whole = torch.cat([torch.tensor([sample.prefix]).expand(len(rows), -1), rows], dim=1)
        with torch.inference_mode():
            logits = model.network(input_ids=whole[:, :-1]).logits[:, -scored:]
            chosen = logits.log_softmax(2).gather(2, rows[:, :, None])
        found.append(-chosen[:, :, 0].double().sum(1).numpy() / math.log(2))
    return np.concatenate(found)
