"""Encoders with decoders: tables of relative positions, tables of tokens that three parts share."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    MT5Config,
    MT5ForConditionalGeneration,
    UMT5Config,
    UMT5ForConditionalGeneration,
)

from naive_gradients import TOLERANCE, gradients_of_records, norm, worst_difference
from sfumato.core.errors import CoupledRows, UnsupportedLayer
from sfumato.core.randomness import Randomness
from sfumato.models.load import slice_losses
from sfumato.training.clipping import row_checks
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.layers import linear, tied
from sfumato.training.clipping.layers.relative_bias import RecordedRelativeBias
from sfumato.training.clipping.losses import record_losses
from sfumato.training.clipping.recording import Recording
from sfumato.training.clipping.rounding import MeasuredNorms
from sfumato.training.clipping.slots import Records, VectorSlot
from sfumato.training.row_losses import row_losses
from sfumato.training.steps import PrivateStep, make_private
from unit.models import folders

VOCABULARY, ROWS, READ, WRITTEN = 37, 5, 7, 5
SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY, "d_model": 12, "d_kv": 6, "d_ff": 20, "num_layers": 2, "num_heads": 2,
    "dropout_rate": 0.0, "decoder_start_token_id": 0,
}  # fmt: skip


def t5(**more: Any) -> nn.Module:
    return folders.t5(size=VOCABULARY, **more)


def sliced() -> nn.Module:
    """As sfumato loads it, with losses in place of scores."""
    model: Any = t5()
    slice_losses(model)
    loaded: nn.Module = model
    return loaded


MODELS: dict[str, Callable[[], nn.Module]] = {
    "t5": t5,
    "t5, eager attention": lambda: t5(attn_implementation="eager"),
    "t5, gated, its own output": lambda: t5(feed_forward_proj="gated-gelu", tied=False),
    "t5, losses in slices": sliced,
    "mt5": lambda: MT5ForConditionalGeneration(MT5Config(**SMALL)),
    "umt5, a table in every layer": lambda: UMT5ForConditionalGeneration(UMT5Config(**SMALL)),
}


def made(name: str, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    model = MODELS[name]()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


class Batch:
    """Pairs whose words are repeated, within a side and across; one row is short on both sides."""

    def __init__(self, rows: int = ROWS, seed: int = 0, written: int = WRITTEN) -> None:
        draw = torch.Generator().manual_seed(seed)
        self.read = torch.randint(1, VOCABULARY, (rows, READ), generator=draw)
        self.labels = torch.randint(1, VOCABULARY, (rows, written), generator=draw)
        self.labels[:, 2:] = self.read[:, :1]
        self.mask = torch.ones_like(self.read)
        self.mask[0, 4:] = 0
        start = torch.zeros(rows, 1, dtype=torch.long)
        self.written = torch.cat([start, self.labels[:, :-1]], 1)
        self.labels[0, 3:] = -100

    def losses(self, model: nn.Module, rows: Tensor) -> Tensor:
        inputs = {
            "input_ids": self.read[rows], "attention_mask": self.mask[rows],
            "decoder_input_ids": self.written[rows], "use_cache": False,
        }  # fmt: skip
        return row_losses(model, inputs, self.labels[rows], torch.ones(len(rows)))


@pytest.mark.parametrize("name", MODELS)
def test_norms_and_clipped_sums_are_those_of_a_loop(name: str) -> None:
    model = made(name)
    assert max(worst_difference(model, Batch().losses, ROWS)) <= TOLERANCE
    owner = torch.tensor([4, 1, 4, 4, 0])
    assert max(worst_difference(model, Batch().losses, ROWS, owner)) <= TOLERANCE


@pytest.mark.parametrize("rows", [1, WRITTEN, READ])
def test_places_are_not_taken_for_rows(rows: int) -> None:
    assert max(worst_difference(made("t5"), Batch(rows).losses, rows)) <= TOLERANCE


def test_a_frozen_table_is_left_alone() -> None:
    model = made("t5")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("relative_attention_bias" not in name)
    assert max(worst_difference(model, Batch().losses, ROWS)) <= TOLERANCE


# --- Twins ------------------------------------------------------------------------------------


def clipped_lengths(model: nn.Module, bound: float = 0.5) -> list[float]:
    """How long single records are after clipping."""
    recording, found = Recording(model), []
    for seed in range(6):
        batch = Batch(1, seed)
        records = recording.backward(batch.losses(model, torch.arange(1)))
        scales = Flat(bound).scales(recording.measure(records).bounds())
        found.append(norm(dict(recording.weighted_sums(scales, records))))
    recording.close()
    return found


def of_positions(model: Any) -> Any:
    """The same model, of which tables of positions and a normalization are trained."""
    for name, parameter in model.named_parameters():
        small = "relative" in name or "encoder.final_layer_norm" in name
        parameter.requires_grad_(small)
        parameter.data.mul_(1.0 if "SelfAttention" not in name else 3.0)
    return model


def test_no_clipped_gradient_is_longer_than_the_bound() -> None:
    assert max(clipped_lengths(made("t5"), 0.01)) <= 0.01
    assert max(clipped_lengths(of_positions(made("t5")), 0.01)) <= 0.01


def test_twin_that_forgets_the_table_of_positions_exceeds_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = VectorSlot.measure

    def forgetful(self: VectorSlot, records: Records) -> MeasuredNorms:
        found = honest(self, records)
        table = self.parameter.dim() == 2
        none = torch.zeros_like(found.square)
        return MeasuredNorms(none, none, none, found.dtype) if table else found

    monkeypatch.setattr(VectorSlot, "measure", forgetful)
    assert max(clipped_lengths(of_positions(made("t5")), 0.01)) > 0.01 * 1.001
    assert max(worst_difference(made("t5"), Batch().losses, ROWS)) > TOLERANCE


def test_twin_that_records_no_table_of_positions_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(RecordedRelativeBias, "collect", lambda *_: None)
    with pytest.raises(UnsupportedLayer, match=r"relative_attention_bias.weight took no part"):
        worst_difference(made("t5"), Batch().losses, ROWS)


def test_twin_that_leaves_the_table_to_broadcasting_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Looked up as any embedding: with as many rows as places, rows would be taken for places."""
    from sfumato.training.clipping.layers import rules

    monkeypatch.setattr(rules, "relative_table", lambda _: None)
    monkeypatch.setattr(row_checks, "FIRST", 2)
    with pytest.raises(UnsupportedLayer):
        worst_difference(made("t5"), Batch().losses, ROWS)
    with pytest.raises(UnsupportedLayer):
        worst_difference(made("t5"), Batch(WRITTEN, written=READ).losses, WRITTEN)


