"""Convolution over time against a loop over records, with twins that must be found out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sfumato.core.errors import UnsupportedLayer
from sfumato.training.clipping.layers import linear
from sfumato.training.clipping.layers.convolution import RecordedConvolution
from sfumato.training.clipping.layers.rules import Differences, check_layer, compare_with_loop
from sfumato.training.clipping.recording import Recording

EXACT = 1e-8
ROWS = 5
SHARED = torch.tensor([3, 1, 3, 3, 0])
SETTINGS: list[dict[str, Any]] = [
    {},
    {"bias": False},
    {"padding": 2},
    {"padding": "same"},
    {"padding": "same", "dilation": 3},
    {"padding": "valid"},
    {"stride": 2, "dilation": 2, "padding": 1},
]


def made(**settings: Any) -> nn.Module:
    """Two layers, so that the first one has a gradient from the second."""
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv1d(4, 6, 3, **settings),
        nn.Tanh(),
        nn.Conv1d(6, 3, 2),
    ).double()


def compared(model: nn.Module, places: int = 11, owner: Tensor | None = None) -> Differences:
    entered = torch.randn(ROWS, 4, places, generator=torch.Generator().manual_seed(2)).double()

    def losses(under: nn.Module, rows: Tensor) -> Tensor:
        outputs: Tensor = under(entered[rows]).flatten(1)
        return outputs.sin().sum(1)

    return compare_with_loop(model, losses, ROWS, owner)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("keep", [True, False], ids=["kept", "not kept"])
def test_norms_and_sums_are_those_of_a_loop(
    settings: dict[str, Any], keep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "keep_gradient", lambda *_: keep)
    assert compared(made(**settings)).worst <= EXACT
    assert compared(made(**settings), owner=SHARED).worst <= EXACT


@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_an_odd_number_of_zeros_is_divided_as_torch_does() -> None:
    assert compared(nn.Conv1d(4, 5, 2, padding="same").double()).worst <= EXACT


def test_a_filter_as_wide_as_the_input_and_one_that_is_called_twice() -> None:
    assert compared(nn.Conv1d(4, 5, 11).double()).worst <= EXACT
    check_layer(lambda: (nn.Conv1d(4, 5, 3), torch.randn(4, 4, 7)))


def test_only_the_bias() -> None:
    model = made()
    for name, one in model.named_parameters():
        one.requires_grad_(name.endswith("bias"))
    assert compared(model, owner=SHARED).worst <= EXACT


def test_windows_that_cancel_leave_no_gradient() -> None:
    """The same windows, pulled in opposite directions: every part is long, their sum is zero."""
    model = nn.Conv1d(4, 6, 3, bias=False).double()
    entered = torch.randn(2, 4, 3).double().repeat(1, 1, 8)
    pull = torch.ones(8).double()
    pull[1::2] = -1.0
    recording = Recording(model)
    answers = model(entered)[:, :, ::3]  # windows that begin where the repeated part begins
    records = recording.backward((answers * pull).flatten(1).sum(1))
    measured = recording.measure(records)
    recording.close()
    assert float(measured.norms().max()) <= 1e-10
    assert bool((measured.bounds() >= measured.norms()).all())
    assert float(measured.size.min()) > 1


def summed_first(layer: RecordedConvolution, padded: Tensor | None, gradient: Tensor) -> None:
    """A twin that sums over time before it multiplies."""
    gradient = gradient.detach().transpose(1, 2)
    if "bias" in layer.slots:
        layer.write("bias", gradient.sum(1))
    if padded is not None:
        seen = layer.windows(padded.detach()).sum(1, keepdim=True)
        layer.write("weight", gradient.sum(1, keepdim=True).contiguous(), seen)


def mixed_up(layer: RecordedConvolution, padded: Tensor) -> Tensor:
    """A twin whose windows are laid out place by place, where filters are channel by channel."""
    width = layer.convolution.kernel_size[0]
    found = padded.unfold(2, width, layer.convolution.stride[0]).permute(0, 2, 3, 1)
    return found.flatten(2).contiguous()


def test_twins_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(RecordedConvolution, "collect", summed_first)
        assert compared(made()).norms > 1e-2
        assert compared(made()).sums > 1e-2
    with monkeypatch.context() as changed:
        changed.setattr(RecordedConvolution, "windows", mixed_up)
        # The length of a gradient does not depend on the order of its numbers; the sum does.
        assert compared(made()).sums > 1e-2


@pytest.mark.parametrize("settings", [{"groups": 2}, {"padding": 1, "padding_mode": "circular"}])
def test_what_has_no_rule_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedLayer, match="there is no rule"):
        Recording(nn.Sequential(nn.Conv1d(4, 4, 3, **settings)))


def test_input_without_rows_and_batch_normalization_are_refused() -> None:
    model = nn.Sequential(nn.Conv1d(4, 4, 3))
    Recording(model)
    with pytest.raises(UnsupportedLayer, match="without an axis for rows"):
        model(torch.randn(4, 9))
    with pytest.raises(UnsupportedLayer, match="BatchNorm1d"):
        Recording(nn.Sequential(nn.Conv1d(4, 4, 3), nn.BatchNorm1d(4)))
    frozen = nn.Sequential(nn.Conv1d(4, 4, 3), nn.BatchNorm1d(4, affine=False))
    with pytest.raises(UnsupportedLayer, match="normalizes over the batch"):
        Recording(frozen)
