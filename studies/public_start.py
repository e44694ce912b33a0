"""What studies of small networks begin with: a public vocabulary, and a model of public texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sfumato
from sfumato.models.bpe import train_bpe

TOKENS = 1024


@dataclass(frozen=True)
class Reading:
    """How the model reads the public texts."""

    epochs: float = 2
    learning_rate: float = 0.005
    precision: str = "float32"


READING = Reading()


def begin(
    texts: Sequence[str], folder: Path, *, for_tokens: int, seed: int, reading: Reading = READING
) -> None:
    """Write FOLDER/tokenizer, from the first texts, and FOLDER/start, unless they are there."""
    if not (folder / "tokenizer").is_dir():
        learned = train_bpe(texts[:for_tokens], public=True, size=TOKENS)
        learned.backend.save_pretrained(str(folder / "tokenizer"))
    if (folder / "start").is_dir():
        return
    corpus = folder / "public.jsonl"
    corpus.write_text("".join(json.dumps({"text": one}) + "\n" for one in texts), "utf-8")
    sfumato.train(
        corpus,
        folder / "start",
        method="plain",
        model="lstm",
        tokenizer=folder / "tokenizer",
        batch_size=16,
        schedule="linear",
        seed=seed,
        **asdict(reading),
    )
