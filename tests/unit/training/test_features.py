"""A head on features that were computed once has the gradients of the whole network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from sfumato.core.errors import CoupledRows
from sfumato.core.randomness import Randomness
from sfumato.models.head import HeadOnly
from sfumato.models.load import LoadedModel, draw_weights_from, load_model
from sfumato.models.pooling import FIRST, LAST
from sfumato.models.trainable import NetworkParts, Trainable
from sfumato.text.document import Document
from sfumato.training import features
from sfumato.training.batches import physical_batches
from sfumato.training.checkpoints import Checkpoint
from sfumato.training.clipping.recording import Recording
from sfumato.training.evaluation import each_row
from sfumato.training.features import HeadFeatures
from sfumato.training.keeping import keep_features
from sfumato.training.loop import Progress, fit
from sfumato.training.plan import Plan
from sfumato.training.records import Cut, TokenRecords, make_labeled_records
from sfumato.training.row_losses import row_losses
from sfumato.training.settings import Course
from sfumato.training.stages import Stage
from unit.models import folders
from unit.training.runs import Killed, new_folder, small_plan

MAKES: dict[str, tuple[Callable[[], PreTrainedModel], str]] = {
    "bert": (folders.bert, FIRST),
    "gpt2": (folders.gpt2, LAST),
    "llama": (folders.llama, LAST),
}
TEXTS = ["the film was good", "bad", "the film was badly a film", "good good", "a", "the bad film"]
DOCUMENTS = [Document(text, labels=(str(place % 2),)) for place, text in enumerate(TEXTS)]


def head_of(name: str, folder: Path) -> tuple[LoadedModel, TokenRecords]:
    make = MAKES[name][0]
    write = folders.with_word_pieces if name == "bert" else folders.with_our_tokenizer
    there = folder / name
    model = load_model(
        str(there if there.exists() else write(make(), there)),
        randomness=Randomness.reproducible(4),
        kind="classifier",
        classes=("0", "1"),
    )
    model = replace(model, fixed=Trainable.read("head").freeze(model.network))
    cut = Cut(context=16, long="truncate")
    return model, make_labeled_records(DOCUMENTS, model.tokenizer, cut, model.classes)


def gradients(
    network: Any, records: TokenRecords, inputs: Callable[[Any], dict[str, Any]]
) -> dict[str, Tensor]:
    """The gradient of every record, by the last parts of its parameter's name."""
    ((rows,),) = physical_batches(records, range(len(records)), most_tokens=1000)
    recording = Recording(network)
    try:
        with draw_weights_from(Randomness.reproducible(9)):
            losses = row_losses(network, inputs(rows), rows.labels, rows.weights)
            of = recording.backward(losses, rows.owner)
        found = recording.gradients(of)
    finally:
        recording.close()
    return {name.removeprefix("network."): one.clone() for name, one in found.items()}


def apart(model: LoadedModel, records: TokenRecords, kept: HeadFeatures) -> float:
    """How far the gradients of both ways are apart, relative to the largest number in them."""
    whole = gradients(model.begin_training(), records, lambda rows: rows.inputs())
    model.begin_training()
    alone = gradients(
        kept.head, records, lambda rows: kept.inputs(rows, torch.arange(len(rows.owner)))
    )
    assert whole.keys() == alone.keys()
    largest = max(float(one.abs().max()) for one in whole.values())
    return max(float((whole[name] - alone[name]).abs().max()) for name in whole) / largest


@pytest.mark.parametrize("name", list(MAKES))
def test_both_ways_give_the_same_gradients(name: str, tmp_path: Path) -> None:
    model, records = head_of(name, tmp_path)
    kept = HeadFeatures.of(model, records)
    assert kept is not None
    assert kept.head.place == MAKES[name][1]
    assert apart(model, records, kept) < 1e-4


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_features_of_another_place_are_caught(name: str, tmp_path: Path) -> None:
    """Sabotage: the head is given what the last layer says at the other end of the row."""
    model, records = head_of(name, tmp_path)
    other = LAST if MAKES[name][1] == FIRST else FIRST
    head = HeadOnly(model.network, NetworkParts.of(model.network), other)
    assert not head.is_faithful()
    wrong = HeadFeatures(head, features.compute_features(head, records))
    assert apart(model, records, wrong) > 1e-2


