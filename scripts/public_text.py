"""Public text for the scripts that train on it: plain, gzipped, or a TSV's first column."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

from sfumato.text.sentences import split_sentences


def read_public_sentences(paths: Iterable[Path], fewest: int, most: int) -> list[str]:
    """All sentences of ``fewest`` to ``most`` words, each once, in their order."""
    found: dict[str, None] = {}
    for path in paths:
        for line in _lines(path):
            for sentence in split_sentences(line):
                if fewest <= len(sentence.split()) <= most:
                    found[sentence] = None
    return list(found)


def _lines(path: Path) -> Iterable[str]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    rows = [line.strip() for line in text.splitlines()]
    if path.suffix == ".tsv":
        rows = [row.split("\t")[0] for row in rows[1:]]
    return (" ".join(row.split()) for row in rows if row)
