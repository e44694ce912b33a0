"""Our LSTM layer is torch's: outputs, state and all gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from sfumato.core.errors import InvalidArgument
from sfumato.models.lstm_layer import LSTM


def outcome(layer: nn.Module, rows: Tensor, state: tuple[Tensor, Tensor] | None) -> list[Tensor]:
    """Outputs, state, and gradients with respect to everything."""
    inputs = [rows, *(state or ())]
    leaves = [one.clone().requires_grad_() for one in inputs]
    outputs, (hidden, cell) = layer(leaves[0], tuple(leaves[1:]) if state else None)
    loss = (outputs.sin() * torch.linspace(1, 2, outputs.shape[1])[:, None]).sum()
    loss = loss + hidden.square().sum() + 2 * cell.cos().sum()
    found = torch.autograd.grad(loss, [*leaves, *layer.parameters()])
    return [outputs, hidden, cell, *found]


@settings(max_examples=15)
@given(
    rows=st.integers(1, 4), steps=st.integers(1, 7), width=st.integers(1, 6),
    hidden=st.integers(1, 6), seed=st.integers(0, 100), with_state=st.booleans(),
    precision=st.sampled_from([torch.float32, torch.float64]), by_steps=st.booleans(),
)  # fmt: skip
def test_outputs_and_gradients_are_those_of_torch(
    rows: int, steps: int, width: int, hidden: int, seed: int, with_state: bool,
    precision: torch.dtype, by_steps: bool,
) -> None:  # fmt: skip
    torch.manual_seed(seed)
    theirs = nn.LSTM(width, hidden, batch_first=True).to(precision)
    ours = LSTM.of(theirs)
    entered = torch.randn(rows, steps, width, dtype=precision)
    state = (
        torch.randn(1, rows, hidden, dtype=precision),
        torch.randn(1, rows, hidden, dtype=precision),
    )
    given_state = state if with_state else None
    wanted = outcome(theirs, entered, given_state)
    with torch.backends.mkldnn.flags(enabled=not by_steps):
        pairs = zip(outcome(ours, entered, given_state), wanted, strict=True)
    assert all(torch.allclose(one, two, rtol=1e-5, atol=1e-5) for one, two in pairs)


def test_weights_pass_from_one_to_the_other_by_name() -> None:
    ours, theirs = LSTM(3, 4), nn.LSTM(3, 4, batch_first=True)
    theirs.load_state_dict(ours.state_dict())
    ours.load_state_dict(theirs.state_dict())
    rows = torch.randn(2, 5, 3)
    assert torch.allclose(ours(rows)[0], theirs(rows)[0], atol=1e-6)


def test_a_long_text_can_be_read_in_pieces() -> None:
    layer, rows = LSTM(3, 4), torch.randn(2, 6, 3)
    whole, last = layer(rows)
    first, state = layer(rows[:, :4])
    second, after = layer(rows[:, 4:], state)
    assert torch.allclose(torch.cat([first, second], 1), whole, atol=1e-6)
    assert torch.allclose(after[1], last[1], atol=1e-6)


@pytest.mark.parametrize(
    "layer",
    [
        nn.LSTM(3, 4, num_layers=2), nn.LSTM(3, 4, bidirectional=True),
        nn.LSTM(3, 4, proj_size=2), nn.LSTM(3, 4, bias=False), nn.LSTM(3, 4),
    ],
)  # fmt: skip
def test_layers_of_another_kind_are_refused(layer: nn.LSTM) -> None:
    with pytest.raises(InvalidArgument):
        LSTM.of(layer)
