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
from pathlib import Path

from public_start import begin
from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim

SEED = 4711
FOR_TOKENS, TO_READ = 4000, 6000


def main() -> None:
    """Write what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="where to write; it is made")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    texts = [
        one.document.text for one in generate_customersim(TO_READ, Randomness.reproducible(SEED))
    ]
    begin(texts, folder, for_tokens=FOR_TOKENS, seed=SEED)


if __name__ == "__main__":
    main()
