"""How many words of privatized texts are those of the originals, and how many secrets still stand.

A study that measures texts has the overlap of sets of words; this counts places. Nothing of the
texts is kept. A word that differs in capitals alone has stayed: replacements have none. A document
in which a replacement is read as several words has no places to compare, and is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sfumato.core.randomness import Randomness
from sfumato.results.measured import SHARE, Measured
from sfumato.results.row import HIGHER, LEAKAGE, LOWER, UTILITY, Row
from sfumato.statistics.shares import bootstrap_mean, share_of
from sfumato.studies.cell import CORPUS, RELEASE
from sfumato.studies.folder import DONE, CellRecord, StudyFolder
from sfumato.text.words import Words

STAYS, CLEAR = "words that stay", "secrets in the clear"
OVERLAP = "word overlap"
# The files of a cell.
TRAIN, RELEASED, CANARIES = "train.jsonl", "text.jsonl", "canaries.json"


def staying(folder: StudyFolder) -> Iterator[Row]:
    """Rows about every privatized text that the study has compared with its originals."""
    cells = [cell for cell in folder.cells() if cell.state == DONE]
    compared = {key for cell in cells if _compares(cell) for key in cell.inputs}
    corpora = {cell.key for cell in cells if cell.kind == CORPUS}
    for cell in cells:
        if cell.kind != RELEASE or cell.key not in compared:
            continue
        corpus = folder.cell(next(key for key in cell.inputs if key in corpora))
        if not (corpus / TRAIN).is_file():
            continue  # a private corpus is never copied
        before, after = _texts(corpus / TRAIN), _texts(folder.cell(cell.key) / RELEASED)
        told = []
        if (corpus / CANARIES).is_file():
            told = json.loads((corpus / CANARIES).read_text("utf-8"))["canaries"]
        # A document that is a secret alone is no text whose words one would count.
        lone = {one["text"] for one in told if "text" in one}
        texts = [pair for pair in zip(before, after, strict=True) if pair[0] not in lone]
        yield _row(cell, count_staying(*zip(*texts, strict=True)), UTILITY, HIGHER)
        if told:
            secrets = [one["secret"] for one in told]
            yield _row(cell, count_standing(secrets, before, after), LEAKAGE, LOWER)


def count_staying(before: Sequence[str], after: Sequence[str]) -> Measured:
    """The share of words that are the same at the same place, a mean over documents.

    >>> count_staying(["The cat sat.", "A dog"], ["the cow sat.", "a dog ran"]).value
    0.6666666666666666
    """
    shares = []
    for pair in zip(before, after, strict=True):
        first, second = ([word.casefold() for word in Words.of(text)] for text in pair)
        if first and len(first) == len(second):
            shares.append(np.mean([one == other for one, other in zip(first, second, strict=True)]))
    return bootstrap_mean(STAYS, np.array(shares), Randomness.reproducible(1), SHARE)


def count_standing(secrets: Sequence[str], before: Sequence[str], after: Sequence[str]) -> Measured:
    """The share of places of the secrets at which these still stand.

    >>> count_standing(["123"], ["My ID is 123.", "ID: 123"], ["My ID is cow.", "it: 123"]).value
    0.5
    """
    planted, left = (
        [sum(list(Words.of(text)).count(one) for text in texts) for one in secrets]
        for texts in (before, after)
    )
    stand = sum(min(pair) for pair in zip(planted, left, strict=True))
    return share_of(CLEAR, np.arange(sum(planted)) < stand)


def _compares(cell: CellRecord) -> bool:
    return any(row.metric == OVERLAP for row in cell.rows)


def _texts(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]


def _row(cell: CellRecord, found: Measured, role: str, better: str) -> Row:
    return Row(
        cell=cell.key, corpus=cell.corpus, method=cell.method, parameter=cell.parameter,
        level=cell.level, seed=cell.seed, role=role, by="text", metric=found.metric, better=better,
        value=found.value, low=found.low, high=found.high, n=found.n, least=0.0, most=1.0,
    )  # fmt: skip
