"""Signals of tokens: against the plain formula, oriented, and finite for every text."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks.membership.evidence import IMPOSSIBLE, Evidence, losses, neutral
from sfumato.attacks.membership.signals import SIGNALS, Knobs, score_signal, standardize_tokens
from sfumato.attacks.token_scores import TokenScores
from unit.attacks.membership.small import table

KNOBS = Knobs(share=0.2, gamma=1.0, offset=1.0)
TOKEN_SIGNALS = ("loss", "zlib", "min-k", "min-k++")
ROW = [-0.1, -4.0, -2.0, -0.3, -9.0, -0.2, -1.0, -0.5, -3.0, -0.4]


def evidence(*rows: Sequence[float]) -> Evidence:
    return Evidence(texts=tuple("x" * len(row) for row in rows), target=table(*rows))


def test_each_is_its_formula() -> None:
    one = evidence(ROW)
    expected = {
        "loss": np.mean(ROW),
        "zlib": np.sum(ROW) / len(zlib.compress(b"x" * 10)),
        "min-k": np.mean([-9.0, -4.0]),
        "min-k++": np.mean([(-9.0 + 3) / 2, (-4.0 + 3) / 2]),
    }
    for name, value in expected.items():
        assert score_signal(name, one, KNOBS)[0] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("name", TOKEN_SIGNALS)
def test_a_more_probable_text_scores_higher(name: str) -> None:
    better = [value / 2 for value in ROW]
    low, high = score_signal(name, evidence(ROW, better), KNOBS)
    assert high > low


@pytest.mark.parametrize("name", TOKEN_SIGNALS)
def test_a_text_without_tokens_stands_in_the_middle(name: str) -> None:
    found = score_signal(
        name, evidence(ROW, [], [2 * one for one in ROW], [one / 2 for one in ROW]), KNOBS
    )
    assert found[1] == np.median(found[[0, 2, 3]])
    assert score_signal(name, evidence([], []), KNOBS).tolist() == [0.0, 0.0]


@given(st.lists(st.lists(st.floats(-1e6, 0), max_size=8), min_size=1, max_size=6))
@pytest.mark.parametrize("name", TOKEN_SIGNALS)
def test_no_text_is_too_short_or_too_strange(name: str, rows: list[list[float]]) -> None:
    assert np.isfinite(score_signal(name, evidence(*rows), KNOBS)).all()


def test_an_impossible_token_makes_nothing_infinite() -> None:
    assert losses(table([-np.inf, 0.0])).tolist() == [-IMPOSSIBLE / 2]
    for name in TOKEN_SIGNALS:
        assert np.isfinite(score_signal(name, evidence([-np.inf], ROW), KNOBS)).all()


def test_a_place_where_all_tokens_are_alike_surprises_nobody() -> None:
    flat = np.array([-2.0, -2.0], np.float32)
    deviation = np.array([0.0, 1.0], np.float32)
    scores = TokenScores(np.array([-2.0, -3.0], np.float32), flat, deviation)
    assert standardize_tokens(scores).tolist() == [0.0, -1.0]


def test_neutral_leaves_numbers_alone() -> None:
    values = np.array([3.0, 1.0])
    assert neutral(values).tolist() == [3.0, 1.0]
    assert SIGNALS.keys() >= set(TOKEN_SIGNALS)
