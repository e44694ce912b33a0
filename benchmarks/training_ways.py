"""Ways to take one training step on the same model: plain, clipped by us, clipped by Opacus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import SGD

from benchmarks.inputs import resource
from benchmarks.timing import Work
from sfumato.core.randomness import Randomness
from sfumato.models.lstm_layer import LSTM
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.losses import next_tokens, record_losses
from sfumato.training.steps import make_private

RATE, BOUND = 1e-4, 1.0


@dataclass(frozen=True)
class Shape:
    """A model, and the batch that goes through it."""

    name: str
    rows: int
    places: int

    def tokens(self, model: nn.Module) -> Tensor:
        """The same random tokens for everybody."""
        draw = torch.Generator().manual_seed(1)
        return torch.randint(_vocabulary(model), (self.rows, self.places), generator=draw)


class Recurrent(nn.Module):
    """Embedding, LSTM, linear, with a recurrent layer of choice."""

    def __init__(self, layer: Callable[..., nn.Module], vocabulary: int = 8000) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 200)
        self.lstm = layer(200, 200, batch_first=True)
        self.decoder = nn.Linear(200, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores of the next token."""
        scores: Tensor = self.decoder(self.lstm(self.embedding(tokens))[0])
        return scores


class Scores(nn.Module):
    """A transformer that gives its scores only; Opacus needs positions for every row."""

    def __init__(self, model: nn.Module, *, positions: bool) -> None:
        super().__init__()
        self.model, self.positions = model, positions

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores of the next token."""
        more: dict[str, Any] = {"use_cache": False}
        if self.positions:
            more["position_ids"] = torch.arange(tokens.shape[1]).repeat(len(tokens), 1)
        scores: Tensor = self.model(input_ids=tokens, **more).logits
        return scores


def shapes(quick: bool) -> list[Shape]:
    """What is measured; the names say what ``build`` makes."""
    rows, places = (4, 16) if quick else (16, 128)
    names = ["GPT-2 4×256, tied", "GPT-2 4×256", "GPT-2 4×256, tied, 8,000 words", "LSTM 200/200"]
    if resource("models/stories15m") is not None:
        names.append("stories15m")
    if quick:
        names = names[-3:-1]
    return [Shape(name, rows, places) for name in names]


def ways(name: str) -> dict[str, Callable[[Shape], Work]]:
    """The ways that are possible for a model; Opacus's ghost mode knows no tied weights."""
    every: dict[str, Callable[[Shape], Work]] = {
        "plain": plain,
        "ours, clipped": clipped,
        "ours, clipped and noisy": noisy,
        "Opacus, clipped": hooks,
    }
    if "tied" not in name and name != "stories15m":
        every["Opacus ghost, clipped"] = ghost
    if name == "stories15m":
        del every["Opacus, clipped"]  # it does not know the model's RMSNorm
    return every


def build(name: str, kind: str) -> nn.Module:
    """The model for one of the ways: ``plain``, ``ours`` or ``opacus``."""
    torch.manual_seed(0)
    if name == "LSTM 200/200":
        return Recurrent(_recurrent(kind))
    from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

    if name == "stories15m":
        folder = resource("models/stories15m") or ""
        stories: nn.Module = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        return Scores(stories, positions=False)
    config = GPT2Config(
        n_layer=4, n_embd=256, n_head=4, n_positions=128, bos_token_id=0, eos_token_id=0,
        vocab_size=8000 if "8,000" in name else 50257, tie_word_embeddings="tied" in name,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    return Scores(GPT2LMHeadModel(config), positions=kind == "opacus")


def plain(shape: Shape) -> Work:
    """Mean over all tokens, as everybody trains."""
    model = build(shape.name, "plain")
    optimizer, tokens = SGD(model.parameters(), lr=RATE), shape.tokens(model)
    labels = next_tokens(tokens).view(-1)

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(model(tokens).flatten(0, 1), labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def clipped(shape: Shape, noise: float = 0.0) -> Work:
    """Our private step, without noise."""
    model = build(shape.name, "ours")
    tokens = shape.tokens(model)
    labels = next_tokens(tokens)
    private = make_private(
        model,
        SGD(model.parameters(), lr=RATE),
        clipper=Flat(BOUND),
        noise_multiplier=noise,
        expected_batch_size=shape.rows,
        randomness=Randomness.secure(),
    )

    def step() -> None:
        private.backward(record_losses(model(tokens), labels))
        private.step()

    return step


def noisy(shape: Shape) -> Work:
    """Our private step with noise from the cryptographic stream, once for these few rows."""
    return clipped(shape, noise=1.0)


def hooks(shape: Shape) -> Work:
    """Opacus with per-example gradients, without noise."""
    from opacus.grad_sample import GradSampleModule
    from opacus.optimizers import DPOptimizer

    model = GradSampleModule(build(shape.name, "opacus"))
    tokens = shape.tokens(model)
    optimizer = DPOptimizer(
        SGD(model.parameters(), lr=RATE),
        noise_multiplier=0.0,
        max_grad_norm=BOUND,
        expected_batch_size=shape.rows,
    )

    def step() -> None:
        optimizer.zero_grad()
        _losses(model(tokens), tokens).mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def ghost(shape: Shape) -> Work:
    """Opacus in its ghost mode, without noise."""
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

    model = GradSampleModuleFastGradientClipping(
        build(shape.name, "opacus"), max_grad_norm=BOUND, use_ghost_clipping=True
    )
    tokens = shape.tokens(model)
    optimizer = DPOptimizerFastGradientClipping(
        SGD(model.parameters(), lr=RATE),
        noise_multiplier=0.0,
        max_grad_norm=BOUND,
        expected_batch_size=shape.rows,
    )

    def step() -> None:
        optimizer.zero_grad()
        losses = _losses(model(tokens), tokens)
        DPTensorFastGradientClipping(model, optimizer, losses, "mean").backward()
        optimizer.step()

    return step


def _losses(scores: Tensor, tokens: Tensor) -> Tensor:
    each = functional.cross_entropy(
        scores.flatten(0, 1), next_tokens(tokens).view(-1), reduction="none"
    )
    return each.view(tokens.shape).sum(1) / (tokens.shape[1] - 1)


def _recurrent(kind: str) -> Callable[..., nn.Module]:
    if kind == "plain":
        return nn.LSTM
    if kind == "ours":
        return LSTM
    from opacus.layers import DPLSTM

    layer: Callable[..., nn.Module] = DPLSTM
    return layer


def _vocabulary(model: nn.Module) -> int:
    tables = [one for one in model.modules() if isinstance(one, nn.Embedding)]
    return tables[0].num_embeddings
