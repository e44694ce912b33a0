"""One LSTM layer, fused over time, that exposes the gradients at its gates.

It has the parameters, names and signatures of a one-layer ``torch.nn.LSTM`` with ``batch_first``,
so that weights can be exchanged. Torch's own layer does not expose the gradients at the gates, and
without them a gradient cannot be split by row. Here the projection of the whole input is one matrix
product, as are the gradients of both matrices; only the recurrence is computed step by step.

Where nothing is split, in plain training and in evaluation, torch's own layer does the work if
oneDNN computes it: the whole recurrence is then one call instead of a dozen for each step, and
rows of 128 tokens take less than half the time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument

State = tuple[Tensor, Tensor]


class Weights(NamedTuple):
    """The parameters; those of the input, forget, candidate and output gate are stacked."""

    entered: Tensor
    hidden: Tensor
    entered_bias: Tensor
    hidden_bias: Tensor


class LSTM(nn.Module):
    """One layer; input is (rows, steps, width), a state is a pair of (1, rows, hidden).

    >>> layer = LSTM(3, 5)
    >>> outputs, (hidden, cell) = layer(torch.zeros(2, 7, 3))
    >>> tuple(outputs.shape), tuple(hidden.shape)
    ((2, 7, 5), (1, 2, 5))
    >>> sorted(layer.state_dict()) == sorted(nn.LSTM(3, 5).state_dict())
    True
    """

    weight_ih_l0: nn.Parameter
    weight_hh_l0: nn.Parameter
    bias_ih_l0: nn.Parameter
    bias_hh_l0: nn.Parameter

    def __init__(self, input_size: int, hidden_size: int, *, batch_first: bool = True) -> None:
        super().__init__()
        if not batch_first:
            raise InvalidArgument("batch_first=False is not supported; the first axis is the rows")
        self.input_size = at_least("input_size", input_size, 1)
        self.hidden_size = at_least("hidden_size", hidden_size, 1)
        gates = 4 * hidden_size
        self.weight_ih_l0 = nn.Parameter(torch.empty(gates, input_size))
        self.weight_hh_l0 = nn.Parameter(torch.empty(gates, hidden_size))
        self.bias_ih_l0 = nn.Parameter(torch.empty(gates))
        self.bias_hh_l0 = nn.Parameter(torch.empty(gates))
        bound = 1 / math.sqrt(hidden_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    @classmethod
    def of(cls, layer: nn.LSTM) -> LSTM:
        """A copy of torch's layer, if it is one layer in one direction."""
        plain = (layer.num_layers, layer.bidirectional, layer.proj_size, layer.bias)
        if plain != (1, False, 0, True):
            raise InvalidArgument(
                "only one layer in one direction, with biases and without projection, can be "
                f"converted; this one has num_layers={layer.num_layers}, "
                f"bidirectional={layer.bidirectional}, proj_size={layer.proj_size}, "
                f"bias={layer.bias}"
            )
        copy = cls(layer.input_size, layer.hidden_size, batch_first=layer.batch_first)
        copy.load_state_dict(layer.state_dict())
        return copy.to(next(layer.parameters()).dtype)

    def forward(self, entered: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Outputs at every step, and the state after the last."""
        hidden, cell = self.start(entered, state)
        if is_quick(entered):
            weights = list(self.weights())
            outputs, *last = torch.lstm(
                entered, (hidden[None], cell[None]), weights, True, 1, 0.0, True, False, True
            )
            return outputs, (last[0], last[1])
        outputs, last_hidden, last_cell = _Fused.apply(  # type: ignore[no-untyped-call]
            entered, hidden, cell, *self.weights()
        )
        return outputs, (last_hidden[None], last_cell[None])

    def weights(self) -> Weights:
        """The parameters, in the order of the functions below."""
        return Weights(self.weight_ih_l0, self.weight_hh_l0, self.bias_ih_l0, self.bias_hh_l0)

    def start(self, entered: Tensor, state: State | None) -> State:
        """The state before the first step, as (rows, hidden); zero if none is given."""
        if state is None:
            zero = entered.new_zeros(len(entered), self.hidden_size)
            return zero, zero
        return state[0][0], state[1][0]

    def extra_repr(self) -> str:
        """The sizes, as torch shows them."""
        return f"{self.input_size}, {self.hidden_size}, batch_first=True"


def is_quick(entered: Tensor) -> bool:
    """Whether torch computes such a layer in one call of oneDNN."""
    known = torch.backends.mkldnn
    plain = entered.device.type == "cpu" and entered.dtype == torch.float32
    return plain and entered.numel() > 0 and known.is_available() and bool(known.enabled)  # type: ignore[no-untyped-call]


class ForwardPass(NamedTuple):
    """What a forward pass keeps for the backward pass; the first axis is always the step."""

    entered: Tensor  # (steps, rows, width)
    gates: Tensor  # (steps, rows, 4·hidden): input, forget, candidate, output, after activation
    hidden: Tensor  # (steps + 1, rows, hidden), the initial state first
    cells: Tensor  # the same
    squashed: Tensor  # (steps, rows, hidden): tanh of the cells


class Gradients(NamedTuple):
    """Gradients at the gates, by step, and with respect to what entered and the initial state."""

    gates: Tensor
    entered: Tensor
    hidden: Tensor
    cell: Tensor


def run(weights: Weights, entered: Tensor, start: State) -> ForwardPass:
    """The forward pass; to be called without autograd."""
    entered = entered.transpose(0, 1).contiguous()
    steps, rows, _ = entered.shape
    size = weights.hidden.shape[1]
    gates = functional.linear(entered, weights.entered, weights.entered_bias + weights.hidden_bias)
    recurrent = weights.hidden.t()
    hidden = entered.new_empty(steps + 1, rows, size)
    cells, squashed = torch.empty_like(hidden), entered.new_empty(steps, rows, size)
    hidden[0], cells[0] = start
    for step in range(steps):
        now = gates[step].addmm_(hidden[step], recurrent)
        now[:, : 2 * size].sigmoid_()
        now[:, 2 * size : 3 * size].tanh_()
        now[:, 3 * size :].sigmoid_()
        enter, forget, candidate, leave = now.chunk(4, dim=1)
        cell = torch.mul(forget, cells[step], out=cells[step + 1])
        cell.addcmul_(enter, candidate)
        torch.tanh(cell, out=squashed[step])
        torch.mul(leave, squashed[step], out=hidden[step + 1])
    return ForwardPass(entered, gates, hidden, cells, squashed)


def run_back(weights: Weights, course: ForwardPass, outputs: Tensor, after: State) -> Gradients:
    """The backward pass, from gradients at the outputs (rows first) and at the last state."""
    outputs = outputs.transpose(0, 1)
    steps, rows, size = course.squashed.shape
    activations = course.gates.view(steps, rows, 4, size)
    enter, forget, candidate, leave = activations.unbind(2)
    # The factors between the gradients at hidden state and cell and those at the gates do not
    # depend on these gradients, so they are computed for all steps at once.
    factors = activations * (1 - activations)
    factors[:, :, 0].mul_(candidate)
    factors[:, :, 1].mul_(course.cells[:-1])
    torch.mul(enter, 1 - candidate.square(), out=factors[:, :, 2])
    factors[:, :, 3].mul_(course.squashed)
    to_cell = leave * (1 - course.squashed.square())
    hidden, cell = after[0].clone(), after[1].clone()
    for step in range(steps - 1, -1, -1):
        hidden += outputs[step]
        cell.addcmul_(hidden, to_cell[step])
        now = factors[step]
        now[:, :3].mul_(cell[:, None])
        now[:, 3].mul_(hidden)
        cell.mul_(forget[step])
        torch.mm(now.view(rows, 4 * size), weights.hidden, out=hidden)
    gates = factors.view(steps, rows, 4 * size)
    return Gradients(gates, (gates @ weights.entered).transpose(0, 1), hidden, cell)


class _Fused(torch.autograd.Function):
    """The layer for plain training: gradients of the parameters are summed over the batch."""

    @staticmethod
    def forward(ctx: Any, entered: Tensor, hidden: Tensor, cell: Tensor, *weights: Tensor) -> Any:
        course = run(Weights(*weights), entered, (hidden, cell))
        ctx.save_for_backward(*course, *weights)
        return (
            course.hidden[1:].transpose(0, 1),
            course.hidden[-1].clone(),
            course.cells[-1].clone(),
        )

    @staticmethod
    def backward(ctx: Any, outputs: Tensor, hidden: Tensor, cell: Tensor) -> Any:
        saved = ctx.saved_tensors
        course, weights = ForwardPass(*saved[:5]), Weights(*saved[5:])
        back = run_back(weights, course, outputs, (hidden, cell))
        gates = back.gates.flatten(0, 1)
        of_input = gates.t() @ course.entered.flatten(0, 1)
        of_hidden = gates.t() @ course.hidden[:-1].flatten(0, 1)
        bias = gates.sum(0)
        return back.entered, back.hidden, back.cell, of_input, of_hidden, bias, bias.clone()
