"""Adapters: only they and the head learn, the start is the base model, and they are saved."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.pretrained import ADAPTER_KEY
from sfumato.core.randomness import Randomness
from sfumato.models.adapters import FILE, Adapters, adapters_of
from sfumato.models.kinds import kind_of
from sfumato.models.load import LoadedModel, is_causal, load_model, save_model
from sfumato.models.lora import Lora
from sfumato.models.trainable import Trainable
from sfumato.models.writing import load_writer
from sfumato.training.clipping.layers.rules import compare_with_loop
from sfumato.training.clipping.losses import record_losses
from unit.models import folders

SIZE = 3
TOKENS = torch.tensor([[5, 6, 7, 8, 9], [9, 8, 5, 5, 5], [10, 7, 9, 6, 5], [6, 6, 9, 8, 7]])
MAKERS: dict[str, Any] = {
    "gpt2": folders.gpt2,
    "llama": folders.llama,
    "bert": folders.masked_bert,
    "t5": folders.t5,
}
# After attention and feed-forward parts of each layer; a decoder has two kinds of attention.
PLACES = {"gpt2": 2 * 2, "llama": 2 * 2, "bert": 2, "t5": 2 * 2 + 2 * 3}


def opened(name: str, folder: Path, kind: str | None = None) -> LoadedModel:
    write = folders.with_word_pieces if name == "bert" else folders.with_our_tokenizer
    there = folder if folder.exists() else write(MAKERS[name](), folder)
    chosen = kind or kind_of(str(there))
    classes = ("a", "b") if kind == "classifier" else ()
    return load_model(
        str(there), randomness=Randomness.reproducible(1), kind=chosen, classes=classes
    )


def said(network: Any) -> Tensor:
    given = {"input_ids": TOKENS}
    if network.config.is_encoder_decoder:
        given["decoder_input_ids"] = TOKENS
    with torch.no_grad():
        found: Tensor = network.eval()(**given).logits
    return found


def adapted(model: LoadedModel, *, moved: bool = True) -> Any:
    """With adapters; those of a trained model are no longer zero."""
    Adapters(size=SIZE).attach(model.network, Randomness.reproducible(2), model.new)
    chance = torch.Generator().manual_seed(4)
    if moved:
        for one in adapters_of(model.network).values():
            torch.nn.init.normal_(one.up.weight, generator=chance)
    return model.network


@pytest.mark.parametrize("name", MAKERS)
def test_they_begin_as_the_base_learn_alone_and_are_saved(name: str, tmp_path: Path) -> None:
    model = opened(name, tmp_path / "base")
    before = said(model.network)
    network = adapted(model, moved=False)
    assert torch.equal(said(network), before)
    assert len(adapters_of(network)) == PLACES[name]
    learning = {key for key, one in network.named_parameters() if one.requires_grad}
    assert learning
    assert all(".adapter." in key for key in learning)
    adapted(model)
    assert not torch.allclose(said(network), before)
    save_model(model, tmp_path / "model")
    again = opened(name, tmp_path / "model")
    torch.testing.assert_close(said(again.network), said(network))


def test_a_twin_that_forgets_the_adapters_is_found_out(tmp_path: Path) -> None:
    model = opened("bert", tmp_path / "base")
    network = adapted(model)
    save_model(model, tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    entries = json.loads(config.read_text())
    assert entries.pop(ADAPTER_KEY) == SIZE
    config.write_text(json.dumps(entries))
    forgotten = opened("bert", tmp_path / "model")
    assert not torch.allclose(said(forgotten.network), said(network))


def test_a_head_learns_too_and_a_copy_has_adapters_of_its_own(tmp_path: Path) -> None:
    network = adapted(opened("bert", tmp_path / "base", "classifier"))
    learning = {key for key, one in network.named_parameters() if one.requires_grad}
    # The folder of a masked model has no pooler, so that was drawn as well.
    assert {"classifier.weight", "classifier.bias", "bert.pooler.dense.weight"} <= learning
    assert not any("attention.self" in key or "LayerNorm" in key for key in learning)
    copy = deepcopy(network)
    for one in adapters_of(network).values():
        torch.nn.init.zeros_(one.up.weight)
    assert not torch.allclose(said(copy), said(network))


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_gradients_are_those_of_a_loop_over_records(name: str, tmp_path: Path) -> None:
    network = adapted(opened(name, tmp_path / "base", "classifier")).double().eval()
    labels = torch.tensor([0, 1, 1, 0])

    def losses(under: Any, rows: Tensor) -> Tensor:
        return record_losses(under(input_ids=TOKENS[rows]).logits, labels[rows])

    owner = torch.tensor([1, 0, 1, 2])
    assert compare_with_loop(network, losses, len(TOKENS), owner).worst <= 1e-8


def test_a_causal_network_stays_causal(tmp_path: Path) -> None:
    assert is_causal(adapted(opened("gpt2", tmp_path / "base")))


def test_who_reads_no_adapters_refuses_them(tmp_path: Path) -> None:
    model = opened("gpt2", tmp_path / "base")
    adapted(model)
    save_model(model, tmp_path / "model")
    with pytest.raises(BadInput, match="without them it would be another model"):
        load_writer(tmp_path / "model")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    model = opened("bert", tmp_path / "base")
    adapted(model)
    save_model(model, tmp_path / "model")
    path = tmp_path / "model" / FILE
    weights = load_file(path)
    for wrong in (
        {key: one for key, one in weights.items() if "up.bias" not in key},
        {f"no.{key}": one for key, one in weights.items()},
        {key: one[:2] if key.endswith("down.weight") else one for key, one in weights.items()},
        weights | {"cls.predictions.bias": torch.zeros(2)},
    ):
        save_file({key: one.contiguous() for key, one in wrong.items()}, path)
        with pytest.raises(BadInput, match="do not fit its model"):
            opened("bert", tmp_path / "model")
    path.unlink()
    with pytest.raises(BadInput, match=f"there is no {FILE}"):
        opened("bert", tmp_path / "model")


def test_what_cannot_be_had_says_what_to_do(tmp_path: Path) -> None:
    lstm = load_model("lstm", randomness=Randomness.reproducible(1), settings={"hidden": 4})
    with pytest.raises(InvalidArgument, match="no place for adapters"):
        Adapters(size=SIZE).attach(lstm.network, Randomness.reproducible(1))
    with pytest.raises(InvalidArgument, match="has no adapters"):
        Trainable.read("adapter").freeze(opened("gpt2", tmp_path / "base").network)
    model = opened("gpt2", tmp_path / "base")
    Adapters(size=SIZE).attach(model.network, Randomness.reproducible(1))
    Adapters(size=SIZE).attach(model.network, Randomness.reproducible(1))
    assert len(adapters_of(model.network)) == PLACES["gpt2"]
    with pytest.raises(InvalidArgument, match="size=0"):
        Adapters(size=0)
    with pytest.raises(InvalidArgument, match="of size 3 already"):
        Adapters(size=SIZE + 1).attach(model.network, Randomness.reproducible(1))


def test_factors_beside_adapters_are_merged_and_both_are_saved(tmp_path: Path) -> None:
    model = opened("gpt2", tmp_path / "base")
    adapted(model)
    network: Any = Lora(rank=2).attach(model.network, Randomness.reproducible(3))
    for key, one in network.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(one)
    whole = LoadedModel(network, model.tokenizer, model.context)
    save_model(whole, tmp_path / "model")
    again = opened("gpt2", tmp_path / "model")
    torch.testing.assert_close(said(again.network), said(network), rtol=1e-4, atol=1e-5)
