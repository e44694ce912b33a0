"""What a batch leaves in a model without noise is noticed before anything is saved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from sfumato.core.errors import UnsupportedLayer
from sfumato.models.lstm_layer import LSTM
from sfumato.training.clipping.recording import Recording

pytestmark = pytest.mark.usefixtures("compared_rows")

ROWS = torch.arange(20.0).reshape(5, 4).sin()


class Averaging(nn.Module):
    """Keeps an average of what it sees, in a buffer that is or is not saved."""

    average: Tensor

    def __init__(self, *, persistent: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.register_buffer("average", torch.zeros(4), persistent=persistent)

    def forward(self, rows: Tensor) -> Tensor:
        self.average = 0.9 * self.average + 0.1 * rows.mean(0).detach()
        scores: Tensor = self.layer(rows)
        return scores


class Shortening(nn.Module):
    """A frozen table that shortens the lines which are looked up."""

    def __init__(self, max_norm: float | None) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 4, max_norm=max_norm)
        self.table.weight.requires_grad = False
        self.layer = nn.Linear(4, 2)

    def forward(self, rows: Tensor) -> Tensor:
        scores: Tensor = self.layer(self.table(rows.abs().mul(8).long()))
        return scores.sum(1)


class Centring(nn.Module):
    """Subtracts from every row something of the others before the first layer sees it."""

    def __init__(self, *, over_rows: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.axis = 0 if over_rows else 1

    def forward(self, rows: Tensor) -> Tensor:
        scores: Tensor = self.layer(rows - rows.mean(self.axis, keepdim=True))
        return scores


def backward(model: nn.Module) -> None:
    recording = Recording(model)
    recording.backward(model(ROWS.clone()).square().sum(1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Averaging(persistent=True), "average was changed"),
        (lambda: Shortening(0.01), r"table\.weight was changed"),
        (lambda: nn.Sequential(nn.InstanceNorm1d(4, track_running_stats=True), nn.Linear(4, 2)),
         r"0\.running_mean"),
    ],
)  # fmt: skip
def test_what_is_written_into_the_model_is_named(make: Callable[[], nn.Module], words: str) -> None:
    model = make()
    rows = ROWS[:, None].expand(5, 4, 4) if isinstance(model, nn.Sequential) else ROWS
    recording = Recording(model)
    with pytest.raises(UnsupportedLayer, match=words):
        recording.backward(model(rows.clone()).square().flatten(1).sum(1))


@pytest.mark.parametrize(
    "model", [Averaging(persistent=False), Shortening(None), Centring(over_rows=False)], ids=repr
)
def test_what_is_not_saved_or_not_changed_is_let_through(model: nn.Module) -> None:
    backward(model)


def test_statistics_of_the_input_that_couple_rows_are_noticed() -> None:
    with pytest.raises(UnsupportedLayer, match="input of other rows"):
        backward(Centring(over_rows=True))


def test_frozen_batch_normalization_is_refused_unless_it_stands_still() -> None:
    model = nn.Sequential(nn.BatchNorm1d(4, affine=False), nn.Linear(4, 2))
    with pytest.raises(UnsupportedLayer, match=r"'0' \(BatchNorm1d\) normalizes over the batch"):
        Recording(model)
    model[0].eval()
    backward(model)
    model.train()
    with pytest.raises(UnsupportedLayer, match="normalizes over the batch"):
        model(ROWS)
    without = nn.Sequential(
        nn.BatchNorm1d(4, affine=False, track_running_stats=False), nn.Linear(4, 2)
    )
    with pytest.raises(UnsupportedLayer, match="normalizes over the batch"):
        Recording(without.eval())


def test_a_batch_normalization_of_the_input_would_not_show_in_any_parameter() -> None:
    """Why it is refused by name: the later layer's gradients stay in their rows."""
    torch.manual_seed(0)
    layer = nn.Linear(4, 2)
    model = nn.Sequential(nn.BatchNorm1d(4, affine=False), layer)
    first = torch.autograd.grad(model(ROWS).square().sum(1)[0], layer.weight)[0]
    changed = torch.cat([ROWS[:1], 3 * ROWS[1:]])
    second = torch.autograd.grad(model(changed).square().sum(1)[0], layer.weight)[0]
    assert not torch.allclose(first, second)  # yet row 0 contributes something else


def test_float16_by_autocast_is_refused() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    recording = Recording(model)
    with torch.autocast("cpu", dtype=torch.float16):
        scores = model(ROWS)
    with pytest.raises(UnsupportedLayer, match="only bfloat16"):
        recording.backward(scores.float().square().sum(1))


def test_parameters_that_a_layer_does_not_know_are_named() -> None:
    strange = nn.Linear(4, 2)
    strange.register_parameter("temperature", nn.Parameter(torch.ones(1)))
    with pytest.raises(UnsupportedLayer, match=r"0\.temperature \(Linear\)"):
        Recording(nn.Sequential(strange))
    normed = torch.nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))
    with pytest.raises(UnsupportedLayer, match=r"0\.parametrizations\.weight\.original0"):
        Recording(nn.Sequential(normed))


class OneWeight(nn.Module):
    """An LSTM both of whose matrices, and both of whose biases, are the same."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = LSTM(4, 4)
        self.layer.weight_hh_l0 = self.layer.weight_ih_l0
        self.layer.bias_hh_l0 = self.layer.bias_ih_l0

    def forward(self, rows: Tensor) -> Tensor:
        outputs: Tensor = self.layer(rows)[0]
        return outputs


def test_a_parameter_with_two_names_in_one_layer_counts_twice() -> None:
    torch.manual_seed(0)
    model, rows = OneWeight(), torch.randn(3, 5, 4)
    loss = model(rows).square().sum()
    wanted = torch.autograd.grad(loss, list(model.parameters()))
    recording = Recording(model)
    records = recording.backward(model(rows).square().sum((1, 2)))
    found = dict(recording.weighted_sums(torch.ones(3), records))
    for one, other in zip(found.values(), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
