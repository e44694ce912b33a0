"""What the benchmarks work on: public vectors and made-up or public text, never anybody's own."""

from __future__ import annotations

import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np

from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.text.document import Document
from sfumato.vectors.load import default_space, load_vectors
from sfumato.vectors.space import Space

SEED = 1


def resource(name: str) -> Path | None:
    """A file of the folder of real vectors and data, if it is there."""
    default = Path(__file__).parents[2] / "shared"
    path = Path(os.environ.get("SFUMATO_RESOURCES", default)) / name
    return path if path.exists() else None


@cache
def large_space() -> Space:
    """33,860 words in 300 dimensions: GloVe 840B, or random ones of the same lengths."""
    path = resource("vectors/glove-840b-300d-34k.npy")
    if path is not None:
        return load_vectors(path)
    randomness = Randomness.reproducible(SEED)
    vectors = randomness.normal(33_860, 300)
    lengths = 6.61 + 0.68 * randomness.normal(33_860, 1)
    vectors *= lengths / np.linalg.norm(vectors, axis=1, keepdims=True)
    words = [f"word{number}" for number in range(len(vectors))]
    return Space("SYNTHETIC 33,860 × 300", words, vectors.astype(np.float32))


def spaces() -> dict[str, tuple[Space, tuple[float, ...]]]:
    """Both shapes, each with levels at which some 10, 50 and 85 % of the words are kept."""
    large, small = large_space(), default_space()
    return {
        f"{space.name}, {len(space):,} × {space.dimension}": (space, epsilons)
        for space, epsilons in ((large, (8.0, 12.0, 16.0)), (small, (5.0, 8.0, 11.0)))
    }


def dialogues(count: int) -> list[Document]:
    """Generated customer-service dialogues."""
    return [one.document for one in generate_customersim(count, Randomness.reproducible(SEED))]


def words_of_the_space(count: int) -> list[str]:
    """Texts of 100 public words each, frequent words being more frequent."""
    space = default_space()
    ranks = len(space) ** Randomness.reproducible(SEED).uniform(count)
    words = [space.words[int(rank) - 1] for rank in ranks]
    return [" ".join(words[start : start + 100]) for start in range(0, count, 100)]


def prose(characters: int) -> tuple[str, list[Document]]:
    """Plain prose, a document per line: WikiText-2, or else words of the embedded space."""
    path = resource("data/wikitext-2/train.raw.gz")
    if path is None:
        name, lines = "SYNTHETIC words", words_of_the_space(characters // 7)
    else:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            name, lines = "WikiText-2", stream.read(characters).split("\n")
    return name, [Document(line) for line in lines if line.strip()]
