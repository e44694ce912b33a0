"""A synthetic corpus from SST-2 by private evolution over sentences of IMDb reviews.

Needs ``data/sst2`` and ``data/imdb-15k`` in the folder SFUMATO_RESOURCES, and in MINILM the folder
of a sentence encoder (all-MiniLM-L6-v2 in the figures of the documentation; without it vectors are
means of the embedded word vectors). The private records are the first 8,000 of the training part,
the pool is 12,000 sentences of 4 to 25 words from other reviews, and what was learned is tested on
the 872 sentences of the test part. Seeds make figures reproducible; nothing of it is for release.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.timing import Row
from sfumato.text.sentences import split_sentences
from sfumato.verbs.evaluate_synthetic import evaluate_synthetic
from sfumato.verbs.synthesize import synthesize

RECORDS, POOL = 8000, 12_000
TEXTS = 500
SEEDS = (1, 2, 3)
SHORTEST, LONGEST = 4, 25
SHOWN = (
    "accuracy",
    "accuracy, control",
    "accuracy, originals",
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
        private, held = folder / "private.tsv", folder / "held.tsv"
        with (resources / "sst2" / "train.tsv").open(encoding="utf-8") as lines:
            private.write_text("".join(islice(lines, RECORDS + 1)), encoding="utf-8")
        held.write_bytes((resources / "sst2" / "test.tsv").read_bytes())
        pool = folder / "pool.txt"
        pool.write_text("\n".join(read_pool(resources / "imdb-15k" / "train.jsonl.gz")))
        for seed in SEEDS[:1] if quick else SEEDS:
            rows.append(measure(folder, private, held, pool, encoder, seed))
            print(rows[-1], flush=True)
    return rows


def measure(folder: Path, private: Path, held: Path, pool: Path, encoder: str, seed: int) -> Row:
    """One corpus and its control, and what they are worth."""
    output, control = folder / f"made-{seed}.jsonl", folder / f"control-{seed}.jsonl"
    columns = {"field": "sentence", "label_field": "label"}
    wall, start = time.perf_counter(), time.process_time()
    made = synthesize(
        private,
        output,
        epsilon=1,
        delta=1e-5,
        texts=TEXTS,
        classes=("0", "1"),
        encoder=encoder,
        settings={"pool": str(pool), "cache": str(folder / "cache")},
        control=control,
        seed=seed,
        **columns,  # type: ignore[arg-type]
    )
    seconds, waited = time.process_time() - start, time.perf_counter() - wall
    found = evaluate_synthetic(
        output,
        originals=private,
        held_out=held,
        control=control,
        encoder=encoder,
        seed=seed,
        **columns,  # type: ignore[arg-type]
    )
    return {
        "seed": seed,
        "epsilon": made.guarantee.epsilon,
        "replacement": round(made.summary["replacement"]["epsilon"], 2),
        "noise share": round(made.summary["settings"]["noise_share"], 2),
        **{one: round(found.figure(one).value, 3) for one in SHOWN},
        "seconds": round(seconds),
        "waited": round(waited),
    }


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
