"""Rows of a batch: networks that couple them are refused, by name or by trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    PreTrainedModel,
)

from sfumato.core.errors import InvalidArgument
from sfumato.mechanisms.rewriting.temperature import Temperature
from sfumato.models import row_independence
from sfumato.models.row_independence import has_experts, refuse_coupled_rows
from sfumato.models.writing import Writer, load_writer
from sfumato.synthesis.prediction.plan import PredictionPlan
from sfumato.synthesis.prediction.settings import Prediction
from unit.models.folders import gpt2, llama, t5, with_our_tokenizer

SIZES: dict[str, Any] = {
    "vocab_size": 8192, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0, "initializer_range": 0.6,
}  # fmt: skip
# Positions beyond 12 are turned by other factors: in a batch, all rows are.
LONG = {
    "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0] * 4,
    "long_factor": [4.0] * 4, "original_max_position_embeddings": 12,
}  # fmt: skip
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}


def longrope() -> PreTrainedModel:
    return Phi3ForCausalLM(
        Phi3Config(**SIZES, original_max_position_embeddings=12, rope_parameters=LONG)
    )


def dynamic() -> PreTrainedModel:
    return LlamaForCausalLM(LlamaConfig(**SIZES, rope_parameters=DYNAMIC))


def mixtral() -> PreTrainedModel:
    return MixtralForCausalLM(MixtralConfig(**SIZES, num_local_experts=4))


MAKERS: dict[str, Callable[[], PreTrainedModel]] = {
    "llama": llama, "gpt2": gpt2, "longrope": longrope, "dynamic": dynamic, "mixtral": mixtral,
    "t5": t5,
}  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("models")
    torch.manual_seed(4)
    return {name: with_our_tokenizer(make(), place / name) for name, make in MAKERS.items()}


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("name", ["llama", "gpt2", "t5"])
def test_usual_networks_pass(folders: dict[str, Path], name: str, rows: int) -> None:
    writer = load_writer(folders[name])
    for width in (1, 20, 500):
        refuse_coupled_rows(writer, rows=rows, width=width)


@pytest.mark.parametrize(
    ("name", "said"),
    [("longrope", "longest text of a batch"), ("mixtral", "mixture of experts")],
)
def test_coupled_rows_are_refused_unless_each_is_read_alone(
    folders: dict[str, Path], name: str, said: str
) -> None:
    writer = load_writer(folders[name])
    refuse_coupled_rows(writer, rows=1, width=20)
    with pytest.raises(InvalidArgument, match=rf"{said}(.|\n)*'batch': 1"):
        refuse_coupled_rows(writer, rows=2, width=20)


@pytest.mark.parametrize("rows", [1, 2])
def test_positions_that_follow_all_that_was_read_are_refused(
    folders: dict[str, Path], rows: int
) -> None:
    with pytest.raises(InvalidArgument, match="take a model without them"):
        refuse_coupled_rows(load_writer(folders["dynamic"]), rows=rows, width=20)


def test_the_trial_sees_long_positions_without_knowing_their_name(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_independence, "_BY_BATCH", frozenset())
    writer = load_writer(folders["longrope"])
    with pytest.raises(InvalidArgument, match="in a trial with 3 public rows"):
        refuse_coupled_rows(writer, rows=3, width=20)
    # Short rows show nothing, which is why they are refused by name.
    refuse_coupled_rows(writer, rows=3, width=8)


class Averaging(torch.nn.Module):
    """A twin: something of the mean over the batch is in every row, however little."""

    def __init__(self, inner: torch.nn.Module, share: float) -> None:
        super().__init__()
        self.inner, self.share = inner, share

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.inner(states)
        return found + self.share * found.mean(0, keepdim=True)


class Remembering(torch.nn.Module):
    """A twin: what was read before is in every row that is read after it."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner, self.past = inner, 0.0

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.inner(states) + self.past
        self.past += 1e-3 * float(states.abs().max())
        return found


