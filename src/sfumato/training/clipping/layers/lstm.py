"""The LSTM layer, fused over time (``sfumato.models.lstm_layer``).

Why the norm is right
    With the gradient g_t at the gates of step t, the gradient of a row is Σ_t g_t x_tᵀ for the
    input matrix and Σ_t g_t h_{t−1}ᵀ for the recurrent one: two Linear layers with as many
    positions as steps. Both biases are added to the same gates, so each has the gradient Σ_t g_t; a
    record's norm counts it twice, because there are two parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from sfumato.models.lstm_layer import LSTM, ForwardPass, State, run, run_back
from sfumato.training.clipping.layers.layer import Layer, Role, through


class RecordedLSTM(Layer):
    """Our own LSTM layer."""

    def roles(self) -> Mapping[str, Role]:
        """Two matrices and two biases."""
        return {
            "weight_ih_l0": Role.MATRIX,
            "weight_hh_l0": Role.MATRIX,
            "bias_ih_l0": Role.VECTOR,
            "bias_hh_l0": Role.VECTOR,
        }

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Outputs and last state, with the gradients at the gates recorded."""
        return self.record(*args, **kwargs)

    def record(self, entered: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Outputs and last state, with the gradients at the gates recorded."""
        self.check_rows(entered)
        hidden, cell = self.layer.start(entered, state)
        outputs, *last = through(_Steps, entered, hidden, cell, self.batch.anchor, self)
        return outputs, (last[0][None], last[1][None])

    @property
    def layer(self) -> LSTM:
        """The module by its type."""
        assert isinstance(self.module, LSTM)  # noqa: S101
        return self.module

    def collect(self, course: ForwardPass, gates: Tensor) -> None:
        """Record one use."""
        gates = gates.transpose(0, 1)
        entered, hidden = (one.detach().transpose(0, 1) for one in (course.entered, course.hidden))
        self.write("weight_ih_l0", gates, entered)
        self.write("weight_hh_l0", gates, hidden[:, :-1])
        total = gates.sum(1)
        self.write("bias_ih_l0", total)
        self.write("bias_hh_l0", total)


class _Steps(torch.autograd.Function):
    """The layer with its parameters as constants."""

    @staticmethod
    def forward(
        ctx: Any,
        entered: Tensor,
        hidden: Tensor,
        cell: Tensor,
        _anchor: Tensor,
        layer: RecordedLSTM,
    ) -> Any:
        course = run(layer.layer.weights(), entered, (hidden, cell))
        ctx.layer = layer
        ctx.save_for_backward(*course)
        return (
            course.hidden[1:].transpose(0, 1),
            course.hidden[-1].clone(),
            course.cells[-1].clone(),
        )

    @staticmethod
    def backward(ctx: Any, outputs: Tensor, hidden: Tensor, cell: Tensor) -> Any:
        course = ForwardPass(*ctx.saved_tensors)
        back = run_back(ctx.layer.layer.weights(), course, outputs, (hidden, cell))
        ctx.layer.collect(course, back.gates)
        return back.entered, back.hidden, back.cell, None, None
