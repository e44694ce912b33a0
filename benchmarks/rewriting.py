"""Sentences from a public pool on SST-2: level, words and meaning kept, what still can be learned.

Needs ``data/sst2`` in the folder SFUMATO_RESOURCES, and for the figures by a sentence encoder its
folder in MINILM (all-MiniLM-L6-v2 in the figures of the documentation). The pool is the
first 8,000 sentences of six words or more of the training part: text of the same kind, the best
case for a pool. A classifier (logistic regression on the judge's vectors) learns from half of the
rewritten sentences and is tested on the originals of the other half. Figures are means over three
seeds, with the smallest and the largest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.timing import Row
from sfumato.attacks.reidentification import BY_LAW, BY_MEANING, Reidentification, Rewritten
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting.sentences import Sentences
from sfumato.metrics.rewriting import measure_remains, read_encoder
from sfumato.metrics.similarity import Encoder
from sfumato.text.document import Document
from sfumato.text.sentences import split_sentences
from sfumato.vectors.means import unit_rows

POOL, LONGEST = 8000, 872
BETAS = (0.0, 10.0, 20.0, 30.0, 40.0)
FEWEST_WORDS = 6
SEEDS = (1, 2, 3)
ATTACKED, TIMED = 200, 50


def run(quick: bool) -> list[Row]:
    """Both kinds of vectors at every weight."""
    resources = Path(os.environ.get("SFUMATO_RESOURCES", "../shared"))
    texts, labels = read(resources / "data" / "sst2" / "test.tsv")
    count = 80 if quick else LONGEST
    texts, labels = texts[:count], labels[:count]
    public, _ = read(resources / "data" / "sst2" / "train.tsv")
    pool = [one for one in public if len(one.split()) >= FEWEST_WORDS][: 500 if quick else POOL]
    judge = os.environ.get("MINILM", "")
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        file = Path(folder) / "pool.txt"
        file.write_text("\n".join(pool))
        encoder = remember(read_encoder(judge))
        learned = accuracy(texts, texts, labels, encoder)
        rows.append({"vectors": "originals", "accuracy": f"{learned:.2f}"})
        for vectors in dict.fromkeys(("", judge)):
            private: list[Floats] = []
            for beta in BETAS:
                made = Sentences(pool=str(file), encoder=vectors, beta=beta, cache=folder)
                private = private or [vectors_of(made, one) for one in texts]
                rows.append(measure(made, texts, labels, encoder, private))
                print(rows[-1], flush=True)
    return rows


def measure(
    made: Sentences, texts: list[str], labels: list[str], encoder: Encoder, private: list[Floats]
) -> Row:
    """One weight: everything on the same draws, with each seed."""
    level = made.guarantee().epsilon
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        new = rewrite(made, private, Randomness.reproducible(seed))
        kept = measure_remains(texts, new, encoder, Randomness.reproducible(seed))
        near = kept.similarity
        assert near is not None
        target = Rewritten(
            tuple(map(Document, new)), level, settings={"mechanism": "sentences", **told(made)}
        )
        attack = Reidentification(encoder=made.encoder, pool=made.pool, documents=ATTACKED)
        scores = attack.score(target, list(map(Document, texts)), Randomness.reproducible(seed))
        for name, value in (
            ("cosine", near.cosine.value),
            ("floor", near.floor.value),
            ("words kept", kept.kept.value),
            ("accuracy", accuracy(texts, new, labels, encoder)),
            ("found by meaning", scores.figure(BY_MEANING).value),
            ("found by law", scores.figure(BY_LAW).value),
        ):
            found.setdefault(name, []).append(value)
    start = time.process_time()
    made.rewrite(texts[:TIMED], Randomness.secure())
    seconds = time.process_time() - start
    return {
        "vectors": "MiniLM" if made.encoder else "words",
        "beta": made.beta,
        "epsilon": f"{level:.1f}",
        **{
            name: f"{np.mean(values):.3f} ({min(values):.3f}–{max(values):.3f})"
            for name, values in found.items()
        },
        "of": min(ATTACKED, len(texts)),
        "sentences/s": f"{min(TIMED, len(texts)) / seconds:.0f}",
    }


def vectors_of(made: Sentences, text: str) -> Floats:
    """The vectors of the sentences of a text, which no weight changes."""
    return made.text_pool.vectors_of(split_sentences(text))


def rewrite(made: Sentences, private: list[Floats], randomness: Randomness) -> list[str]:
    """What ``made.rewrite`` writes, from vectors that are there already."""
    drawn = iter(made.law.draw_each(np.concatenate(private), randomness))
    return [" ".join(made.text_pool.sentences[next(drawn)] for _ in own) for own in private]


def remember(encoder: Encoder) -> Encoder:
    """The same encoder, which reads each text once; of a pool the same come out over and over."""
    if not os.environ.get("MINILM"):
        return encoder  # means of words are taken around the mean of all texts of a call
    known: dict[str, Floats] = {}

    def encode(texts: Sequence[str]) -> Floats:
        new = [one for one in dict.fromkeys(texts) if one not in known]
        if new:
            known.update(zip(new, encoder(new), strict=True))
        return np.stack([known[one] for one in texts])

    return encode


def told(made: Sentences) -> dict[str, object]:
    """What the side file of such a release says of the mechanism."""
    own = {name: getattr(made, name) for name in ("low", "high", "most", "fill", "pool_field")}
    return {**own, **made.public_facts()}


def accuracy(
    originals: list[str], learned_from: list[str], labels: list[str], encoder: Encoder
) -> float:
    """How often a classifier is right that learned from the first half, on the second."""
    from sklearn.linear_model import LogisticRegression

    half = len(originals) // 2
    seen: Floats = unit_rows(np.asarray(encoder(learned_from[:half])))
    tested: Floats = unit_rows(np.asarray(encoder(originals[half:])))
    fitted = LogisticRegression(max_iter=2000).fit(seen, labels[:half])
    return float(fitted.score(tested, labels[half:]))


def read(path: Path) -> tuple[list[str], list[str]]:
    """Sentences and their labels."""
    rows = [line.rsplit("\t", 1) for line in path.read_text().splitlines()[1:]]
    return [" ".join(text.split()) for text, _ in rows], [label for _, label in rows]
