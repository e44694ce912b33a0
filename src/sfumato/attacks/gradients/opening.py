"""The model whose steps are attacked, with the weights that its training changes.

A run trains what its settings say: everything, the head, the last layers, or low-rank factors and a
classifier's head. So a step of a run with low-rank factors releases these alone; to see what all
weights would release, attack the folder ``RUN/model``. A folder with an encoder that has no head
becomes a classifier with a new one, whose classes are the labels of the documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.attacks.attack import Inputs
from sfumato.attacks.model_target import ModelTarget, is_run, open_model
from sfumato.core.errors import InvalidArgument
from sfumato.core.pretrained import read_config
from sfumato.core.randomness import Randomness
from sfumato.models.trainable import Trainable
from sfumato.text.document import Document

_CLASSIFIER = "ForSequenceClassification"
_CAUSAL = ("ForCausalLM", "LMHeadModel")


def open_members(inputs: Inputs) -> tuple[ModelTarget, tuple[Document, ...]]:
    """The model, and the documents whose gradients are seen."""
    if inputs.members is None:
        raise InvalidArgument("members are missing")
    documents = tuple(inputs.documents(inputs.members))
    return open_trained(inputs.target, documents), documents


def open_trained(path: Path, documents: Sequence[Document]) -> ModelTarget:
    """The model of a run or of a folder, ready for the gradients of its documents."""
    if is_run(path):
        target = open_model(path)
        settings = target.settings or {}
        rank = settings.get("lora_rank")
        if rank is not None:
            return _with_factors(target, int(rank))
        fixed = Trainable.choose(settings.get("trainable"), None).freeze(target.model.network)
        return replace(target, model=replace(target.model, fixed=fixed))
    found = [str(name) for name in read_config(path).architectures or ()]
    if any(name.endswith(_CLASSIFIER) for name in found):
        return open_model(path, kind="classifier")
    labels = sorted({label for one in documents for label in one.labels[:1]})
    if not labels or any(name.endswith(_CAUSAL) for name in found):
        return open_model(path, kind="causal")
    return open_model(path, kind="classifier", classes=labels)


def _with_factors(target: ModelTarget, rank: int) -> ModelTarget:
    """The model with fresh low-rank factors, as at the first step of another such run."""
    from sfumato.models.lora import Lora

    adapted: Any = Lora(rank=rank).attach(target.model.network, Randomness.secure())
    return replace(target, model=replace(target.model, network=adapted))
