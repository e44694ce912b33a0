"""A synthetic corpus from SST-2 by private evolution, over sentences of IMDb reviews or a model's.

Needs ``data/sst2`` and ``data/imdb-15k`` in the folder SFUMATO_RESOURCES, and in MINILM the folder
of a sentence encoder (all-MiniLM-L6-v2 in the figures of the documentation; without it vectors are
means of the embedded word vectors). The private records are the first 8,000 of the training part,
the pool is 12,000 sentences of 4 to 25 words from other reviews, and what was learned is tested on
the 872 sentences of the test part. Distances and membership are compared with the next 2,000
records of the training part: it holds phrases, the test part whole sentences, and a difference in
kind would be taken for leakage. Seeds make figures reproducible; nothing of it is for release.

With the folder of a causal language model in WRITER, that writes the candidates in the place of the
pool (SmolLM2-135M-Instruct in the figures of the documentation), after a public prompt for each
label.

Records are the same for every seed, so their vectors are computed for the first one and kept in
memory: ``seconds`` of the others are without them.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.timing import Row
from sfumato.core.arrays import Floats
from sfumato.models.encoder import SentenceEncoder
from sfumato.text.sentences import split_sentences
from sfumato.verbs.evaluate_synthetic import evaluate_synthetic
from sfumato.verbs.synthesize import synthesize

RECORDS, OTHERS, POOL = 8000, 2000, 12_000
TEXTS, WRITTEN = 500, 64
# The public prompts of a model that writes, by label, and that for variations.
PROMPTS = """\
0 = 'Here is a sentence from a very negative film review: "'
1 = 'Here is a sentence from a very positive film review: "'
"""
VARIATION = 'A sentence from a film review: "{text}"\nThe same in other words: "'
TOKENS = 20
SEEDS = (1, 2, 3)
SHORTEST, LONGEST = 4, 25
LEARNED = ("accuracy", "accuracy, control", "accuracy, originals")
NEAR = (
    "nearest original",
    "nearest held-out",
    "nearer to originals",
    "shared 4-grams, originals",
    "shared 4-grams, held-out",
    "membership",
    "membership, control",
    "distinct pairs",
)


def run(quick: bool) -> list[Row]:
    """Three seeds at epsilon 1, all that can be measured of each."""
    resources = Path(os.environ.get("SFUMATO_RESOURCES", "../shared")) / "data"
    encoder = "" if quick else os.environ.get("MINILM", "")
    rows: list[Row] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        with (resources / "sst2" / "train.tsv").open(encoding="utf-8") as lines:
            head = next(lines)
            for file, count in (("private.tsv", RECORDS), ("others.tsv", OTHERS)):
                rows_of = "".join(islice(lines, count))
                (folder / file).write_text(head + rows_of, encoding="utf-8")
        test = (resources / "sst2" / "test.tsv").read_bytes()
        (folder / "test.tsv").write_bytes(test)
        pool = folder / "pool.txt"
        pool.write_text("\n".join(read_pool(resources / "imdb-15k" / "train.jsonl.gz")))
        (folder / "prompts.toml").write_text(PROMPTS)
        with keeping_vectors():
            for seed in SEEDS[:1] if quick else SEEDS:
                rows.append(measure(folder, pool, encoder, seed))
                print(rows[-1], flush=True)
    return rows


def measure(folder: Path, pool: Path, encoder: str, seed: int) -> Row:
    """One corpus and its control, and what they are worth."""
    private = folder / "private.tsv"
    output, control = folder / f"made-{seed}.jsonl", folder / f"control-{seed}.jsonl"
    writer = os.environ.get("WRITER", "")
    chosen: dict[str, object] = {"pool": str(pool), "cache": str(folder / "cache")}
    if writer:
        chosen = {
            "model": writer,
            "prompts": str(folder / "prompts.toml"),
            "variation": VARIATION,
            "tokens": TOKENS,
        }
    wall, start = time.perf_counter(), time.process_time()
    made = synthesize(
        private,
        output,
        generator="model" if writer else "pool",
        epsilon=1,
        delta=1e-5,
        texts=WRITTEN if writer else TEXTS,
        classes=("0", "1"),
        encoder=encoder,
        settings=chosen,
        control=control,
        field="sentence",
        label_field="label",
        seed=seed,
    )
    seconds, waited = time.process_time() - start, time.perf_counter() - wall
    learned, near = (
        evaluate_synthetic(
            output,
            originals=private,
            held_out=folder / held,
            control=control,
            encoder=encoder,
            field="sentence",
            label_field="label",
            seed=seed,
        )
        for held in ("test.tsv", "others.tsv")
    )
    return {
        "generator": Path(writer).name if writer else "pool",
        "seed": seed,
        "epsilon": made.guarantee.epsilon,
        "replacement": round(made.summary["replacement"]["epsilon"], 2),
        "noise share": round(made.summary["settings"]["noise_share"], 2),
        **{one: round(learned.figure(one).value, 3) for one in LEARNED},
        **{one: round(near.figure(one).value, 3) for one in NEAR},
        "seconds": round(seconds),
        "waited": round(waited),
    }


@contextmanager
def keeping_vectors() -> Iterator[None]:
    """Within this block no text is encoded twice in the same way."""
    ways = {name: getattr(SentenceEncoder, name) for name in ("encode_alone", "encode_together")}
    for name, encode in ways.items():
        setattr(SentenceEncoder, name, _kept(encode))
    try:
        yield
    finally:
        for name, encode in ways.items():
            setattr(SentenceEncoder, name, encode)


def _kept(
    encode: Callable[[SentenceEncoder, Sequence[str]], Floats],
) -> Callable[[SentenceEncoder, Sequence[str]], Floats]:
    known: dict[str, Floats] = {}

    def kept(encoder: SentenceEncoder, texts: Sequence[str]) -> Floats:
        new = [one for one in dict.fromkeys(texts) if one not in known]
        if new:
            known.update(zip(new, encode(encoder, new), strict=True))
        return np.stack([known[one] for one in texts])

    return kept


def read_pool(path: Path) -> list[str]:
    """The first sentences of reviews that are neither very short nor very long, each once."""
    found: dict[str, None] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            for one in split_sentences(json.loads(line)["text"].replace("<br />", " ")):
                if SHORTEST <= len(one.split()) <= LONGEST and one.isprintable():
                    found[one] = None
            if len(found) >= POOL:
                break
    return list(found)[:POOL]
