"""Somebody who wants a record to add more than the clipping norm: models, inputs, a search.

Every case is a model, and inputs that can be chosen freely: what enters the model, and what its
outputs are multiplied by to make the losses, hence the gradients that arrive at them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from peft import LoraConfig, inject_adapter_in_model
from torch import Tensor, nn
from torch.nn import functional
from transformers.pytorch_utils import Conv1D

from naive_gradients import norm
from sfumato.core.randomness import Randomness
from sfumato.models.carriers import Carried
from sfumato.models.lstm_layer import LSTM
from sfumato.training.clipping.clippers import Clipper, Flat
from sfumato.training.steps import make_private

# So short that every record is clipped: the ratio then does not depend on it.
SHORT = 1e-6
WORDS = 40


@dataclass(frozen=True)
class Case:
    """A model, the numbers that enter it, the tokens, and the pull on its outputs."""

    model: nn.Module
    entered: Tensor
    pull: Tensor
    tokens: Tensor | None = None

    def losses(self, entered: Tensor, pull: Tensor) -> Tensor:
        """One loss for each row."""
        inputs = (entered,) if self.tokens is None else (entered, self.tokens)
        output: Tensor = self.model(*inputs)
        return (output * pull).flatten(1).sum(1)


def contribution(
    case: Case,
    owner: Tensor | None = None,
    clipper: Clipper | None = None,
    *,
    two_passes: bool = False,
    few_digits: bool = False,
) -> float:
    """What the record adds to the computed sum, as a multiple of the clipping norm.

    All rows are one record if ``owner`` says so; otherwise there must be one row. With
    ``few_digits`` the model is computed in bfloat16.
    """
    clipper = clipper or Flat(SHORT)
    trained = [one for one in case.model.parameters() if one.requires_grad]
    private = make_private(
        case.model,
        torch.optim.SGD(trained, lr=0.0),
        clipper=clipper,
        noise_multiplier=0.0,
        expected_batch_size=1.0,
        randomness=Randomness.reproducible(0),
        two_passes=two_passes,
    )
    try:
        with torch.autocast("cpu", torch.bfloat16, enabled=few_digits):
            losses = case.losses(case.entered, case.pull)
        private.backward(losses, owner)
        private.step()
        added = {str(index): one.grad for index, one in enumerate(trained) if one.grad is not None}
        return norm(added) / clipper.clip_norm
    finally:
        private.close()
        for one in trained:
            one.grad = None


class Shared(nn.Module):
    """One matrix, used twice."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.one = nn.Linear(width, width, bias=False)
        self.other = nn.Linear(width, width, bias=False)
        self.other.weight = self.one.weight

    def forward(self, rows: Tensor) -> Tensor:
        both: Tensor = self.one(rows) + self.other(rows.flip(1) * 1.5)
        return both


