"""Runs that take a moment: a vocabulary of a few hundred tokens, a few units, a few steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sfumato.core.randomness import Randomness
from sfumato.models.bpe import train_bpe
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.tokenizer import Tokenizer
from sfumato.text.document import Document
from sfumato.training import checkpoints
from sfumato.training.checkpoints import Checkpoint
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.folder import RunFolder
from sfumato.training.plan import Plan
from sfumato.training.records import Cut, TokenRecords, make_language_records
from sfumato.training.stages import Stage

CONTEXT = 12
SETTINGS: dict[str, dict[str, object]] = {
    "lstm": {"hidden": 4, "embedding": 4, "context": CONTEXT},
    "gpt-small": {"layers": 1, "width": 8, "heads": 2, "context": CONTEXT},
}


class Killed(BaseException):
    """Stands for a signal that nobody can catch."""


@cache
def tokenizer() -> Tokenizer:
    return train_bpe(["a public text about nothing at all"] * 2, public=True, size=270)


def small_model(
    name: str = "lstm", *, seed: int = 1, settings: dict[str, object] | None = None, **options: Any
) -> LoadedModel:
    return load_model(
        name,
        randomness=Randomness.reproducible(seed),
        tokenizer=tokenizer(),
        settings=SETTINGS[name] | (settings or {}),
        **options,
    )


def some_documents(count: int = 6, *, longest: int = 40) -> list[Document]:
    """Documents of all lengths, some longer than the context; authors a, b and c."""
    text = "nothing at all is about a public text, and all of it is text. "
    return [
        Document(text[number : number + 3 + (7 * number) % longest], author="abc"[number % 3])
        for number in range(count)
    ]


def some_records(
    documents: Sequence[Document] | None = None, *, unit: str = "example"
) -> TokenRecords:
    documents = some_documents() if documents is None else documents
    return make_language_records(documents, tokenizer(), Cut(context=CONTEXT, unit=unit))


def small_plan(
    units: int = 6,
    *,
    steps: int = 7,
    batch_size: int = 3,
    noise: float = 1.0,
    clipping: Clipping | None = None,
    **options: Any,
) -> Plan:
    """Rényi divergences, because they are quick."""
    return Plan(
        units=units,
        stages=(Stage(steps=steps, batch_size=batch_size, noise_multiplier=noise),),
        clipping=clipping or Clipping(norm=0.5),
        accountant="rdp",
        **options,
    )


def new_folder(path: Path) -> RunFolder:
    path.mkdir()
    return RunFolder(path)


def weights(model: LoadedModel) -> dict[str, Tensor]:
    return {name: one.detach().clone() for name, one in model.network.named_parameters()}


def flat(model: LoadedModel) -> Tensor:
    return torch.cat([one.detach().double().flatten() for one in model.network.parameters()])


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(
        torch.equal(one, second[name]) for name, one in first.items()
    )


def charged_in(folder: RunFolder) -> int:
    """The steps that stand in the ledger on the disk."""
    if not folder.ledger.exists():
        return 0
    _, *lines = folder.ledger.read_text().splitlines()
    return int(json.loads(lines[-1])["charged"]) if lines else 0


def content_of(path: Path) -> dict[str, Any]:
    """What a checkpoint holds, behind its head."""
    with path.open("rb") as stream:
        stream.readline()
        found: dict[str, Any] = torch.load(stream, weights_only=True)
    return found


def write_checkpoint(path: Path, content: Any) -> None:
    """A checkpoint that is whole, whatever it holds."""
    with path.open("wb") as stream:
        checkpoints.write_sealed(content, stream)


def kept_in(folder: RunFolder) -> int:
    """The steps that went into the checkpoint on the disk."""
    return Checkpoint.load(folder.checkpoint).steps if folder.checkpoint.exists() else 0