def with_output(folder: Path, wrap: Callable[[torch.nn.Module], torch.nn.Module]) -> Writer:
    writer = load_writer(folder)
    writer.network.lm_head = wrap(writer.network.lm_head)
    return writer


@pytest.mark.parametrize("share", [0.5, 1e-5])
def test_a_mean_over_the_batch_is_found(folders: dict[str, Path], share: float) -> None:
    twin = with_output(folders["llama"], lambda inner: Averaging(inner, share))
    with pytest.raises(InvalidArgument, match="if another text was read with it or before"):
        refuse_coupled_rows(twin, rows=4, width=20)
    # A batch of one row has no other row.
    refuse_coupled_rows(twin, rows=1, width=20)


@pytest.mark.parametrize("rows", [1, 4])
def test_memory_of_earlier_batches_is_found(folders: dict[str, Path], rows: int) -> None:
    twin = with_output(folders["llama"], Remembering)
    with pytest.raises(InvalidArgument, match="or before it"):
        refuse_coupled_rows(twin, rows=rows, width=20)


def test_scores_of_one_row_move_with_another_in_the_networks_that_are_refused(
    folders: dict[str, Path],
) -> None:
    def moved(name: str) -> float:
        writer = load_writer(folders[name])
        read = [writer.begin([[5, 6, 7], last], width=24).scores[0] for last in ([8], [8] * 20)]
        return float(np.abs(read[0] - read[1]).max())

    assert moved("longrope") > 1e-3
    assert moved("llama") == moved("gpt2") == 0.0


def test_parts_and_layers_of_a_configuration_are_looked_at() -> None:
    ropes = row_independence._ropes
    assert set(ropes({"text_config": {"rope_scaling": {"type": "SU"}}})) == {"su"}
    layered = {"rope_parameters": {"full_attention": {"rope_type": "dynamic"}}}
    assert set(ropes(layered)) == {"dynamic"}
    assert set(ropes({"type": "longrope", "model_type": "dynamic"})) == set()
    assert has_experts({"decoder": {"n_routed_experts": 64}})
    assert not has_experts({"num_experts": 1, "n_shared_experts": 2, "num_experts_per_tok": 2})


def test_experts_are_known_by_their_parts_too(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_independence, "has_experts", lambda _: False)
    with pytest.raises(InvalidArgument, match="mixture of experts"):
        refuse_coupled_rows(load_writer(folders["mixtral"]), rows=2, width=20)


def plan() -> PredictionPlan:
    return PredictionPlan(units=24, epsilon=90, prompts=12, tokens=3)


@pytest.mark.parametrize("name", ["longrope", "dynamic", "mixtral"])
def test_prediction_and_batches_of_documents_refuse_them(
    folders: dict[str, Path], name: str
) -> None:
    model = str(folders[name])
    asked = Prediction(model=model, prompt="{text} :", record_tokens=8)
    with pytest.raises(InvalidArgument, match=r"positions of|mixture"):
        asked.ensemble(plan(), ("",))
    many = Temperature(model=model, window=2.0, tokens=2, prompt="{}", batch=2)
    with pytest.raises(InvalidArgument, match=r"positions of|mixture"):
        many.guarantee()
    if name != "dynamic":
        assert replace(asked, batch=1).ensemble(plan(), ("",)).batch == 1
        assert replace(many, batch=1).guarantee().leaks == ()


def test_prediction_tries_the_shape_that_it_uses(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = set()
    begin = Writer.begin

    def watching(self: Writer, rows: Any, *, width: int = 0) -> Any:
        shapes.add((len(rows), max(width, *map(len, rows))))
        return begin(self, rows, width=width)

    monkeypatch.setattr(Writer, "begin", watching)
    asked = Prediction(model=str(folders["llama"]), prompt="{text} :", record_tokens=8, batch=5)
    ensemble = asked.ensemble(plan(), ("",))
    assert shapes == {(5, ensemble.frame.width)}
