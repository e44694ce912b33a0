"""Texts rebuilt by search and by planted weights, with and without noise, on an encoder like BERT.

The encoder has two layers of 256 numbers and random weights; texts are 5 to 8 words of 6,000, so
with [CLS] and [SEP] a row has 7 to 10 tokens. Seconds are processor time.

With ``MINILM=FOLDER`` the first two layers of that encoder are attacked, on sentences of
SST-2 from the folder ``SFUMATO_RESOURCES``, where LAMP's prior is, too.
"""

from __future__ import annotations

import csv
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.timing import Row
from sfumato.attacks.gradients.imprint.attack import GradientImprint
from sfumato.attacks.gradients.matching.attack import GradientMatching
from sfumato.attacks.gradients.rebuilding import Rebuilding
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.tokenizer import Tokenizer
from sfumato.text.document import Document
from sfumato.vectors.load import default_space

WORDS, WIDTH, CONTEXT = 6000, 256, 16
CLASSES = ("no", "yes")
SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
SHOWN = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "tokens in place", "exact texts")


def run(quick: bool) -> list[Row]:
    """One row for each attack and amount of noise."""
    torch.set_num_threads(1)
    target, documents, prior = subject()
    chosen = attacks(3 if quick else 6, 60 if quick else 220, prior)
    return [
        row for name, attack in chosen.items() for row in rebuilt(name, attack, target, documents)
    ]


def attacks(most: int, moves: int, prior: str) -> dict[str, Rebuilding]:
    """All attacks, searches on so many texts and with so many moves."""
    search = GradientMatching(most=most, tokens=CONTEXT, moves=moves)
    lamp = replace(search, prior=prior)
    imprint = GradientImprint(most=4 * most, tokens=CONTEXT)
    return {
        "matching, dlg": replace(search, variant="dlg"),
        "matching, tag": replace(search, variant="tag"),
        "matching, lamp as published": replace(lamp, sweeps=0),
        "matching, lamp": lamp,
        "matching, lamp under noise": replace(lamp, sigma=(3e-4,)),
        "imprint, published read-out": replace(
            imprint, readout="neighbors", sigma=(0.0, 1e-4, 3e-3)
        ),
        "imprint": replace(imprint, sigma=(0.0, 3e-3, 1e-2)),
        "imprint, directional": replace(imprint, noise="directional", sigma=(3e-3, 1e-2)),
    }


def rebuilt(
    name: str, attack: Rebuilding, target: ModelTarget, documents: list[Document]
) -> list[Row]:
    """The figures of an attack at each of its amounts of noise."""
    before = time.process_time()
    found = attack.score(target, documents, Randomness.reproducible(1))
    seconds = (time.process_time() - before) / int(found.details["documents"])
    null = {one.metric: one.value for one in found.control.figures}
    made: list[Row] = []
    for step in attack.steps(target):
        said = step.said
        row: Row = {"attack": name, "noise": said, "texts": int(found.details["documents"])}
        for figure in SHOWN:
            one = found.figure(f"{figure} {said}")
            row[figure] = f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"
        row["null ROUGE-1"] = f"{null[f'ROUGE-1 {said}']:.2f}"
        row["seconds a text, all levels"] = f"{seconds:.1f}"
        made.append(row)
    return made


def subject() -> tuple[ModelTarget, list[Document], str]:
    """What is attacked, on which texts, and the folder of a prior if there is one."""
    folder = os.environ.get("MINILM")
    if not folder:
        return random_encoder(), made_up(48), ""
    resources = Path(os.environ.get("SFUMATO_RESOURCES", "../shared"))
    model = load_model(
        folder,
        randomness=Randomness.reproducible(1),
        kind="classifier",
        classes=("0", "1"),
        pooling="first",
    )
    network: Any = model.network
    network.bert.encoder.layer = network.bert.encoder.layer[:2]
    network.config.num_hidden_layers = 2
    texts = short_sentences(resources / "data/sst2/train.tsv", model.tokenizer, 48)
    return ModelTarget(model, folder), texts, str(resources / "models/stories15m")


def random_encoder() -> ModelTarget:
    """A classifier in BERT's shape over frequent words, each of which is a token."""
    from tokenizers import Tokenizer as Backend
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    vocabulary = {word: place for place, word in enumerate((*SPECIAL, *words()))}
    backend = Backend(WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = Whitespace()
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    names = dict(zip(("pad_token", "cls_token", "sep_token", "unk_token"), SPECIAL, strict=True))
    tokenizer = Tokenizer(PreTrainedTokenizerFast(tokenizer_object=backend, **names))
    labels: dict[str, Any] = {"num_labels": len(CLASSES)}
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=4 * WIDTH,
        max_position_embeddings=CONTEXT,
        **labels,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        network: Any = BertForSequenceClassification(config)
    return ModelTarget(LoadedModel(network, tokenizer, CONTEXT, CLASSES), "random weights")


def words() -> list[str]:
    """Frequent words of letters alone."""
    return [one for one in default_space().words if one.isascii() and one.isalpha()][:WORDS]


def made_up(count: int) -> list[Document]:
    """Texts of 5 to 8 words."""
    known, drawn = words(), Randomness.reproducible(2)
    texts = []
    for place in range(count):
        places = drawn.integers(len(known), 5 + int(drawn.integers(4, 1)[0])).tolist()
        text = " ".join(known[one] for one in places)
        texts.append(Document(text, labels=(CLASSES[place % 2],)))
    return texts


def short_sentences(path: Path, tokenizer: Tokenizer, count: int) -> list[Document]:
    """Sentences of 7 to 10 tokens with their labels."""
    found = []
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            text = row["sentence"].strip()
            if 7 <= len(tokenizer.encode(text)) <= 10:
                found.append(Document(text, labels=(row["label"],)))
            if len(found) == count:
                break
    return found
