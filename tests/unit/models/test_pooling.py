"""What a head reads of a text: tried on real networks, against a loop over single texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from sfumato.attacks.model_target import ModelTarget, make_untrained_twin
from sfumato.core.errors import BadInput, CoupledRows, InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.models import pooling
from sfumato.models.load import LoadedModel, load_model, save_model
from sfumato.models.lora import Lora
from sfumato.models.pooling import FIRST, KEY, LAST, MEAN, POOLINGS, STATED_IN, Pooling, pool
from sfumato.models.trainable import Trainable
from sfumato.text.document import Document
from sfumato.training import features
from sfumato.training.batches import physical_batches
from sfumato.training.clipping.recording import Recording
from sfumato.training.features import HeadFeatures
from sfumato.training.records import Cut, TokenRecords, make_labeled_records
from sfumato.training.row_losses import row_losses
from unit.models import folders

MAKES: dict[str, Callable[[], PreTrainedModel]] = {
    "bert": folders.bert,
    "gpt2": folders.gpt2,
    "llama": folders.llama,
}
OWN = {"bert": FIRST, "gpt2": LAST, "llama": LAST}
TEXTS = ["the film was good", "bad", "the film was badly a film", "good good", "a", "the bad film"]
DOCUMENTS = [Document(text, labels=(str(place % 2),)) for place, text in enumerate(TEXTS)]
CLASSES = ("0", "1")


def written(name: str, folder: Path, says: dict[str, Any] | None = None) -> Path:
    there = folder / name
    write = folders.with_word_pieces if name == "bert" else folders.with_our_tokenizer
    write(MAKES[name](), there)
    if says is not None:
        (there / STATED_IN).parent.mkdir()
        (there / STATED_IN).write_text(json.dumps(says))
    return there


def loaded(folder: Path, how: str | None = None, seed: int = 4) -> LoadedModel:
    return load_model(
        str(folder),
        randomness=Randomness.reproducible(seed),
        kind="classifier",
        classes=CLASSES,
        pooling=how,
    )


def made(name: str, folder: Path, how: str | None, trainable: str = "all") -> LoadedModel:
    model = loaded(written(name, folder), how)
    if trainable == "lora":
        adapted: Any = Lora(rank=2).attach(model.network, Randomness.reproducible(5), model.new)
        model = replace(model, network=adapted)
    else:
        model = replace(model, fixed=Trainable.read(trainable).freeze(model.network))
    model.network.eval()
    return model


def records_of(model: LoadedModel, documents: list[Document] = DOCUMENTS) -> TokenRecords:
    cut = Cut(context=16, long="truncate")
    return make_labeled_records(documents, model.tokenizer, cut, model.classes)


def scores(model: LoadedModel, documents: list[Document] = DOCUMENTS) -> Tensor:
    records = records_of(model, documents)
    ((rows,),) = physical_batches(records, range(len(records)), most_tokens=1000)
    found = torch.empty(len(records), len(CLASSES))
    with torch.no_grad():
        found[rows.owner] = model.network.eval()(**rows.inputs()).logits
    return found


def last_states(name: str, network: Any, tokens: Tensor) -> Tensor:
    """What the last layer says of one text."""
    inner = network.base_model
    last = {"bert": lambda: inner.encoder.layer, "gpt2": lambda: inner.h}.get(
        name, lambda: inner.layers
    )()[-1]
    said: list[Any] = []
    hook = last.register_forward_hook(lambda *heard: said.append(heard[2]))
    network(input_ids=tokens)
    hook.remove()
    found: Tensor = said[0][0] if isinstance(said[0], tuple) else said[0]
    return found


def by_hand(name: str, model: LoadedModel, how: str) -> Tensor:
    """Each text alone, without padding: its states, what is read of them, and the head."""
    network: Any = model.network
    inner = network.base_model
    found = []
    for document in DOCUMENTS:
        tokens = torch.from_numpy(records_of(model, [document]).tokens.astype("int64"))[None]
        with torch.no_grad():
            states = last_states(name, network, tokens)
            one = {FIRST: states[:, 0], LAST: states[:, -1], MEAN: states.mean(1)}[how]
            if name == "bert":
                said = network.classifier(inner.pooler(one[:, None]))
            else:
                said = network.score((inner.ln_f if name == "gpt2" else inner.norm)(one))
        found.append(said[0])
    return torch.stack(found)


@pytest.mark.parametrize("how", POOLINGS)
@pytest.mark.parametrize("name", list(MAKES))
def test_the_head_reads_what_was_asked_for(name: str, how: str, tmp_path: Path) -> None:
    """In a padded batch, as for each text alone; two ways never agree."""
    model = made(name, tmp_path, how)
    assert model.pooling == how
    found = scores(model)
    own = made(name, tmp_path / "own", None)
    own.network.load_state_dict(model.network.state_dict())  # the same weights under the same names
    expected = {one: by_hand(name, own, one) for one in POOLINGS}
    apart = {one: float((found - expected[one]).abs().max()) for one in POOLINGS}
    assert apart[how] < 1e-5
    assert min(apart[one] for one in POOLINGS if one != how) > 1e-4


def padded_gradients(model: LoadedModel) -> list[dict[str, Tensor]]:
    records = records_of(model)
    ((rows,),) = physical_batches(records, range(len(records)), most_tokens=1000)
    recording = Recording(model.network)
    try:
        losses = row_losses(model.network, rows.inputs(), rows.labels, rows.weights)
        found = recording.gradients(recording.backward(losses, rows.owner))
        # Records of a batch stand in the order of their numbers.
        return [
            {name: one[place].clone() for name, one in found.items()}
            for place in range(len(records))
        ]
    finally:
        recording.close()


def single_gradients(model: LoadedModel) -> list[dict[str, Tensor]]:
    """A loop: each text by itself, no padding, torch's own gradients."""
    found = []
    trained = {name: one for name, one in model.network.named_parameters() if one.requires_grad}
    for document in DOCUMENTS:
        records = records_of(model, [document])
        ((rows,),) = physical_batches(records, range(1), most_tokens=1000)
        assert bool(rows.attention_mask.all())
        losses = row_losses(model.network, rows.inputs(), rows.labels, rows.weights)
        values = torch.autograd.grad(losses.sum(), list(trained.values()), allow_unused=True)
        found.append(
            {
                name: torch.zeros_like(one) if value is None else value
                for (name, one), value in zip(trained.items(), values, strict=True)
            }
        )
    return found


