"""What studies of small networks begin with: a public vocabulary, and a model of public texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import sfumato
from sfumato.models.bpe import train_bpe

TOKENS, PASSES = 1024, 2


def begin(texts: Sequence[str], folder: Path, *, for_tokens: int, seed: int) -> None:
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
        epochs=PASSES,
        batch_size=16,
        learning_rate=0.005,
        schedule="linear",
        seed=seed,
    )