def test_twin_that_takes_the_shared_table_for_three_exceeds_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Encoder, decoder and output look at one table: three norms leave out how they add up."""
    apart: Any = deepcopy(made("t5"))
    apart.encoder.embed_tokens.weight = nn.Parameter(apart.shared.weight.detach().clone())
    apart.decoder.embed_tokens.weight = nn.Parameter(apart.shared.weight.detach().clone())
    batch = Batch()
    whole = gradients_of_records(made("t5"), batch.losses, torch.arange(ROWS))
    split = gradients_of_records(apart, batch.losses, torch.arange(ROWS))
    ratios = [norm(one) / norm(other) for one, other in zip(whole, split, strict=True)]
    assert max(ratios) > 1.001, "what three tables would be clipped to is too long for one"
    monkeypatch.setattr(linear, "keep_gradient", lambda *_: False)
    monkeypatch.setattr(tied, "cross_terms", lambda tokens, *_: torch.zeros(len(tokens)))
    alone = made("t5")
    for name, parameter in alone.named_parameters():
        parameter.requires_grad_(name == "shared.weight")
    assert max(clipped_lengths(alone)) > 0.5 * 1.001


# --- Rows -------------------------------------------------------------------------------------


def private(model: nn.Module) -> PrivateStep:
    return make_private(
        model,
        torch.optim.SGD(model.parameters(), lr=0.01),
        clipper=Flat(clip_norm=1.0),
        noise_multiplier=0.5,
        expected_batch_size=4,
        randomness=Randomness.reproducible(1),
    )


def train(model: nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_checks, "FIRST", 2)
    step = private(model.train())
    try:
        for number, rows in enumerate((3, READ)):
            batch = Batch(rows, number)
            step.check_rows(partial(batch.losses, model), rows)
            step.backward(batch.losses(model, torch.arange(rows)))
            step.step()
    finally:
        step.close()


@pytest.mark.parametrize("name", ["t5", "t5, losses in slices"])
def test_rows_of_a_real_one_are_independent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(name)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.2
    train(model, monkeypatch)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_one_whose_rows_see_each_other_is_refused(
    side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = made("t5")
    model.get_submodule(side).final_layer_norm.register_forward_hook(
        lambda _, __, said: said - said.detach().mean(0)
    )
    with pytest.raises(CoupledRows, match="other rows"):
        train(model, monkeypatch)


@pytest.mark.parametrize("change", [lambda said: said * 2, lambda said: said.transpose(2, 3)])
def test_a_table_that_is_more_than_looked_up_is_refused(
    change: Callable[[Tensor], Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = made("t5")
    kind = type(model.encoder.block[0].layer[0].SelfAttention)
    honest = kind.compute_bias
    monkeypatch.setattr(kind, "compute_bias", lambda *a, **k: change(honest(*a, **k)))
    with pytest.raises(UnsupportedLayer, match="more with its table"):
        Recording(model).backward(Batch().losses(model, torch.arange(ROWS)))


def test_losses_in_slices_are_those_of_scores() -> None:
    batch, everyone = Batch(), torch.arange(ROWS)
    whole, parts = made("t5"), made("t5, losses in slices")
    parts.load_state_dict(whole.state_dict())
    scores = whole(
        input_ids=batch.read, attention_mask=batch.mask, decoder_input_ids=batch.written
    ).logits
    expected = record_losses(scores, batch.labels, divisor=1.0)
    assert torch.allclose(batch.losses(parts, everyone), expected, rtol=1e-5)
