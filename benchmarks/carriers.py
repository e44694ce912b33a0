"""A step through carriers against plain, clipped and low-rank ones, on a small encoder.

The encoder has BERT's shape (4 layers of width 256, 8,000 tokens, 5.4 million weights, of which 3.2
million are in large matrices), or a smaller one with ``--quick``; its weights are random, on which
speed does not depend. Carriers and factors have rank 8. Private steps have noise, once for these
few rows, the dearest case there is; rows are not compared with each other, which training does in
its first steps. Memory is the peak of a process that takes three steps one way, beyond what it had
before the model was built.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.optim import SGD

from benchmarks.timing import Row, Work, by_turns
from benchmarks.training_step import status
from sfumato.core.randomness import Randomness
from sfumato.models.carriers import Carried
from sfumato.models.lora import Lora
from sfumato.training.carried_steps import CarriedWeights
from sfumato.training.clipping import row_checks
from sfumato.training.clipping.clippers import Flat
from sfumato.training.steps import make_private

ROWS, TOKENS, RANK, RATE = 32, 32, 8, 1e-4
WAYS = ("plain", "clipped", "LoRA", "carriers", "carriers, the rest frozen")


def run(quick: bool) -> list[Row]:
    """All ways by turns."""
    torch.set_num_threads(1)
    timings = by_turns({way: prepare(way, quick) for way in WAYS}, 2 if quick else 7)
    memory = {way: _memory(way, quick) for way in WAYS}
    return [
        {
            "way": way,
            "processor time / plain": timings["plain"].cpu_ratio(timing),
            "numbers with noise": f"{0 if way == 'plain' else _trained(build(way, quick)[0]):,}",
            "steps/s": timing.rate(1),
            "peak beyond the start / plain": f"{memory[way] / memory['plain']:.2f}",
        }
        for way, timing in timings.items()
    ]


def prepare(way: str, quick: bool) -> Work:
    """A function that takes a step one way."""
    row_checks.FIRST = 0
    model, optimizer = build(way, quick)
    tokens = torch.randint(0, 1000, (ROWS, TOKENS), generator=torch.Generator().manual_seed(1))
    labels = torch.arange(ROWS).remainder(2)

    def losses() -> torch.Tensor:
        return functional.cross_entropy(model(input_ids=tokens).logits, labels, reduction="none")

    if way == "plain":

        def plain() -> None:
            optimizer.zero_grad()
            losses().mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()

        return plain
    private = make_private(
        model,
        optimizer,
        clipper=Flat(1.0),
        noise_multiplier=1.0,
        expected_batch_size=ROWS,
        randomness=Randomness.secure(),
    )

    def step() -> None:
        private.backward(losses())
        private.step()

    return step


def build(way: str, quick: bool) -> tuple[nn.Module, torch.optim.Optimizer]:
    """A model, and the optimizer that a step calls."""
    torch.manual_seed(1)
    model: Any = _encoder(quick)
    if way == "LoRA":
        model = Lora(rank=RANK).attach(model, Randomness.secure())
    if "carriers" not in way:
        return model, SGD([one for one in model.parameters() if one.requires_grad], lr=RATE)
    carried = Carried.attach(model, RANK)
    carried.draw(Randomness.secure())
    if "frozen" in way:
        for name, one in model.named_parameters():
            one.requires_grad_("carriers" in name or "classifier" in name)
    through = CarriedWeights(model, carried)
    return model, through.through(SGD(through.weights(), lr=RATE))


def _trained(model: nn.Module) -> int:
    return sum(one.numel() for one in model.parameters() if one.requires_grad)


def _encoder(quick: bool) -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    width, layers = (64, 2) if quick else (256, 4)
    config = BertConfig(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=4, vocab_size=8000,
        intermediate_size=4 * width, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model: nn.Module = BertForSequenceClassification(config)
    return model.train()


def _memory(way: str, quick: bool) -> float:
    """Peak memory in MB of a process that trains one way, beyond its start."""
    command = [sys.executable, "-m", __name__, json.dumps([way, quick])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{way} failed: {done.stderr.strip()}")
    start, peak = (int(value) / 1024 for value in done.stdout.split()[-2:])
    return peak - start


def _alone(way: str, quick: bool) -> None:
    import peft  # noqa: F401  # before the start is measured
    import transformers  # noqa: F401

    torch.set_num_threads(1)
    start = status("VmRSS")
    step = prepare(way, quick)
    for _ in range(3):
        step()
    print(start, status("VmHWM"))


if __name__ == "__main__":
    _alone(*json.loads(sys.argv[1]))
