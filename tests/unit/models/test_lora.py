"""LoRA: only the factors learn, the start is the base model, and merging changes nothing."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertForSequenceClassification, PreTrainedModel

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.bpe import default_tokenizer
from sfumato.models.load import LoadedModel, load_model, save_model
from sfumato.models.lora import Lora, is_adapted, merge_adapter
from unit.models import folders

MODELS: dict[str, Any] = {
    "gpt2": folders.gpt2,
    "llama": folders.llama,
    "bert": lambda: folders.bert(BertForSequenceClassification),
}
TOKENS = torch.tensor([[5, 6, 7, 8, 9, 10]])


def attached(network: PreTrainedModel, lora: Lora | None = None) -> Any:
    return (lora or Lora(rank=2)).attach(network, Randomness.reproducible(3))


def logits(network: Any) -> torch.Tensor:
    with torch.no_grad():
        output: torch.Tensor = network.eval()(input_ids=TOKENS).logits
    return output


def trainable(network: Any) -> list[str]:
    return [name for name, one in network.named_parameters() if one.requires_grad]


def train_a_little(network: Any) -> None:
    network.train()
    optimizer = torch.optim.SGD([one for one in network.parameters() if one.requires_grad], lr=1.0)
    for _ in range(3):
        optimizer.zero_grad()
        network(input_ids=TOKENS).logits.square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_only_the_factors_learn(name: str) -> None:
    base = MODELS[name]()
    network = attached(deepcopy(base))
    names = trainable(network)
    assert names
    assert all(".lora_A." in one or ".lora_B." in one for one in names)
    assert torch.allclose(logits(network), logits(base), atol=1e-6)
    train_a_little(network)
    before = dict(base.named_parameters())
    for full, now in network.named_parameters():
        if full not in names:
            plain = full.removeprefix("base_model.model.").replace(".base_layer", "")
            assert torch.equal(now, before[plain])
    assert not torch.allclose(logits(network), logits(base), atol=1e-4)


@pytest.mark.parametrize(
    ("name", "ends"),
    [("gpt2", {"c_attn"}), ("llama", {"q_proj", "v_proj"}), ("bert", {"query", "value"})],
)
def test_the_usual_layers_are_adapted(name: str, ends: set[str]) -> None:
    factors = [one for one in trainable(attached(MODELS[name]())) if "lora_" in one]
    assert {one.split(".lora_")[0].rpartition(".")[2] for one in factors} == ends


def test_a_classifiers_head_learns_too() -> None:
    network = attached(MODELS["bert"]())
    others = [one for one in trainable(network) if "lora_" not in one]
    assert others
    assert all(".classifier." in one for one in others)


@pytest.mark.parametrize("name", MODELS)
def test_merging_changes_nothing_and_leaves_the_original(name: str) -> None:
    network = attached(MODELS[name](), Lora(rank=3, alpha=6))
    train_a_little(network)
    plain = merge_adapter(network)
    assert is_adapted(network)
    assert not is_adapted(plain)
    assert type(plain) is type(MODELS[name]())
    assert torch.allclose(logits(plain), logits(network), atol=1e-5)
    assert not any("lora" in one for one, _ in plain.named_parameters())


def test_rank_and_alpha_are_those_given() -> None:
    network = attached(folders.gpt2(), Lora(rank=5, alpha=10))
    layer = network.base_model.model.transformer.h[0].attn.c_attn
    assert layer.lora_A.default.weight.shape == (5, 16)
    assert layer.scaling["default"] == 2.0


def test_targets_are_chosen_by_the_ends_of_names() -> None:
    network = attached(folders.llama(), Lora(rank=2, targets=("mlp.down_proj", "o_proj")))
    layers = {one.split(".lora_")[0].rpartition(".")[2] for one in trainable(network)}
    assert layers == {"down_proj", "o_proj"}
    with pytest.raises(InvalidArgument, match=r"targets='c_attn' fits no layer.*q_proj"):
        attached(folders.llama(), Lora(targets=("c_attn",)))


def test_the_output_layer_learns_when_asked_and_it_is_not_the_input() -> None:
    network = attached(folders.llama(), Lora(rank=2, head=True))
    assert [one for one in trainable(network) if "lora_" not in one] == [
        "base_model.model.lm_head.modules_to_save.default.weight"
    ]
    with pytest.raises(InvalidArgument, match="is its input embedding"):
        attached(folders.llama(tied=True), Lora(head=True))
    with pytest.raises(InvalidArgument, match="is its input embedding"):
        attached(folders.gpt2(), Lora(head=True))


def test_a_model_without_linear_layers_is_refused() -> None:
    lstm = load_model("lstm", randomness=Randomness.secure()).network
    with pytest.raises(InvalidArgument, match="'sfumato-lstm'"):
        attached(lstm)


def test_factors_follow_from_the_stream() -> None:
    one, two = (attached(folders.gpt2()) for _ in range(2))
    other = Lora(rank=2).attach(folders.gpt2(), Randomness.secure())
    drawn = [
        next(value for name, value in network.named_parameters() if "lora_A" in name)
        for network in (one, two, other)
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_an_adapted_model_is_saved_as_a_plain_one(tmp_path: Path) -> None:
    network = attached(folders.gpt2())
    train_a_little(network)
    save_model(LoadedModel(network, default_tokenizer(), 32), tmp_path / "model")
    again = load_model(str(tmp_path / "model"), randomness=Randomness.secure())
    assert torch.allclose(logits(again.network), logits(network), atol=1e-5)


@pytest.mark.parametrize("settings", [{"rank": 0}, {"alpha": 0}, {"dropout": 2}])
def test_impossible_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=f"{next(iter(settings))}="):
        Lora(**settings)


@pytest.mark.resources
def test_a_real_model_is_adapted(resources: Path) -> None:
    model = load_model(str(resources / "models" / "stories15m"), randomness=Randomness.secure())
    before = logits(model.network)
    network = attached(model.network, Lora(rank=4))
    assert torch.allclose(logits(network), before, atol=1e-5)
    learning = sum(one.numel() for one in network.parameters() if one.requires_grad)
    assert learning == 6 * 2 * 4 * (288 + 288)
