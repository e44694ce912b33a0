"""Losses in slices equal those from whole scores, and so do all gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.core.randomness import Randomness
from sfumato.models import output_layer
from sfumato.models.bpe import SMALLEST, train_bpe
from sfumato.models.load import load_model
from sfumato.models.output_layer import OutputLayer
from sfumato.models.tokenizer import IGNORED
from sfumato.training.clipping.layers import output
from sfumato.training.clipping.layers.rules import compare_with_loop
from sfumato.training.clipping.losses import record_losses
from sfumato.training.row_losses import row_losses, row_scores

LSTM = {"embedding": 6, "hidden": 6, "context": 16}
TIED = LSTM | {"tied": True}
GPT = {"layers": 1, "width": 8, "heads": 2, "context": 16}
MODELS = [("lstm", LSTM), ("lstm", TIED), ("gpt-small", GPT)]

Losses = Callable[[Any, dict[str, Any], Tensor, Tensor], Tensor]


def network_of(name: str, settings: dict[str, Any]) -> Any:
    """A small network with a small tokenizer, in double precision."""
    tokenizer = train_bpe(["any public text"], public=True, size=SMALLEST)
    made = load_model(
        name, randomness=Randomness.reproducible(1), tokenizer=tokenizer, settings=settings
    )
    return made.network.double().train()


def batch() -> tuple[dict[str, Any], Tensor, Tensor]:
    """Five rows with padding, labels and a weight each."""
    source = torch.Generator().manual_seed(2)
    tokens = torch.randint(3, 60, (5, 7), generator=source)
    labels = tokens.roll(-1, 1)
    lengths = torch.tensor([7, 3, 5, 1, 6])
    mask = (torch.arange(7) < lengths[:, None]).long()
    labels[mask == 0] = IGNORED
    weights = torch.rand(5, generator=source, dtype=torch.float64) + 0.1
    return {"input_ids": tokens, "attention_mask": mask}, labels, weights


def whole(network: Any, inputs: dict[str, Any], labels: Tensor, weights: Tensor) -> Tensor:
    """The same losses from the scores of the whole batch."""
    return record_losses(network(**inputs).logits, labels, divisor=1.0) * weights


def unweighted(network: Any, inputs: dict[str, Any], labels: Tensor, weights: Tensor) -> Tensor:
    """Sabotaged: the weights of the rows are applied to the losses and not to the gradient."""
    right = row_losses(network, inputs, labels, weights)
    plain = row_losses(network, inputs, labels, torch.ones_like(weights))
    return plain + (right - plain).detach()


def gradients(network: Any, losses: Losses, factor: Tensor | float) -> list[Tensor]:
    """All gradients of the sum of the losses, each row's times a factor."""
    network.zero_grad()
    found = losses(network, *batch())
    (found * factor).sum().backward()  # type: ignore[no-untyped-call]
    return [found.detach(), *(one.grad.clone() for one in network.parameters())]


def apart(some: list[Tensor], others: list[Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(some, others, strict=True))


@pytest.fixture(autouse=True)
def _few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of three places, so that there are several of them."""
    monkeypatch.setattr(output_layer, "SCORES_AT_A_TIME", 3 * SMALLEST)


@pytest.mark.parametrize(("name", "settings"), MODELS)
@pytest.mark.parametrize("factor", [1.0, 0.25, torch.tensor([1.0, 2.0, 0.0, 3.0, -1.0]).double()])
def test_losses_and_gradients_are_those_of_whole_scores(
    name: str, settings: dict[str, Any], factor: Tensor | float
) -> None:
    network = network_of(name, settings)
    assert isinstance(network.get_output_embeddings(), OutputLayer)
    wanted = gradients(network, whole, factor)
    assert apart(gradients(network, row_losses, factor), wanted) < 1e-12
    assert apart(gradients(network, unweighted, factor), wanted) > 1e-6


@pytest.mark.parametrize(("name", "settings"), MODELS)
@pytest.mark.parametrize("owner", [None, torch.tensor([0, 1, 0, 2, 1])])
def test_clipping_sees_the_gradient_of_each_record(
    name: str, settings: dict[str, Any], owner: Tensor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = network_of(name, settings)
    inputs, labels, weights = batch()

    def losses(model: nn.Module, some: Tensor) -> Tensor:
        chosen = {key: value[some] for key, value in inputs.items()}
        return row_losses(model, chosen, labels[some], weights[some])

    assert compare_with_loop(network, losses, 5, owner).worst < 1e-8

    def coarse(scores: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        """Sabotaged: the wanted token's own part of the gradient is forgotten."""
        totals = scores.logsumexp(1)
        found = (totals - scores.gather(1, labels[:, None])[:, 0]).mul_(weights)
        scores.sub_(totals[:, None]).exp_().mul_(weights[:, None])
        return found

    monkeypatch.setattr(output, "pull", coarse)
    assert compare_with_loop(network, losses, 5, owner).worst > 1e-3


@pytest.mark.parametrize(("name", "settings"), MODELS)
def test_scores_come_row_by_row_and_training_is_as_before(
    name: str, settings: dict[str, Any]
) -> None:
    network = network_of(name, settings)
    inputs, _, _ = batch()
    with torch.no_grad():
        together = network(**inputs).logits
        assert torch.allclose(torch.stack(list(row_scores(network, inputs))), together)
        assert network(**inputs).logits.shape == together.shape


def test_no_whole_scores_exist_in_plain_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest product at the output has as many rows as a slice has places."""
    network = network_of("lstm", LSTM)
    seen: list[int] = []
    right = functional.linear

    def linear(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        seen.append(states.numel() // states.shape[-1])
        return right(states, weight, bias)

    monkeypatch.setattr(functional, "linear", linear)
    row_losses(network, *batch()).sum().backward()  # type: ignore[no-untyped-call]
    output_sizes = [one for one in seen if one != 35]  # 35 places enter the recurrent layer at once
    assert output_sizes
    assert max(output_sizes) <= 3
