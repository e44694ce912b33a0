"""Build the public model that the demonstration starts from, ``studies/public-model``.

Everything it learns from is public: 2,000 dialogues that ``studies/public-model/dialogues.toml``
makes up, and, for the vocabulary, the frequent words of the embedded GloVe list. It takes a minute
on one processor. With the versions in ``constraints.txt`` and one thread the weights come out the
same.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import DialogueScript, generate_customersim
from sfumato.models.bpe import train_bpe
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.request import Request
from sfumato.training.settings import Training
from sfumato.vectors.load import public_words

FOLDER = Path("studies") / "public-model"
DIALOGUES, LINES, WORDS = 2_000, 4, 8_000
TOKENS, SIZE = 768, 64


def dialogues() -> list[Document]:
    """The public text."""
    script = DialogueScript.read((FOLDER / "dialogues.toml").read_text("utf-8"))
    made = generate_customersim(DIALOGUES, Randomness.reproducible(100), script)
    return [one.document for one in made]


def main() -> None:
    """Learn a vocabulary, then train a small recurrent model on the dialogues."""
    import torch

    torch.set_num_threads(1)
    documents = dialogues()
    words = " " + " ".join(public_words(WORDS))
    tokenizer = train_bpe([*(one.text for one in documents[:300]), words], public=True, size=TOKENS)
    short = [replace(one, text="\n".join(one.text.split("\n")[:LINES])) for one in documents]
    choices = Training.of(
        {
            "method": "plain",
            "epochs": 4.0,
            "batch_size": (32,),
            "learning_rate": 0.005,
            "schedule": "linear",
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = Path(folder) / "tokenizer"
        tokenizer.backend.save_pretrained(str(vocabulary))
        request = Request(
            model="lstm",
            privacy=choices.privacy(),
            method=choices.built_method(),
            course=choices.course(),
            tokenizer=str(vocabulary),
            settings={"embedding": SIZE, "hidden": SIZE, "tied": True, "context": 128},
            seed=1,
        )
        run = RunFolder(Path(folder) / "run")
        train_model(request, short, run)
        for file in (run.path / "model").iterdir():
            shutil.copy(file, FOLDER / file.name)
    print(f"the model is in {FOLDER}")


if __name__ == "__main__":
    main()
