"""Label counts with noise: what they cost, and that a unit is counted once."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import LACKS_ONE, Guarantee, Notion
from sfumato.mechanisms import geometric
from sfumato.synthesis.written.label_counts import given_weights, noised_weights, together
from sfumato.text.document import Document

LABELS = ("bad", "good")


def corpus(good: int) -> list[Document]:
    named = ["good"] * good + ["bad"] * (40 - good)
    return [Document("x", labels=(one,), author=f"a{n // 10}") for n, one in enumerate(named)]


def counts(good: int, *, epsilon: float = 1.0, unit: str = "example", seed: int = 1) -> list[float]:
    draws = Randomness.reproducible(seed)
    return noised_weights(corpus(good), LABELS, epsilon=epsilon, unit=unit, randomness=draws)


def test_every_count_has_noise_of_its_own_and_of_the_rate() -> None:
    found = [counts(10, seed=seed) for seed in range(400)]
    assert len({tuple(one) for one in found}) > 50
    assert all(one.is_integer() for row in found for one in row)
    away = Counter(int(row[1] - 10) for row in found)
    # P[0] of two-sided geometric noise is (1 − a)/(1 + a): 0.46 at rate 1.
    assert away[0] / 400 == pytest.approx(math.tanh(0.5), abs=0.1)
    assert any(row[0] - 30 != row[1] - 10 for row in found)


def test_an_author_is_counted_once_whatever_they_wrote() -> None:
    assert sum(counts(40, epsilon=1e3, unit="author")) == 4
    # The twin: all documents of an author.
    assert sum(counts(40, epsilon=1e3)) == 40


def test_twin_counts_without_noise_are_the_same_under_every_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(geometric.ExactDraws, "geometric", lambda *_: 0)
    assert counts(10, seed=1) == counts(10, seed=2) == [30.0, 10.0]


def proven(**other: object) -> Guarantee:
    known = {
        "notion": Notion.APPROXIMATE_DP,
        "unit": "example",
        "neighbors": LACKS_ONE.format(unit="example"),
        "epsilon": 4.0,
        "delta": 1e-5,
    }
    return Guarantee(**known | other)  # type: ignore[arg-type]


def test_levels_add_up_where_neighbors_are_the_same() -> None:
    both = together(proven(), 0.5)
    assert (both.epsilon, both.delta) == (4.5, 1e-5)
    for other in (
        {"notion": Notion.SELECTIVE_DP},
        {"neighbors": "two corpora that differ in a sensitive word"},
    ):
        with pytest.raises(InvalidArgument, match="states another one"):
            together(proven(**other), 0.5)


def test_given_shares_are_checked() -> None:
    assert given_weights({"good": 3}, LABELS) == [0.0, 3.0]
    with pytest.raises(InvalidArgument, match="names 'fine'"):
        given_weights({"fine": 1}, LABELS)
    for wrong in ({"good": -1.0, "bad": 2.0}, {"good": 0.0}):
        with pytest.raises(InvalidArgument, match="no negative share"):
            given_weights(wrong, LABELS)
    with pytest.raises(BadInput, match="record 1 has a label that is not among"):
        noised_weights(
            [Document("x", labels=("?",))],
            LABELS,
            epsilon=1,
            unit="example",
            randomness=Randomness.secure(),
        )
