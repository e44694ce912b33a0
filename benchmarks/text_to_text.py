"""One training step of a T5 with clipping, and with noise, against the same step without.

The first shape is that of ``studies/dp-t5.toml``, the second is wider. Encoder and decoder have as
many places each. Ponomareva et al. 2022 found private steps of T5 25 % slower on accelerators.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from torch.optim import SGD

from benchmarks.timing import Row, Work, by_turns
from sfumato.core.randomness import Randomness
from sfumato.models.load import slice_losses
from sfumato.training.clipping.clippers import Flat
from sfumato.training.row_losses import row_losses
from sfumato.training.steps import make_private

# Layers, width, tokens, rows, places.
SHAPES = ((1, 64, 612, 16, 10), (2, 256, 8000, 16, 64))
QUICK = SHAPES[:1]
WAYS = ("plain", "clipped", "clipped and noisy")


def run(quick: bool) -> list[Row]:
    """All shapes, all ways."""
    torch.set_num_threads(1)
    rows: list[Row] = []
    for shape in QUICK if quick else SHAPES:
        timings = by_turns({way: _step(shape, way) for way in WAYS}, 3 if quick else 9)
        layers, width, tokens, count, places = shape
        size = f"{layers}×{width}, {tokens:,} tokens, {count} × ({places} + {places})"
        for way, timing in timings.items():
            rows.append(
                {
                    "model": f"T5 {size}",
                    "way": way,
                    "processor time / plain": timings["plain"].cpu_ratio(timing),
                    "wall time / plain": timings["plain"].ratio(timing),
                    "steps/s": timing.rate(1),
                }
            )
    return rows


def _step(shape: tuple[int, int, int, int, int], way: str) -> Work:
    from transformers import T5Config, T5ForConditionalGeneration

    layers, width, tokens, rows, places = shape
    torch.manual_seed(0)
    network: Any = T5ForConditionalGeneration(
        T5Config(
            vocab_size=tokens, d_model=width, d_kv=width // 4, d_ff=2 * width, num_layers=layers,
            num_heads=4, dropout_rate=0.0,
        )
    )  # fmt: skip
    read, labels = torch.randint(tokens, (2, rows, places))
    written = torch.cat([torch.zeros(rows, 1, dtype=torch.long), labels[:, :-1]], 1)
    inputs = {"input_ids": read, "decoder_input_ids": written, "use_cache": False}
    optimizer = SGD(network.parameters(), lr=1e-4)
    if way == "plain":

        def plain() -> None:
            optimizer.zero_grad()
            scores = network(**inputs).logits.flatten(0, 1)
            functional.cross_entropy(scores, labels.flatten()).backward()  # type: ignore[no-untyped-call]
            optimizer.step()

        return plain
    slice_losses(network)
    private = make_private(
        network,
        optimizer,
        clipper=Flat(1.0),
        noise_multiplier=1.0 if way.endswith("noisy") else 0.0,
        expected_batch_size=rows,
        randomness=Randomness.secure(),
    )
    weights = torch.full((rows,), 1 / places)

    def clipped() -> None:
        private.backward(row_losses(network, inputs, labels, weights))
        private.step()

    return clipped
