"""Every model that can be built or brought can be trained privately: clipped, and all of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato import catalog
from sfumato.core.randomness import Randomness
from sfumato.models.kinds import kind_of
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.lora import Lora
from sfumato.models.sentinels import sentinels_of
from sfumato.text.document import Document
from sfumato.training.batches import physical_batches
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.losses import record_losses
from sfumato.training.objectives import (
    ObjectiveName,
    choose_objective,
    make_objective,
    new_tokenizer,
)
from sfumato.training.records import (
    Cut,
    TokenRecords,
    make_labeled_records,
    make_language_records,
    make_objective_records,
)
from sfumato.training.steps import make_private
from unit.models import folders

BOUND = 0.01
CLASSES = ("bad", "good")
SIZES: dict[str, dict[str, object]] = {
    "bag-of-words": {"embedding": 8},
    "bilstm": {"embedding": 8, "hidden": 6},
    "cnn": {"embedding": 8, "filters": 6},
    "lstm": {"hidden": 16, "embedding": 16},
    "gpt-small": {"layers": 1, "width": 16, "heads": 2, "context": 32},
    "bert-small": {"layers": 1, "width": 16, "heads": 2, "context": 32},
    "t5-small-from-scratch": {"layers": 1, "width": 16, "heads": 2, "inner": 16, "context": 32},
}
BROUGHT: dict[str, Callable[[], Any]] = {
    "gpt2": folders.gpt2,
    "llama": folders.llama,
    "llama-tied": lambda: folders.llama(tied=True),
    "bert": folders.bert,
    "bert-masked": folders.masked_bert,
    "t5": folders.t5,
}


def built(name: str) -> LoadedModel:
    kind = kind_of(name)
    objective = choose_objective(None, kind)
    return load_model(
        name,
        randomness=Randomness.reproducible(1),
        kind=kind,
        classes=CLASSES if kind == "classifier" else (),
        tokenizer=new_tokenizer(name, None, objective),
        settings=SIZES.get(name),
    )


def brought(name: str, folder: Path) -> LoadedModel:
    if name.startswith("bert"):
        spec = folders.with_word_pieces(BROUGHT[name](), folder)
    else:
        spec = folders.with_our_tokenizer(BROUGHT[name](), folder)
    options: dict[str, Any] = {"kind": kind_of(str(spec))}
    if name == "bert":
        options = {"kind": "classifier", "classes": CLASSES}
    return load_model(str(spec), randomness=Randomness.reproducible(1), **options)


def one_long_record(model: LoadedModel) -> TokenRecords:
    documents = [Document("the film was good and then bad " * 9, labels=("good",))]
    if model.classes:
        cut = Cut(context=16, long="truncate")
        return make_labeled_records(documents, model.tokenizer, cut, CLASSES)
    # T5's own tokenizer has sentinels, that of this folder has none.
    asked = ObjectiveName("prefix") if not sentinels_of(model.tokenizer) else None
    objective = make_objective(model, asked if model.kind == "seq2seq" else None)
    if objective is None:
        return make_language_records(documents, model.tokenizer, Cut(context=16))
    made = make_objective_records(documents, model.tokenizer, Cut(context=16), objective)
    return made.drawn([0], Randomness.reproducible(4))[0]


def step(model: LoadedModel, network: Any, *, clip_norm: float, most_tokens: int) -> dict[str, Any]:
    """The private gradient of each parameter, without noise, when a step was taken with it."""
    optimizer = torch.optim.SGD([one for _, one in _learning(network)], lr=1.0)
    private = make_private(
        network.train(),
        optimizer,
        clipper=Flat(clip_norm=clip_norm),
        noise_multiplier=0.0,
        expected_batch_size=1,
        randomness=Randomness.reproducible(2),
    )
    (group,) = physical_batches(one_long_record(model), [0], most_tokens=most_tokens)
    with private.one_record():
        for batch in group:
            logits = network(**batch.inputs()).logits
            private.backward(record_losses(logits, batch.labels, divisor=1) * batch.weights)
    private.step()
    private.close()
    return {name: one.grad for name, one in _learning(network)}


def _learning(network: Any) -> list[tuple[str, Any]]:
    return [(name, one) for name, one in network.named_parameters() if one.requires_grad]


def norm(gradients: dict[str, Any]) -> float:
    return float(
        torch.stack([one.double().square().sum() for one in gradients.values()]).sum().sqrt()
    )


@pytest.mark.parametrize("name", catalog.entries("models"))
def test_a_built_in_model_is_clipped_and_learns_with_all_its_weights(name: str) -> None:
    gradients = step(model := built(name), model.network, clip_norm=BOUND, most_tokens=32)
    assert norm(gradients) <= BOUND * (1 + 1e-4)
    assert all(bool(one.any()) for one in gradients.values())


@pytest.mark.parametrize("name", BROUGHT)
def test_a_model_from_a_folder_is_clipped_and_learns(tmp_path: Path, name: str) -> None:
    model = brought(name, tmp_path)
    gradients = step(model, model.network, clip_norm=BOUND, most_tokens=32)
    assert norm(gradients) <= BOUND * (1 + 1e-4)
    assert all(bool(one.any()) for one in gradients.values())


@pytest.mark.parametrize("name", BROUGHT)
def test_low_rank_factors_are_clipped_and_learn(tmp_path: Path, name: str) -> None:
    model = brought(name, tmp_path)
    network = Lora(rank=2).attach(model.network, Randomness.reproducible(3))
    first = step(model, network, clip_norm=BOUND, most_tokens=32)
    second = step(model, network, clip_norm=BOUND, most_tokens=32)
    assert max(norm(first), norm(second)) <= BOUND * (1 + 1e-4)
    # One factor starts at zero, so the other has a gradient from the second step on.
    assert all(bool(second[one].any()) for one in second)


@pytest.mark.parametrize("name", catalog.entries("models"))
def test_without_clipping_the_bound_does_not_hold(name: str) -> None:
    gradients = step(model := built(name), model.network, clip_norm=1e9, most_tokens=32)
    assert norm(gradients) > 2 * BOUND


@pytest.mark.parametrize("name", catalog.entries("models"))
def test_how_a_record_is_divided_into_batches_does_not_matter(name: str) -> None:
    divided = step(model := built(name), model.network, clip_norm=BOUND, most_tokens=32)
    whole = step(model := built(name), model.network, clip_norm=BOUND, most_tokens=4096)
    for parameter, gradient in whole.items():
        assert torch.allclose(divided[parameter], gradient, atol=1e-3 * BOUND)
