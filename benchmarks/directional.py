"""A step with directional noise against plain, clipped and naive ones, on an encoder like MiniLM.

The model has the shape of all-MiniLM-L6-v2 with a new head (22.7 million weights, all trained), or
a smaller one with ``--quick``; its weights are random, on which speed does not depend. *Naive* is
the noise alone, a vector of the model's size for every record, added up. Memory is the peak of a
process that takes two steps, beyond what it had before the model was built.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.timing import Row, by_turns
from benchmarks.training_step import status
from sfumato.core.randomness import Randomness
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.directional import DirectionalRelease, PerRecordRelease
from sfumato.training.clipping.release import GaussianRelease, GradientRelease
from sfumato.training.steps import PrivateStep

RECORDS, TOKENS, NOISE, CLASSES = 32, 32, 1.0, 2
WAYS = ("plain", "clipped", "per-record", "directional", "naive noise alone")


def run(quick: bool) -> list[Row]:
    """All ways by turns."""
    torch.set_num_threads(1)
    timings = by_turns({way: prepare(way, quick) for way in WAYS}, 2 if quick else 5)
    memory = {way: _memory(way, quick) for way in WAYS}
    return [
        {
            "way": way,
            "processor time / plain": timings["plain"].cpu_ratio(timing),
            "processor time / naive": timings["naive noise alone"].cpu_ratio(timing),
            "steps/s": timing.rate(1),
            "peak beyond the start, MB": f"{memory[way]:.0f}",
        }
        for way, timing in timings.items()
    ]


def prepare(way: str, quick: bool) -> Callable[[], object]:
    """A function that takes a step one way."""
    torch.manual_seed(1)
    model = _encoder(quick)
    model.train()
    tokens = torch.randint(0, 1000, (RECORDS, TOKENS))
    labels = torch.randint(0, CLASSES, (RECORDS,))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    dimension = sum(one.numel() for one in model.parameters())
    if way == "naive noise alone":
        return partial(_naive, dimension)

    def losses() -> torch.Tensor:
        logits = model(input_ids=tokens).logits
        return functional.cross_entropy(logits, labels, reduction="none")

    if way == "plain":

        def plain() -> None:
            optimizer.zero_grad()
            losses().mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()

        return plain
    releases: dict[str, GradientRelease] = {
        "clipped": GaussianRelease(Flat(1.0)),
        "per-record": PerRecordRelease(RECORDS),
        "directional": DirectionalRelease(dimension, RECORDS),
    }
    private = PrivateStep(
        model,
        optimizer,
        release=releases[way],
        noise_multiplier=NOISE,
        expected_batch_size=RECORDS,
        randomness=Randomness.secure(),
    )

    def step() -> None:
        private.backward(losses())
        private.step()

    return step


def _naive(dimension: int) -> None:
    total = torch.zeros(dimension, dtype=torch.float64)
    source = Randomness.secure()
    for record in range(RECORDS):
        drawn = torch.from_numpy(source.stream(record).noise(dimension))
        total.add_(drawn.div_(drawn.norm()))


def _encoder(quick: bool) -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    sizes: dict[str, Any] = (
        {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 2000}
        if quick
        else {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12}
    )
    width = 4 * sizes["hidden_size"]  # two classes unless told
    config = BertConfig(
        **sizes,
        intermediate_size=width,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model: nn.Module = BertForSequenceClassification(config)
    return model


def _memory(way: str, quick: bool) -> float:
    command = [sys.executable, "-m", __name__, json.dumps([way, quick])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    start, peak = (int(value) / 1024 for value in done.stdout.split()[-2:])
    return peak - start


def _alone(way: str, quick: bool) -> None:
    import transformers  # noqa: F401  # before the start is measured

    torch.set_num_threads(1)
    start = status("VmRSS")
    step = prepare(way, quick)
    for _ in range(2):
        step()
    print(start, status("VmHWM"))


if __name__ == "__main__":
    _alone(*json.loads(sys.argv[1]))
