"""A masked model and an autoencoder on SST-2: level beside words and meaning that are kept.

Needs ``data/sst2`` in the folder SFUMATO_RESOURCES, a sentence encoder in MINILM for the cosines,
and what the scripts make of its training part: a masked model in MASKED (``build_masked_head.py``)
and an autoencoder in LATENT (``build_autoencoder.py``). Texts are the first sentences of the test
part of six words or more, for the autoencoder of as many as it reads at most. The tokens that may
be written are the most frequent of the training part.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.rewriting import FEWEST_WORDS, SEEDS, read
from benchmarks.timing import Row
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import DocumentMechanism
from sfumato.mechanisms.rewriting.latent import Latent
from sfumato.mechanisms.rewriting.masked import Masked
from sfumato.metrics.rewriting import measure_remains, read_encoder
from sfumato.metrics.similarity import Encoder

TEXTS, OF_LATENT = 32, 300
TOKENS, VOCABULARY = 24, 4000
RANGES = (16.0, 12.0, 10.0, 8.0)
LEVELS = (1000.0, 500.0, 250.0, 100.0)
DELTA = 1e-5


def run(quick: bool) -> list[Row]:
    """Each model at several levels, on the same texts."""
    resources = Path(os.environ.get("SFUMATO_RESOURCES", "../shared"))
    texts, _ = read(resources / "data" / "sst2" / "test.tsv")
    public, _ = read(resources / "data" / "sst2" / "train.tsv")
    encoder = read_encoder(os.environ.get("MINILM", ""))
    texts = [one for one in texts if len(one.split()) >= FEWEST_WORDS]
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        file = Path(folder) / "public.txt"
        file.write_text("\n".join(public))
        for made, some in _mechanisms(str(file), texts, quick=quick):
            rows.append(measure(made, some, encoder))
            print(rows[-1], flush=True)
    return rows


def _mechanisms(
    public: str, texts: list[str], *, quick: bool
) -> list[tuple[Masked | Latent, list[str]]]:
    found: list[tuple[Masked | Latent, list[str]]] = []
    if masked := os.environ.get("MASKED", ""):
        some = texts[: 4 if quick else TEXTS]
        given = {"model": masked, "temperature": 0.5, "tokens": TOKENS}
        for wide in RANGES:
            one = Masked(**given, window=wide / 2, vocabulary=public, vocabulary_size=VOCABULARY)  # type: ignore[arg-type]
            found.append((one, some))
        found.append((Masked(**given, window=RANGES[0] / 2), some))  # type: ignore[arg-type]
    if latent := os.environ.get("LATENT", ""):
        longest = Latent(model=latent, epsilon=1.0).autoencoder.shape.tokens
        some = [one for one in texts if len(one.split()) <= longest]
        some = some[: 20 if quick else OF_LATENT]
        found.append((Latent(model=latent, epsilon=1e9), some))
        for level in LEVELS:
            found.append((Latent(model=latent, epsilon=level), some))
            normal = Latent(model=latent, epsilon=level, delta=DELTA, noise="gaussian")
            found.append((normal, some))
    return found


def measure(made: Masked | Latent, texts: list[str], encoder: Encoder) -> Row:
    """One mechanism at one level."""
    assert isinstance(made, DocumentMechanism)
    guarantee = made.guarantee()
    start = time.process_time()
    new = made.rewrite(texts, Randomness.reproducible(SEEDS[0]))
    seconds = time.process_time() - start
    kept = measure_remains(texts, new, encoder, Randomness.reproducible(SEEDS[0]))
    assert kept.similarity is not None
    how = made.law.kind if isinstance(made, Latent) else f"{len(made.law.tokens):,} outcomes"
    return {
        "mechanism": type(made).__name__.lower(),
        "how": how,
        "range": "" if isinstance(made, Latent) else f"{made.law.score_range:g}",
        "epsilon": f"{guarantee.epsilon:.4g}",
        "delta": f"{guarantee.delta:g}",
        "cosine": f"{kept.similarity.cosine.value:.2f}",
        "floor": f"{kept.similarity.floor.value:.2f}",
        "words kept": f"{kept.kept.value:.3f}",
        "right": f"{right(made, texts):.3f}",
        "texts": len(texts),
        "texts/s": f"{len(texts) / seconds:.1f}",
    }


def right(made: Masked | Latent, texts: list[str]) -> float:
    """What the model knows of texts that it has not seen.

    Of a masked model, how often its likeliest token is the one that was masked; of an autoencoder
    with its noise, the share of places at which the same word stands.
    """
    same = places = 0
    for number, text in enumerate(texts):
        if isinstance(made, Masked):
            old = made.filler.tokenizer.encode(text)[: made.tokens].tolist()
            new = made.filler.score_places(old).argmax(axis=1).tolist()
        else:
            (written,) = made.rewrite([text], Randomness.reproducible(number))
            old, new = (made.autoencoder.row(one)[:-1] for one in (text, written))
        same += sum(one == other for one, other in zip(old, new, strict=False))
        places += len(old)
    return same / places
