"""Tokens per word of private tokenizers against the level, with the public one beside them.

Tokens of held-out text over its words, white space between words and line breaks not counted as
words or tokens. CustomerSim's dialogues, and WikiText-2 by paragraph and by article, if the folder
of resources is there; else generated dialogues. A seed is used, and one draw for each row.
"""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.inputs import SEED, dialogues, resource
from benchmarks.timing import Row
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.corpora.wikitext import read_wikitext
from sfumato.histograms.thresholds import Contribution
from sfumato.histograms.words import Budget
from sfumato.models.bpe import default_tokenizer
from sfumato.models.learned import TokenizerKind, find_kind
from sfumato.models.private_tokenizer import learn_privately
from sfumato.models.tokenizer import Tokenizer
from sfumato.text.document import Document

DELTA = 1e-6
WORDS = 60
SIZE = 8000
KINDS = ("bpe", "wordpiece", "sentencepiece")


@dataclass(frozen=True)
class Corpus:
    """Private documents, held-out ones, and the levels to try."""

    name: str
    private: Sequence[Document]
    other: Sequence[Document]
    levels: tuple[float, ...]


def run(quick: bool) -> list[Row]:
    """Every corpus at every level, by every kind; weights by length for the first kind."""
    rows: list[Row] = []
    for corpus in corpora(quick):
        public = tokens_per_word(default_tokenizer(), corpus.other)
        rows.append({"corpus": corpus.name, "tokenizer": "public", "tokens/word": f"{public:.2f}"})
        for kind in KINDS[: 1 if quick else None]:
            rows.append(_unprotected(corpus, find_kind(kind)))
            for level in corpus.levels:
                rows.append(_private(corpus, find_kind(kind), level, "plain"))
                if kind == KINDS[0]:
                    rows.append(_private(corpus, find_kind(kind), level, "by-length"))
    return rows


def corpora(quick: bool) -> list[Corpus]:
    """Those that are there."""
    found = []
    simulated = resource("data/customersim/train.jsonl.gz")
    if simulated is None or quick:
        made = dialogues(2500)
        found.append(Corpus("generated dialogues", made[500:], made[:500], (1.0, 4.0)))
    else:
        train, test = (
            _read(simulated.with_name(f"{part}.jsonl.gz").read_bytes())
            for part in ("train", "test")
        )
        found.append(Corpus("CustomerSim by dialogue", train, test, (0.5, 1.0, 4.0)))
    wikitext = resource("data/wikitext-2/train.raw.gz")
    if wikitext is not None and not quick:
        test = list(read_wikitext(wikitext.with_name("test.raw.gz")))
        for record in ("paragraph", "article"):
            train = list(read_wikitext(wikitext, record=record))
            found.append(Corpus(f"WikiText-2 by {record}", train, test, (1.0, 4.0, 16.0)))
    return found


def _read(content: bytes) -> list[Document]:
    lines = gzip.decompress(content).decode().splitlines()
    return [Document(json.loads(line)["text"]) for line in lines]


def tokens_per_word(tokenizer: Tokenizer, documents: Sequence[Document]) -> float:
    """Tokens over words that white space separates, line by line."""
    lines = [line for document in documents for line in document.text.split("\n")]
    return sum(map(len, tokenizer.encode_many(lines))) / sum(len(line.split()) for line in lines)


def _unprotected(corpus: Corpus, kind: TokenizerKind) -> Row:
    counts = Counter(word for one in corpus.private for word in kind.cut(one.text))
    frequent = {word: float(count) for word, count in counts.items() if count > 1}
    found = tokens_per_word(kind.learn(frequent, SIZE), corpus.other)
    return _row(corpus, f"{kind.name}, no privacy", f"{found:.2f}") | {"words": f"{len(counts):,}"}


def _private(corpus: Corpus, kind: TokenizerKind, level: float, weights: str) -> Row:
    contribution = Contribution(words=WORDS, weights=weights)
    budget = Budget(epsilon=level, delta=DELTA, contribution=contribution)
    row = _row(corpus, f"{kind.name}, {weights}", "") | {"epsilon": f"{level:g}"}
    began = time.process_time()
    try:
        made = learn_privately(corpus.private, kind, SIZE, budget, Randomness.reproducible(SEED))
    except BadInput as refused:
        return row | {"tokens/word": f"refused: {str(refused).partition('. ')[0]}"}
    seconds = time.process_time() - began
    found = tokens_per_word(made.tokenizer, corpus.other)
    return row | {
        "tokens/word": f"{found:.2f}",
        "words": f"{made.words:,}",
        "σ, τ": f"{made.noise.deviation:.3g}, {made.noise.threshold or 0:.3g}",
        "processor s": f"{seconds:.0f}",
    }


def _row(corpus: Corpus, tokenizer: str, found: str) -> Row:
    return {
        "corpus": f"{corpus.name} ({len(corpus.private):,})",
        "tokenizer": tokenizer,
        "tokens/word": found,
    }