class TiedTable(nn.Module):
    """A table that is looked up and multiplied by; what enters the product is free."""

    def __init__(self, width: int, words: int = WORDS) -> None:
        super().__init__()
        self.look_up = nn.Embedding(words, width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.look_up.weight

    def forward(self, rows: Tensor, tokens: Tensor) -> Tensor:
        return torch.cat([self.head(rows), self.look_up(tokens)], 2)


class Table(nn.Module):
    """A table that is looked up."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.look_up = nn.Embedding(WORDS, width)

    def forward(self, _: Tensor, tokens: Tensor) -> Tensor:
        found: Tensor = self.look_up(tokens)
        return found


class Recurrent(nn.Module):
    """Our LSTM; in double precision step by step, so that it can be differentiated twice."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lstm = LSTM(width, width)

    def forward(self, rows: Tensor) -> Tensor:
        if rows.dtype == torch.float64:
            return self._slowly(rows)
        outputs: Tensor = self.lstm(rows)[0]
        return outputs

    def _slowly(self, rows: Tensor) -> Tensor:
        hidden = cell = rows.new_zeros(len(rows), rows.shape[2])
        outputs = []
        for place in rows.unbind(1):
            gates = functional.linear(place, self.lstm.weight_ih_l0, self.lstm.bias_ih_l0)
            gates = gates + functional.linear(hidden, self.lstm.weight_hh_l0, self.lstm.bias_hh_l0)
            entry, keep, new, leave = gates.chunk(4, 1)
            cell = keep.sigmoid() * cell + entry.sigmoid() * new.tanh()
            hidden = leave.sigmoid() * cell.tanh()
            outputs.append(hidden)
        return torch.stack(outputs, 1)


class Filters(nn.Module):
    """Filters over three places; windows overlap, so their gradients can cancel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(width, width, 3, padding="same")

    def forward(self, rows: Tensor) -> Tensor:
        answers: Tensor = self.convolution(rows.transpose(1, 2))
        return answers.transpose(1, 2)


def adapted(width: int) -> nn.Module:
    """LoRA on a frozen layer, with both factors different from zero."""
    inner = nn.Sequential(nn.Linear(width, width))
    model = inject_adapter_in_model(LoraConfig(r=3, target_modules=["0"]), inner)
    for one in model.parameters():
        if one.requires_grad:
            nn.init.normal_(one)
    return model


class ThroughCarriers(nn.Module):
    """A matrix seen through carriers; in double precision as a sum, to be differentiated twice."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.one = nn.Linear(width, width)
        made = Carried.attach(self, 2)
        made.draw(Randomness.reproducible(width))
        (_, self.carriers), *_ = made.pairs()

    def forward(self, rows: Tensor) -> Tensor:
        if rows.dtype != torch.float64:
            output: Tensor = self.one(rows)
            return output
        left, right = self.carriers.left.weight, self.carriers.right.weight
        residual = functional.linear(rows, self.one.weight - (left @ right).detach(), self.one.bias)
        return residual + functional.linear(functional.linear(rows, right), left)


# Each from the width of the model, with the width of its output.
MODELS: dict[str, tuple[Callable[[int], nn.Module], Callable[[int], int]]] = {
    "linear": (lambda width: nn.Linear(width, width), lambda width: width),
    "conv1d": (lambda width: Conv1D(width, width), lambda width: width),
    "filters": (Filters, lambda width: width),
    "shared": (Shared, lambda width: width),
    "embedding": (Table, lambda width: width),
    "tied": (TiedTable, lambda width: WORDS + width),
    "layer norm": (nn.LayerNorm, lambda width: width),
    "rms norm": (nn.RMSNorm, lambda width: width),
    "lstm": (Recurrent, lambda width: width),
    "lora": (adapted, lambda width: width),
    "carriers": (ThroughCarriers, lambda width: width),
}


def drawn(name: str, shape: tuple[int, int, int], chance: torch.Generator) -> Case:
    """A case with random numbers: rows, places, width."""
    rows, places, width = shape
    make, output = MODELS[name]
    torch.manual_seed(int(torch.randint(10_000, (1,), generator=chance)))
    model = make(width)
    entered = torch.randn(rows, places, width, generator=chance)
    pull = torch.randn(rows, places, output(width), generator=chance)
    tokens = None
    if name in ("tied", "embedding"):
        tokens = torch.randint(0, 3, (rows, places), generator=chance)
    return Case(model, entered, pull, tokens)


def canceled(case: Case, steps: int, rate: float = 0.05) -> Case:
    """By gradient descent, in double precision: inputs whose parts are long and cancel.

    What is made small is the record's gradient, relative to the inputs it is made of; nothing but
    this makes rounding large.
    """
    exact = case.model.double()
    trained = [one for one in exact.parameters() if one.requires_grad]
    free = [one.double().clone().requires_grad_() for one in (case.entered, case.pull)]
    search = torch.optim.Adam(free, lr=rate)
    for _ in range(steps):
        loss = case.losses(*free).sum()
        gradients = torch.autograd.grad(loss, trained, create_graph=True, allow_unused=True)
        squares = torch.stack([one.square().sum() for one in gradients if one is not None])
        sizes = torch.stack([one.square().sum() for one in free])
        goal = squares.sum().clamp(min=1e-300).log() - sizes.clamp(min=1e-300).log().sum()
        search.zero_grad()
        goal.backward()  # type: ignore[no-untyped-call]
        search.step()
    exact.float()
    entered, pull = (one.detach().float() for one in free)
    return Case(case.model, entered, pull, case.tokens)


def opposed(case: Case, repeats: int, gap: float, scale: float) -> Case:
    """Places that repeat, every second one pulled the other way, with inputs that hardly differ.

    Rounding errors of equal places are equal and add up; the places themselves cancel.
    """
    entered, pull = case.entered[:, :1], case.pull[:, :1]
    near = entered + gap * case.entered[:, 1:2]
    both = torch.cat([entered, near], 1).repeat(1, repeats, 1)
    pulls = torch.cat([pull, -pull], 1).repeat(1, repeats, 1) * scale
    tokens = None
    if case.tokens is not None:
        tokens = case.tokens[:, :1].repeat(1, 2 * repeats)
    return Case(case.model, both, pulls, tokens)


def tied_and_canceled(width: int, words: int, places: int, gap: float) -> Case:
    """One word over and over, whose look-ups undo what the product brings to its line."""
    chance = torch.Generator().manual_seed(places)
    torch.manual_seed(0)
    entered = torch.randn(1, 1, width, generator=chance).repeat(1, places, 1)
    tokens = torch.full((1, places), 7)
    left = functional.one_hot(tokens, words).float()
    looked_up = -entered * (1 + gap * torch.randn(1, places, 1, generator=chance))
    return Case(TiedTable(width, words), entered, torch.cat([left, looked_up], 2) * 1e3, tokens)