def test_features_under_dropout_are_not_kept(tmp_path: Path) -> None:
    """Sabotage: frozen layers in training mode are another function in every epoch."""
    model, records = head_of("bert", tmp_path)
    loose = replace(model, fixed=("classifier",))
    assert HeadFeatures.of(loose, records) is None
    kept = HeadFeatures.of(model, records)
    assert kept is not None
    assert apart(loose, records, kept) > 1e-2


def test_features_are_not_kept_if_more_is_trained(tmp_path: Path) -> None:
    model, records = head_of("gpt2", tmp_path)
    more = replace(model, fixed=Trainable.read("last:1").freeze(model.network))
    assert HeadFeatures.of(more, records) is None
    assert HeadFeatures.of(replace(model, fixed=()), records) is None


def test_too_many_features_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, records = head_of("gpt2", tmp_path)
    monkeypatch.setattr(features, "MOST_NUMBERS", 10)
    assert HeadFeatures.of(model, records) is None


def test_features_are_computed_again_for_other_rows_or_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, records = head_of("gpt2", tmp_path)
    first = HeadFeatures.of(model, records)
    assert first is not None
    monkeypatch.setattr(features, "compute_features", lambda *_: torch.zeros(6, 16))
    again = HeadFeatures.of(*head_of("gpt2", tmp_path))
    assert again is not None
    assert again.values is first.values
    with torch.no_grad():
        next(iter(model.network.parameters()))[5] += 1  # a frozen embedding
    other = HeadFeatures.of(model, records)
    assert other is not None
    assert not other.values.any()
    heads = head_of("gpt2", tmp_path)[0]
    layers: list[Any] = list(heads.network.modules())
    for one in layers:
        if hasattr(one, "num_heads"):  # the same weights, read by one head instead of two
            one.num_heads, one.head_dim = 1, 16
    heads.network.config.n_head = 1
    otherwise = HeadFeatures.of(heads, records)
    assert otherwise is not None
    assert not otherwise.values.any()
    changed = replace(records, tokens=records.tokens[::-1])
    another = HeadFeatures.of(head_of("gpt2", tmp_path)[0], changed)
    assert another is not None
    assert not another.values.any()


