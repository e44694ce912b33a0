"""How likely a rewritten document is for each original, where its mechanism has rows.

Whoever knows the public pool knows these probabilities: the attacker of maximum likelihood takes
the original with the largest one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.mechanisms.rewriting.candidates import Candidates
from sfumato.mechanisms.rewriting.sentences import Sentences
from sfumato.text.sentences import split_sentences


def chances_of(
    mechanism: Sentences | Candidates, after: Sequence[str], before: Sequence[str]
) -> Floats:
    """The log-probability of each rewritten document (row) for each original (column)."""
    if isinstance(mechanism, Sentences):
        return log_chances(mechanism, after, before)
    return candidate_chances(mechanism, after, before)


def log_chances(mechanism: Sentences, after: Sequence[str], before: Sequence[str]) -> Floats:
    """The log-probability of each rewritten document (row) for each original (column)."""
    pool = mechanism.text_pool
    places = {sentence: number for number, sentence in enumerate(pool.sentences)}
    drawn = [drawn_sentences(text, places) for text in after]
    fits = np.full((len(after), len(before)), -np.inf)
    for column, text in enumerate(before):
        sentences = split_sentences(text)[: mechanism.most]
        vectors = pool.vectors_of(sentences)
        if mechanism.fill and mechanism.most is not None:
            room = np.zeros((mechanism.most - len(sentences), pool.vectors.shape[1]))
            vectors = np.vstack([vectors, room])
        logs = mechanism.law.log_rows(vectors) if len(vectors) else np.empty((0, len(pool)))
        for row, numbers in enumerate(drawn):
            if numbers is not None and len(numbers) == len(logs):
                fits[row, column] = logs[np.arange(len(logs)), numbers].sum()
    # What fits no original fits all alike.
    fits[np.isneginf(fits).all(axis=1)] = 0.0
    return fits


def candidate_chances(mechanism: Candidates, after: Sequence[str], before: Sequence[str]) -> Floats:
    """The log-probability of each rewritten document (row) for each original (column)."""
    places = {one: number for number, one in enumerate(mechanism.text_pool.sentences)}
    drawn = [places.get(text) for text in after]
    fits = np.zeros((len(after), len(before)))
    for column, text in enumerate(before):
        logs = mechanism.law.log_row(mechanism.vectors_of(text))
        # What is in no pool fits all alike.
        fits[:, column] = [0.0 if one is None else logs[one] for one in drawn]
    return fits


def drawn_sentences(text: str, places: Mapping[str, int]) -> list[int] | None:
    """The sentences of a pool that a text is made of, one way if there are several.

    >>> drawn_sentences("Yes. No. Yes.", {"Yes.": 0, "No.": 1}), drawn_sentences("Maybe", {})
    ([0, 1, 0], None)
    """
    words = text.split(" ") if text else []
    reached: dict[int, list[int]] = {0: []}
    for end in range(1, len(words) + 1):
        for start in range(end):
            number = places.get(" ".join(words[start:end])) if start in reached else None
            if number is not None:
                reached[end] = [*reached[start], number]
                break
    return reached.get(len(words))
