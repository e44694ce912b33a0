"""Draws of rewriting against the law that their level is proven for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfumato.core.arrays import Floats, Points
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting import draw
from sfumato.mechanisms.rewriting.candidates import Candidates
from sfumato.mechanisms.rewriting.draw import Weighted
from sfumato.mechanisms.rewriting.sentences import Sentences
from statistical.budget import fits_share, rejects

DRAWS = 20_000
WEIGHTS: Floats = np.exp(np.array([0.0, -0.3, -1.0, -2.5, -4.0, -0.3]))


def p_values(outcomes: Points, chances: Floats) -> list[float]:
    counts = np.bincount(outcomes, minlength=len(chances))
    return [
        fits_share(int(hits), len(outcomes), float(share))
        for hits, share in zip(counts, chances, strict=True)
    ]


@pytest.mark.parametrize("bits", [62, 3])
def test_outcomes_are_as_frequent_as_their_weights(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draw, "_BITS", bits)
    case = "weights" if bits == 62 else "large masses"
    found = Weighted.of(WEIGHTS).draw(DRAWS if bits == 62 else 4000, Randomness.reproducible(11))
    assert not rejects("rewriting: draws", case, p_values(found, WEIGHTS / WEIGHTS.sum()))
    # The twin: outcomes as frequent as their classes, without the second step.
    classes = 2.0 ** np.ceil(np.log2(WEIGHTS))
    assert rejects("rewriting: draws", case, p_values(found, classes / classes.sum()))


def test_sentences_come_as_the_rows_say(tmp_path: Path) -> None:
    pool = tmp_path / "pool.txt"
    pool.write_text("The red wine is good\nA white house\nRed grapes\nHe runs home\nThey sing\n")
    mechanism = Sentences(pool=str(pool), beta=4.0, low=-0.5, high=0.9)
    text = "A bottle of red wine."
    (row,) = np.exp(mechanism.law.log_rows(mechanism.text_pool.vectors_of([text])))
    drawn = mechanism.rewrite([text] * 1500, Randomness.reproducible(5))
    numbers = np.array([mechanism.text_pool.sentences.index(one) for one in drawn])
    assert not rejects("rewriting: draws", "sentences", p_values(numbers, row))
    flat = np.full(len(row), 1 / len(row))
    assert rejects("rewriting: draws", "sentences", p_values(numbers, flat))
    none = Sentences(pool=str(pool), beta=0.0)
    drawn = none.rewrite([text] * 1500, Randomness.reproducible(6))
    numbers = np.array([none.text_pool.sentences.index(one) for one in drawn])
    assert not rejects("rewriting: draws", "no weight", p_values(numbers, flat))
    assert rejects("rewriting: draws", "no weight", p_values(numbers, row))


def test_candidates_come_as_the_rows_say(tmp_path: Path) -> None:
    pool = tmp_path / "pool.txt"
    pool.write_text("The red wine is good\nA white house\nRed grapes\nHe runs home\nThey sing\n")
    mechanism = Candidates(pool=str(pool), beta=5.0, low=-0.5, high=0.9, most=2)
    text = "A bottle of red wine. Grapes!"
    row = np.exp(mechanism.law.log_row(mechanism.vectors_of(text)))
    drawn = mechanism.rewrite([text] * 600, Randomness.reproducible(5))
    numbers = np.array([mechanism.text_pool.sentences.index(one) for one in drawn])
    assert not rejects("rewriting: one candidate", "draws", p_values(numbers, row))
    # The twin: the law of its first sentence alone.
    first = np.exp(mechanism.law.log_row(mechanism.vectors_of(text)[:1]))
    assert rejects("rewriting: one candidate", "draws", p_values(numbers, first))