def furthest(model: LoadedModel) -> float:
    """How far gradients in a padded batch are from those of the loop, relative to the largest."""
    naive, found = single_gradients(model), padded_gradients(model)
    largest = max(float(one.abs().max()) for each in naive for one in each.values())
    assert all(one.keys() == other.keys() for one, other in zip(naive, found, strict=True))
    return max(
        float((one[name] - other[name]).abs().max())
        for one, other in zip(naive, found, strict=True)
        for name in one
    ) / largest  # fmt: skip


@pytest.mark.parametrize(
    ("name", "trainable"),
    [("bert", "all"), ("bert", "head"), ("bert", "lora"), ("gpt2", "last:1"), ("llama", "all")],
)
def test_gradients_of_records_are_those_of_a_loop(
    name: str, trainable: str, tmp_path: Path
) -> None:
    assert furthest(made(name, tmp_path, MEAN, trainable)) < 1e-4


def test_a_mean_that_counts_padding_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sabotage: every place counts, padding too."""
    monkeypatch.setattr(
        pooling, "pool", lambda states, counted, how: pool(states, torch.ones_like(counted), how)
    )
    assert furthest(made("bert", tmp_path, MEAN, "head")) > 1e-2


@pytest.mark.usefixtures("compared_rows")
def test_a_mean_over_records_is_caught_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sabotage: a row also reads what the others say. Neither loop nor training let that pass."""
    monkeypatch.setattr(
        pooling, "pool", lambda *given: pool(*given) + 0.1 * pool(*given).mean(0, keepdim=True)
    )
    model = made("bert", tmp_path, MEAN, "head")
    assert HeadFeatures.of(model, records_of(model)) is None
    with pytest.raises(CoupledRows):
        padded_gradients(model)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_features_of_frozen_layers_are_pooled(name: str, tmp_path: Path) -> None:
    model = made(name, tmp_path, MEAN, "head")
    records = records_of(model)
    kept = HeadFeatures.of(model, records)
    assert kept is not None
    with torch.no_grad():
        alone = kept.head(kept.values).logits
    assert torch.allclose(alone, scores(model), atol=1e-5)
    # Sabotage: features of the same layers that another head reads.
    other = made(name, tmp_path / "other", OWN[name], "head")
    other.network.load_state_dict(model.network.state_dict())
    wrong = HeadFeatures.of(other, records)
    assert wrong is not None
    assert features._identity(kept.head, records) != features._identity(wrong.head, records)
    with torch.no_grad():
        assert not torch.allclose(kept.head(wrong.values).logits, alone, atol=1e-4)


