"""What training will cost, before it begins: steps, tokens, and about how long it takes here.

The time comes from a short trial: forward and backward passes over random tokens, with the clipping
of the plan if it is private. The trial reads no record and shows no loss. The network's weights,
its gradients and the random numbers of the training stay as they were.

Care
    It is an estimate: rows of very different lengths are padded, and other work slows training
    down. The lines that are shown later count the steps themselves.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch

from sfumato.core.progress import duration
from sfumato.core.randomness import Randomness
from sfumato.models.devices import CPU
from sfumato.models.load import LoadedModel
from sfumato.models.recomputing import ALL
from sfumato.training.clipping.losses import record_losses
from sfumato.training.methods.base import Material, TokenMaterial
from sfumato.training.plan import Plan
from sfumato.training.settings import Course
from sfumato.training.steps import PrivateStep

# The trial: few rows, none of them long. The first pass builds what later ones use.
ROWS, LENGTH, PASSES = 4, 128, 2
# From so many seconds on, what would take less is said.
LONG = 30 * 60


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Steps, the expected number of tokens, and the expected time."""

    steps: int
    tokens: int
    seconds: float

    def line(self) -> str:
        """For the owner of the text.

        >>> Cost(steps=469, tokens=2_400_000, seconds=470.0).line()
        '469 steps over 2,400,000 tokens: about 8 minutes here, by a trial on random tokens'
        """
        said = (
            f"{self.steps:,} steps over {self.tokens:,} tokens: about {duration(self.seconds)} "
            "here, by a trial on random tokens"
        )
        if self.seconds < LONG:
            return said
        return f"{said}; fewer epochs, shorter rows or a smaller model take less"


def with_cost(
    model: LoadedModel, plan: Any, material: Material, course: Course | None = None
) -> Material:
    """The same material, whose summary also says what training on it will cost, if known."""
    found = estimate_cost(model, plan, material, course)
    if found is None or not isinstance(material, TokenMaterial):
        return material
    return replace(material, cost=found.line())


def estimate_cost(
    model: LoadedModel, plan: Any, material: Material, course: Course | None = None
) -> Cost | None:
    """The cost of a plan; None where a method has other steps than those over its records.

    None also for another device than the processor, on which the trial would say nothing.
    """
    if course is not None and course.device != CPU:
        return None
    if not isinstance(plan, Plan) or not isinstance(material, TokenMaterial):
        return None
    if material.public is not None:
        return None
    counts = material.records.counts
    seen = sum(stage.steps * stage.batch_size for stage in plan.stages) / max(1, plan.units)
    tokens = round(seen * counts.tokens)
    again = course is not None and course.recompute == ALL
    each = seconds_per_token(model, plan, two_passes=again)
    return None if each is None else Cost(steps=plan.steps, tokens=tokens, seconds=each * tokens)


def seconds_per_token(model: LoadedModel, plan: Plan, *, two_passes: bool = False) -> float | None:
    """The time of one token forward and backward; None if the network cannot be tried like this."""
    if model.classes or model.tags:
        return None
    network = model.network
    was_training = network.training
    kept = [parameter.grad for parameter in network.parameters()]
    length = max(2, min(LENGTH, model.context))
    words = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, model.tokenizer.size, (ROWS, length), generator=words)
    more: dict[str, Any] = {}
    if model.kind == "seq2seq":  # what is written is a part of what was counted
        more = {"decoder_input_ids": tokens[:, : max(1, length // 4)], "use_cache": False}
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # training itself will say them
            inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), **more}
            if getattr(network, "is_gradient_checkpointing", False):
                inputs["use_cache"] = False
            taken = _time(model.begin_training(), plan, inputs, two_passes=two_passes)
            return taken / tokens.numel()
    except Exception:  # an estimate stops nobody; training will say what is wrong
        return None
    finally:
        network.train(was_training)
        for parameter, gradient in zip(network.parameters(), kept, strict=True):
            parameter.grad = gradient


def _time(network: Any, plan: Plan, inputs: dict[str, Any], *, two_passes: bool) -> float:
    predicted = inputs.get("decoder_input_ids", inputs["input_ids"])
    optimizer = torch.optim.SGD(network.parameters(), lr=0.0)
    step = None
    if plan.private:
        step = PrivateStep(
            network,
            optimizer,
            release=plan.release(),
            noise_multiplier=plan.noise_multiplier,
            expected_batch_size=len(predicted),
            randomness=Randomness.secure(),
            two_passes=two_passes,
        )
    try:
        for number in range(PASSES):
            if step is not None:
                # Training compares rows in its first batches only, and that takes many passes.
                step.recording.compared = True
            began = time.perf_counter()
            losses = record_losses(network(**inputs).logits, predicted.clone(), divisor=1.0)
            if step is None:
                losses.sum().backward()  # type: ignore[no-untyped-call]
            else:
                step.backward(losses, torch.arange(len(losses)) + number * len(losses))
            taken = time.perf_counter() - began
    finally:
        if step is not None:
            step.close()
    return taken
