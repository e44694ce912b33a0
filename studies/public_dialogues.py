"""Public things for models of dialogues: a tokenizer, and a model that has read other dialogues.

    python studies/public_dialogues.py FOLDER

writes FOLDER/tokenizer, 1,024 tokens learned from generated dialogues (``sfumato data
customersim``), and FOLDER/start/model, the network of the Selective-DPSGD paper after reading such
dialogues. Their sentences, names and numbers are the package's own, drawn with a seed that no study
uses; nothing of the corpus that a study protects is looked at.

The vocabulary is small because most of the time of a step goes into the scores of all tokens.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import sfumato
from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.models.bpe import train_bpe

SEED = 4711
FOR_TOKENS, TOKENS = 4000, 1024
TO_READ, PASSES = 6000, 2


def main() -> None:
    """Write what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="where to write; it is made")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    texts = [
        one.document.text for one in generate_customersim(TO_READ, Randomness.reproducible(SEED))
    ]
    if not (folder / "tokenizer").is_dir():
        learned = train_bpe(texts[:FOR_TOKENS], public=True, size=TOKENS)
        learned.backend.save_pretrained(str(folder / "tokenizer"))
    if not (folder / "start").is_dir():
        corpus = folder / "dialogues.jsonl"
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
            seed=SEED,
        )


if __name__ == "__main__":
    main()