@pytest.mark.parametrize("name", list(MAKES))
def test_training_comes_to_the_same_weights(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained() -> dict[str, Tensor]:
        model, records = head_of(name, tmp_path)
        before = {key: one.clone() for key, one in model.network.named_parameters()}
        stage = Stage(steps=4, batch_size=3, noise_multiplier=0.5)
        plan = Plan(units=len(records), stages=(stage,), delta=1e-3, accountant="rdp")
        course = Course(learning_rate=0.1, optimizer="sgd")
        fit(model, records, plan, course, randomness=Randomness.reproducible(2))
        after = dict(model.network.named_parameters())
        moved = {key for key in after if not torch.equal(before[key], after[key])}
        assert moved == {key for key, one in after.items() if one.requires_grad}
        return {key: after[key].detach() for key in moved}

    quick = trained()
    monkeypatch.setattr(features.HeadFeatures, "of", lambda *_: None)
    slow = trained()
    for key, one in quick.items():
        assert np.allclose(one.numpy(), slow[key].numpy(), atol=1e-4), key


def couple_rows(model: LoadedModel) -> None:
    """Every row of a batch is moved by the mean of all, as by batch normalization."""

    def moved(*heard: Any) -> Any:
        said = heard[2][0] if isinstance(heard[2], tuple) else heard[2]
        said = said - said.detach().mean(0, keepdim=True)
        return (said, *heard[2][1:]) if isinstance(heard[2], tuple) else said

    model.network.get_submodule(NetworkParts.of(model.network).layers[0]).register_forward_hook(
        moved
    )


@pytest.mark.usefixtures("compared_rows")
def test_frozen_layers_that_mix_rows_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, records = head_of("gpt2", tmp_path)
    couple_rows(model)
    plan = Plan(units=len(records), stages=(Stage(steps=4, batch_size=6, noise_multiplier=0.5),))
    with pytest.raises(CoupledRows):
        fit(model, records, plan, randomness=Randomness.reproducible(2))
    # Sabotage: with features of all rows together, training itself has nothing to notice.
    monkeypatch.setattr(features, "_refuse_coupled", lambda *_: None)
    fit(model, records, plan, randomness=Randomness.reproducible(2))


@pytest.mark.parametrize("sabotaged", [False, True])
def test_a_resumed_run_has_the_features_of_its_own_frozen_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, sabotaged: bool
) -> None:
    """A model without pretrained weights is drawn again in a new process, and comes out otherwise.

    Sabotage: features are computed before the weights of the checkpoint are there.
    """
    used: list[HeadFeatures] = []
    real = features.HeadFeatures.of

    def noted(model: LoadedModel, records: TokenRecords) -> HeadFeatures | None:
        found = real(model, records)
        assert found is not None
        used.append(found)
        return found

    monkeypatch.setattr(features.HeadFeatures, "of", noted)
    if sabotaged:
        monkeypatch.setattr(Checkpoint, "restore_weights", lambda *_: None)
    plan = small_plan(steps=6, units=len(TEXTS), batch_size=3)
    folder = new_folder(tmp_path / "run")

    def begun(watch: Callable[[Progress], None] | None = None) -> TokenRecords:
        model = load_model(
            "gpt-small",
            randomness=Randomness.secure(),
            kind="classifier",
            classes=("0", "1"),
            settings={"layers": 1, "width": 16, "heads": 2, "context": 16},
        )
        model = replace(model, fixed=Trainable.read("head").freeze(model.network))
        cut = Cut(context=16, long="truncate")
        records = make_labeled_records(DOCUMENTS, model.tokenizer, cut, model.classes)
        course = Course(checkpoint_every=2)
        fit(
            model, records, plan, course, randomness=Randomness.secure(), folder=folder, watch=watch
        )
        return records

    def kill(now: Progress) -> None:
        if now.step == 3:
            raise Killed

    with pytest.raises(Killed):
        begun(kill)
    records = begun()
    own = features.compute_features(used[-1].head, records)
    assert np.allclose(used[-1].values.numpy(), own.numpy(), atol=1e-4) is not sabotaged


def read(model: LoadedModel, records: TokenRecords) -> Tensor:
    """The scores of every record."""
    found = torch.zeros(len(records), len(model.classes))
    for record, scores, _ in each_row(model, records):
        found[record] = scores
    return found


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_models_with_the_same_layers_read_a_text_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, records = head_of(name, tmp_path)
    apart_from = {one: value.clone() for one, value in model.network.state_dict().items()}
    asked: list[int] = []
    compute = features.compute_features

    def count(*given: Any) -> Tensor:
        asked.append(1)
        return compute(*given)

    monkeypatch.setattr(features, "compute_features", count)
    monkeypatch.setattr(features, "_KEPT", type(features._KEPT)())
    alone = read(model, records)
    assert not asked  # nothing is kept unless it is asked for
    trained = [one for one in model.network.parameters() if one.requires_grad]
    with keep_features():
        assert torch.allclose(read(model, records), alone, atol=1e-5)
        with torch.no_grad():
            for one in trained:
                one.add_(0.1)
        again = read(model, records)
        assert len(asked) == 1  # another head on the same layers
        assert not torch.allclose(again, alone, atol=1e-3)
    assert torch.allclose(again, read(model, records), atol=1e-5)
    # Other layers, other features: the head is as before, and one weight before it has changed.
    model.network.load_state_dict(apart_from)
    with torch.no_grad():
        model.network.get_input_embeddings().weight.mul_(-3)  # type: ignore[operator]
    with keep_features():
        changed = read(model, records)
    assert len(asked) == 2
    assert torch.allclose(changed, read(model, records), atol=1e-7)
    assert not torch.allclose(changed, alone, atol=1e-6, rtol=0)
