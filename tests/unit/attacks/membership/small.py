"""Models that take a moment: some that know a few texts by heart, and some that know none."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from sfumato.attacks.token_scores import TokenScores
from sfumato.models.bpe import train_bpe
from sfumato.models.tokenizer import Tokenizer
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.request import Request
from sfumato.training.settings import Course, Privacy
from sfumato.vectors.load import default_space

# Texts that a signal must get over: nothing, white space, a letter, signs no tokenizer knows.
ODD_MEMBERS = ["", "🦊"]
ODD_OTHERS = ["  ", "🦊🐻‍❄️", "a"]


@cache
def public_words() -> tuple[str, ...]:
    """Common words of the embedded space."""
    return tuple(default_space().words[200:1200])


@cache
def tokenizer() -> Tokenizer:
    """A few hundred tokens."""
    return train_bpe(list(public_words()) * 2, public=True, size=600)


def made_up(count: int, seed: int, length: int = 5) -> list[str]:
    """Texts of words in no order; those of different seeds have nothing in common."""
    drawn = np.random.default_rng(seed).integers(len(public_words()), size=(count, length))
    return [" ".join(public_words()[word] for word in row) for row in drawn.tolist()]


def documents(texts: Sequence[str]) -> list[Document]:
    return [Document(text) for text in texts]


def written(path: Path, texts: Sequence[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def request(*, epochs: float = 60, seed: int = 3) -> Request:
    """Overfitted on a handful of texts with the default, hardly trained with a few epochs."""
    return Request(
        model="lstm",
        privacy=Privacy(epsilon=math.inf, epochs=epochs, batch_sizes=(32,)),
        course=Course(learning_rate=3e-2, checkpoint_every=20),
        tokenizer=tokenizer(),
        settings={"hidden": 32, "embedding": 16, "context": 32},
        seed=seed,
    )


def trained(folder: Path, texts: Sequence[str], *, epochs: float = 60, seed: int = 3) -> Path:
    train_model(replace(request(epochs=epochs), seed=seed), documents(texts), RunFolder(folder))
    return folder


@dataclass(frozen=True)
class World:
    """A run that knows its members by heart, references that know neither side, and the files."""

    run: Path
    members: Path
    others: Path
    references: tuple[Path, ...]
    cache: Path


def table(*rows: Sequence[float]) -> tuple[TokenScores, ...]:
    """Made-up token scores: ln p of each token, with mean −3 and deviation 2 at each place."""
    return tuple(
        TokenScores(
            np.array(row, np.float32),
            np.full(len(row), -3.0, np.float32),
            np.full(len(row), 2.0, np.float32),
        )
        for row in rows
    )
