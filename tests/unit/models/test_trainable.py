"""What is trained and what is frozen, for encoders and causal models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import BertModel, PreTrainedModel

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.lora import Lora
from sfumato.models.trainable import NetworkParts, Trainable
from sfumato.training.clipping.recording import Recording
from unit.models import folders

CLASSES = ("0", "1")
WIDTH = 16


def classifier(
    network: PreTrainedModel, folder: Path, seed: int = 1, write: Callable[..., Path] | None = None
) -> LoadedModel:
    writes = write or (
        folders.with_word_pieces
        if network.config.model_type in ("bert", "roberta")
        else folders.with_our_tokenizer
    )
    there = folder if folder.exists() else writes(network, folder)
    randomness = Randomness.reproducible(seed)
    return load_model(str(there), randomness=randomness, kind="classifier", classes=CLASSES)


def trained(network: PreTrainedModel) -> set[str]:
    return {name for name, one in network.named_parameters() if one.requires_grad}


def count(network: PreTrainedModel) -> int:
    return sum(one.numel() for one in network.parameters() if one.requires_grad)


@pytest.mark.parametrize(
    ("make", "numbers"),
    [
        # As Faustini et al.: pooler and classifier of BERT, last normalization and scores of GPT-2.
        (folders.bert, WIDTH * WIDTH + WIDTH + 2 * WIDTH + 2),
        (folders.gpt2, 2 * WIDTH + 2 * WIDTH),
        (folders.llama, WIDTH + 2 * WIDTH),
    ],
)
def test_the_head_is_what_stands_after_the_last_layer(
    make: Callable[[], PreTrainedModel], numbers: int, tmp_path: Path
) -> None:
    network = classifier(make(), tmp_path / "model").network
    assert Trainable.read("head").freeze(network)
    assert count(network) == numbers


def test_the_last_layers_come_with_the_head(tmp_path: Path) -> None:
    network = classifier(folders.gpt2(), tmp_path / "model").network
    Trainable.read("last:1").freeze(network)
    assert {name.split(".")[1] for name in trained(network)} == {"h", "ln_f", "weight"}
    assert all(".h.1." in name for name in trained(network) if ".h." in name)
    Trainable.read("last:2").freeze(network)
    assert any(".h.0." in name for name in trained(network))
    with pytest.raises(InvalidArgument, match="has 2 layers"):
        Trainable.read("last:3").freeze(network)


def test_frozen_parts_draw_nothing_and_the_rest_may(tmp_path: Path) -> None:
    for make in (folders.bert, folders.gpt2):
        model = classifier(make(), tmp_path / make.__name__)
        fixed = Trainable.read("last:1").freeze(model.network)
        ready = LoadedModel(model.network, model.tokenizer, model.context, CLASSES, (), fixed)
        network = ready.begin_training()
        training = {
            name
            for name, module in network.named_modules()
            if isinstance(module, torch.nn.Dropout) and module.training
        }
        last = NetworkParts.of(network).layers[-1]
        assert any(name.startswith(last) for name in training)
        assert not any("embeddings" in name or name.endswith(".drop") for name in training)


@pytest.mark.parametrize(
    "text",
    [
        "tail",
        "last",
        "last:0",
        "last:-1",
        "head:2",
        "",
        "last:x",
        "bias:2",
        "adapter:0",
        "adapter:",
        "adapter:x",
    ],
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"last:2"):
        Trainable.read(text)


def test_a_rank_alone_means_factors_and_fits_nothing_else() -> None:
    assert Trainable.choose(None, None).whole
    assert Trainable.choose(None, 4).rank(4) == 4
    assert Trainable.choose("lora", None).rank(None) == Lora().rank
    with pytest.raises(InvalidArgument, match="give one of them"):
        Trainable.choose("head", 4)


def test_a_head_that_is_the_embedding_cannot_be_trained_alone() -> None:
    with pytest.raises(InvalidArgument, match="has 2 layers"):
        Trainable.read("last:9").freeze(folders.gpt2())
    network = folders.gpt2()
    Trainable.read("head").freeze(network)
    # The scores are the input embedding, so only the last normalization is left.
    assert trained(network) == {"transformer.ln_f.weight", "transformer.ln_f.bias"}


def test_a_model_without_layers_is_told_so() -> None:
    model = load_model("lstm", randomness=Randomness.reproducible(1), settings={"hidden": 4})
    with pytest.raises(InvalidArgument, match="no list of layers"):
        Trainable.read("head").freeze(model.network)


def test_a_new_head_and_pooler_are_drawn_from_the_given_stream(tmp_path: Path) -> None:
    """Public randomness: the same seed gives the same weights, another one others."""
    bare = BertModel(folders.bert().config, add_pooling_layer=False)
    models = [classifier(bare, tmp_path / "model", seed) for seed in (1, 1, 2)]
    assert {"bert.pooler.dense.weight", "classifier.weight"} <= set(models[0].new)
    drawn = [
        [dict(one.network.named_parameters())[name] for name in models[0].new] for one in models
    ]
    assert all(bool(one.isfinite().all()) for one in drawn[0])
    assert all(torch.equal(*pair) for pair in zip(drawn[0], drawn[1], strict=True))
    assert not torch.equal(drawn[0][0], drawn[2][0]) or not torch.equal(drawn[0][1], drawn[2][1])


def test_factors_come_with_a_pooler_that_has_no_weights(tmp_path: Path) -> None:
    bare = BertModel(folders.bert().config, add_pooling_layer=False)
    model = classifier(bare, tmp_path / "bare")
    names = trained(Lora(rank=2).attach(model.network, Randomness.reproducible(1), model.new))  # type: ignore[arg-type]
    assert any("pooler" in name for name in names)
    whole = classifier(folders.bert(), tmp_path / "whole")
    names = trained(Lora(rank=2).attach(whole.network, Randomness.reproducible(1), whole.new))  # type: ignore[arg-type]
    assert not any("pooler" in name for name in names)


@pytest.mark.parametrize("make", [folders.bert, folders.gpt2])
def test_biases_come_with_the_head_and_with_what_was_drawn(
    make: Callable[[], PreTrainedModel], tmp_path: Path
) -> None:
    model = classifier(make(), tmp_path / "model")
    assert Trainable.read("bias").freeze(model.network, model.new) == ()
    every = {name for name, one in model.network.named_parameters() if name.endswith(".bias")}
    head = {name for name in trained(model.network) if name.startswith(("score", "classifier"))}
    assert head
    assert every <= trained(model.network)
    assert trained(model.network) == every | head | set(model.new)


def test_biases_of_a_language_model_and_of_small_networks() -> None:
    network = folders.masked_bert()
    Trainable.read("bias").freeze(network)
    assert trained(network)
    assert all(name.endswith("bias") for name in trained(network))
    lstm = load_model("lstm", randomness=Randomness.reproducible(1), settings={"hidden": 4}).network
    Trainable.read("bias").freeze(lstm)
    assert trained(lstm) == {"lstm.bias_ih_l0", "lstm.bias_hh_l0", "decoder.bias"}
    options = {"kind": "classifier", "classes": CLASSES, "settings": {"embedding": 4}}
    for name in ("cnn", "bag-of-words"):
        small = load_model(name, randomness=Randomness.reproducible(1), **options).network  # type: ignore[arg-type]
        if name == "cnn":
            Trainable.read("bias").freeze(small)
            assert not any("convolutions" in one and "weight" in one for one in trained(small))
            assert {"classifier.weight", "convolutions.3.bias"} <= trained(small)
        else:  # nothing but the head has one
            with pytest.raises(InvalidArgument, match="no biases before its head"):
                Trainable.read("bias").freeze(small)


def test_a_network_without_biases_is_told_so(tmp_path: Path) -> None:
    for network in (folders.llama(), classifier(folders.llama(), tmp_path / "model").network):
        with pytest.raises(InvalidArgument, match=r"no biases before its head.*'lora'"):
            Trainable.read("bias").freeze(network)


def test_what_enters_a_layer_is_not_kept_if_only_biases_are_trained() -> None:
    """Of the inputs of linear layers nothing is saved for the backward pass; a twin saves all."""

    def kept(part: str) -> int:
        network = folders.gpt2()
        Trainable.read(part).freeze(network)
        recording, sizes = Recording(network.train()), []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda one: sizes.append(one.numel() * (one.shape[-1] == 4 * WIDTH)) or one,  # type: ignore[func-returns-value]
            lambda one: one,
        ):
            network(input_ids=torch.arange(1, 9)[None])
        recording.close()
        return sum(sizes)

    # GPT-2's feed-forward part multiplies by what is four times as wide; gelu keeps its own input.
    assert kept("bias") < kept("all")
