"""Small classifiers, biases and adapters, trained by every method that takes classifiers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato.attacks.model_target import open_model
from sfumato.core.errors import InvalidArgument
from sfumato.models.adapters import adapters_of
from sfumato.policies.patterns import Digits
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import build_method
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.objectives import kind_to_train
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.settings import Course, Privacy
from unit.training.runs import CONTEXT, SETTINGS, tokenizer

SMALL: dict[str, dict[str, Any]] = {
    "bag-of-words": {"embedding": 4, "context": CONTEXT},
    "bilstm": {"embedding": 4, "hidden": 4, "context": CONTEXT},
    "cnn": {"embedding": 4, "filters": 4, "widths": (2, 3), "context": CONTEXT},
    "gpt-small": SETTINGS["gpt-small"],
}
TEXTS = ("a public text", "nothing", "nothing at all", "", "text about a text", "all of it", "it")
DOCUMENTS = [Document(text, labels=("ab"[place % 2],)) for place, text in enumerate(TEXTS)]


def request(model: str, method: str = "private", **options: Any) -> Request:
    made = build_method(method)
    return Request(
        model=model,
        kind="classifier",
        classes=("a", "b"),
        settings=SMALL[model],
        tokenizer=tokenizer(),
        method=made,
        privacy=Privacy(
            epsilon=8.0 if made.adds_noise else math.inf,
            delta=0.01,
            epochs=2,
            batch_sizes=(3,),
            accountant="rdp",
        ),
        course=Course(learning_rate=0.1),
        seed=1,
        **options,
    )


def scores(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model.network.eval()(input_ids=torch.tensor([[5, 6, 7, 8]])).logits
    return found


@pytest.mark.parametrize(
    ("model", "method"),
    [
        ("bag-of-words", "private"),
        ("bilstm", "private"),
        ("cnn", "private"),
        ("bag-of-words", "per-record"),
        ("bilstm", "plain"),
        ("cnn", "directional"),
    ],
)
def test_methods_train_small_classifiers(model: str, method: str, tmp_path: Path) -> None:
    asked = request(model, method)
    run = train_model(asked, DOCUMENTS, RunFolder(tmp_path / "run"))
    assert run.guarantee.epsilon <= 8 or method == "plain"
    before = asked.load(asked.randomness()).network.state_dict()
    after = run.model.network.state_dict()
    assert all(not torch.equal(one, after[name]) for name, one in before.items())
    opened = open_model(tmp_path / "run").model
    assert opened.classes == ("a", "b")
    torch.testing.assert_close(scores(opened), scores(run.model))
    torch.testing.assert_close(scores(open_model(tmp_path / "run" / "model").model), scores(opened))
    # Settings are written as they can be read again, also a list of numbers.
    written = run.files.settings()["model_settings"]
    assert replace(asked, settings=written).load(asked.randomness()).context == CONTEXT


@pytest.mark.parametrize("part", ["bias", "adapter:2"])
def test_frozen_weights_stay_and_the_rest_moves(part: str, tmp_path: Path) -> None:
    asked = request("gpt-small", trainable=part)
    begun = asked.load(asked.randomness()).network
    learning = {name for name, one in begun.named_parameters() if one.requires_grad}
    run = train_model(asked, DOCUMENTS, RunFolder(tmp_path / "run"))
    after = dict(run.model.network.named_parameters())
    moved = {name for name, one in begun.named_parameters() if not torch.equal(one, after[name])}
    assert moved == learning
    assert run.files.settings()["trainable"] == part
    again = Run.open(tmp_path / "run").model
    assert bool(adapters_of(again.network)) == part.startswith("adapter")
    torch.testing.assert_close(scores(again), scores(run.model))


def test_a_language_model_was_not_meant() -> None:
    with pytest.raises(InvalidArgument, match=r"cnn is a classifier .*`classes=\.\.\.`"):
        kind_to_train("cnn", None)
    with pytest.raises(InvalidArgument, match="for language models"):
        replace(request("cnn"), objective="causal")
    lstm: dict[str, Any] = {"model": "lstm", "kind": "causal", "classes": (), "trainable": "bias"}
    with pytest.raises(InvalidArgument, match="trains all of a recurrent model"):
        replace(
            request("cnn"),
            **lstm,
            settings={},
            method=build_method("interleaved"),
            protection=PolicyPromise(Digits()),
        )