@pytest.mark.parametrize(
    ("says", "read"),
    [
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, MEAN),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, FIRST),
        ({"pooling_mode_lasttoken": True}, LAST),
        ({"pooling_mode": "mean"}, MEAN),
        ({"pooling_mode_max_tokens": True}, ""),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, ""),
        ({"pooling_mode": "weightedmean"}, ""),
        ({}, ""),
    ],
)
def test_the_folder_of_an_encoder_says_how(says: dict[str, Any], read: str, tmp_path: Path) -> None:
    there = written("bert", tmp_path, says)
    assert loaded(there).pooling == read
    assert loaded(there, LAST).pooling == LAST  # what is asked for comes first


def test_a_damaged_folder_is_named(tmp_path: Path) -> None:
    there = written("bert", tmp_path, {})
    (there / STATED_IN).write_text("[1]")
    with pytest.raises(BadInput, match="pooling of a sentence encoder"):
        loaded(there)
    ours = tmp_path / "ours"
    save_model(loaded(written("bert", tmp_path / "b"), MEAN), ours)
    config = json.loads((ours / "config.json").read_text()) | {KEY: "median"}
    (ours / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadInput, match="damaged"):
        load_model(str(ours), randomness=Randomness.reproducible(1), kind="classifier")


@pytest.mark.parametrize("trainable", ["head", "lora"])
def test_it_is_saved_with_the_model(trainable: str, tmp_path: Path) -> None:
    model = made("bert", tmp_path, MEAN, trainable)
    save_model(model, tmp_path / "saved")
    again = load_model(
        str(tmp_path / "saved"), randomness=Randomness.reproducible(1), kind="classifier"
    )
    assert again.pooling == MEAN
    assert torch.allclose(scores(again), scores(model), atol=1e-5)
    # Sabotage: a folder that lost it gives other scores.
    config = json.loads((tmp_path / "saved/config.json").read_text())
    assert config.pop(KEY) == MEAN
    (tmp_path / "saved/config.json").write_text(json.dumps(config))
    lost = load_model(
        str(tmp_path / "saved"), randomness=Randomness.reproducible(1), kind="classifier"
    )
    assert not torch.allclose(scores(lost), scores(model), atol=1e-4)


def test_copies_and_untrained_twins_read_the_same(tmp_path: Path) -> None:
    model = made("bert", tmp_path, MEAN)
    copied = replace(model, network=deepcopy(model.network))
    assert torch.equal(scores(copied), scores(model))
    hooks: list[Any] = [
        getattr(hook, "__self__")  # noqa: B009  # of a bound method
        for network in (model.network, copied.network)
        for hook in network.base_model._forward_pre_hooks.values()
    ]
    assert len(set(map(id, hooks))) == 2  # neither notes what the other one reads
    assert all(isinstance(hook, Pooling) and hook._counted is None for hook in hooks)
    twin = make_untrained_twin(ModelTarget(model, "x"), Randomness.reproducible(3)).model
    twin.network.load_state_dict(model.network.state_dict())
    assert torch.allclose(scores(twin), scores(model), atol=1e-5)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    there = written("bert", tmp_path)
    with pytest.raises(UnknownName, match="first, last, mean"):
        loaded(there, "median")
    with pytest.raises(InvalidArgument, match="a language model reads every token"):
        load_model("gpt-small", randomness=Randomness.reproducible(1), pooling=MEAN)
    trained = folders.with_word_pieces(folders.bert_classifier(["0", "1"]), tmp_path / "trained")
    assert loaded(trained).pooling == ""
    assert loaded(trained, FIRST).pooling == ""
    with pytest.raises(InvalidArgument, match="trained on first"):
        loaded(trained, MEAN)
    network: Any = loaded(there, MEAN).network
    with pytest.raises(InvalidArgument, match="attention mask"):
        network(input_ids=torch.ones(2, 3, dtype=torch.long), attention_mask=torch.ones(2, 1, 3, 3))


def test_an_error_in_a_call_leaves_no_lengths_behind(tmp_path: Path) -> None:
    network: Any = loaded(written("bert", tmp_path), MEAN).network
    with pytest.raises(IndexError):
        network(input_ids=torch.full((1, 3), 10**6), attention_mask=torch.ones(1, 3))
    (hook,) = network.base_model._forward_pre_hooks.values()
    assert hook.__self__._counted is None
