"""Bags of words, by drawing and by noise: every bag of tiny documents is counted out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest

from sfumato.accounting.bounded_range import exact_level
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.rewriting.bag import Bag
from sfumato.mechanisms.rewriting.terms import Terms
from sfumato.testing import check_mechanism
from sfumato.vectors.space import Space

Law = Callable[[tuple[int, ...]], dict[tuple[int, ...], float]]
SPACE = Space("toy", ["a", "b", "c"], np.array([[0.0], [1.0], [3.0]], dtype=np.float32))
LEVEL = 0.7
POINTS = Exponential(space=SPACE, epsilon=LEVEL)
ROWS = np.exp(POINTS.log_rows(np.arange(3)))


# --- bags by noise: the earth mover's distance ----------------------------------------------------


def law_of_bag(document: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The probability of every bag: all sequences of outputs, gathered by what is in them."""
    found: Counter[tuple[int, ...]] = Counter()
    for outputs in product(range(3), repeat=len(document)):
        chance = math.prod(ROWS[word, out] for word, out in zip(document, outputs, strict=True))
        found[tuple(sorted(outputs))] += chance
    return dict(found)


def law_in_order(document: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The sabotage: the order of the document is kept."""
    return {
        outputs: math.prod(ROWS[word, out] for word, out in zip(document, outputs, strict=True))
        for outputs in product(range(3), repeat=len(document))
    }


def least_sum(first: Sequence[int], second: Sequence[int]) -> float:
    """The cheapest pairing, found by trying all."""
    places = [float(one) for one in SPACE.vectors[:, 0]]
    return min(
        sum(abs(places[a] - places[b]) for a, b in zip(first, order, strict=True))
        for order in permutations(second)
    )


def broken(law: Law, level: Callable[[int], float]) -> int:
    """How many outputs break the claim, over all pairs of documents with three words."""
    documents = list(product(range(3), repeat=3))
    laws = {one: law(one) for one in documents}
    count = 0
    for first, second in product(documents, repeat=2):
        bound = level(len(first)) * least_sum(first, second)
        for output, chance in laws[first].items():
            count += chance > laws[second].get(output, 0.0) * math.exp(bound) * (1 + 1e-9)
    return count


def test_a_bag_has_the_level_of_its_words_in_the_cheapest_pairing() -> None:
    assert broken(law_of_bag, lambda _: LEVEL) == 0


def test_twin_words_in_their_order_do_not() -> None:
    assert broken(law_in_order, lambda _: LEVEL) > 0


def test_twin_the_mean_distance_in_the_place_of_the_sum() -> None:
    assert broken(law_of_bag, lambda size: LEVEL / size) > 0


def test_a_bag_is_drawn_by_that_law_and_states_it() -> None:
    made = Bag(epsilon=LEVEL, mechanism="exponential")
    vars(made)["space"] = SPACE  # instead of a file
    drawn = Counter(made.rewrite(["a. C, b!"] * 1000, Randomness.reproducible(4)))
    law = law_of_bag((0, 2, 1))
    for bag, chance in law.items():
        words = " ".join(SPACE.words[one] for one in bag)
        assert abs(drawn[words] / 1000 - chance) < 0.06
    stated = made.guarantee()
    assert stated.notion is Notion.METRIC_DP
    assert stated.unit == "document"
    assert "equally many words" in stated.neighbors
    assert "earth mover" in stated.metric
    assert any("how many words" in leak for leak in stated.leaks)
    with pytest.raises(InvalidArgument, match="nothing follows for bags"):
        Bag(epsilon=1, mechanism="custom").guarantee()


# --- bags by drawing: any two documents -----------------------------------------------------------


@pytest.fixture(scope="module")
def terms() -> Terms:
    """Four public words in the plane, two draws."""
    made = Terms(beta=2.0, terms=2, words=4, skip=0, low=-1.0, high=1.0)
    vectors = np.array([[1, 0], [0, 1], [-1, 0.2], [0.5, -1]], dtype=np.float32)
    vars(made)["space"] = Space("toy", ["ba", "be", "bi", "bo"], vectors)
    return made


def law_of_terms(made: Terms, document: str, *, nearest: int | None = None) -> np.ndarray:
    """The probability of every bag of two words; with ``nearest``, only such are possible."""
    rows = []
    for point in made.points_of(document):
        scores = made.law.scores(made._vector(int(point)))
        weights = np.exp(scores)
        if nearest is not None:
            weights[np.argsort(-scores)[nearest:]] = 0.0
        rows.append(weights / weights.sum())
    one = np.mean(rows, axis=0)
    return np.array(
        [
            one[a] * one[b] * (1 if a == b else 2)
            for a, b in combinations_with_replacement(range(len(one)), 2)
        ]
    )


DOCUMENTS = ("", "ba", "be", "bi", "bo", "ba be", "ba ba bi", "bo xx", "be be be be bi bo")


def largest_ratio(made: Terms, **sabotage: int) -> float:
    laws = [law_of_terms(made, one, **sabotage) for one in DOCUMENTS]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [np.log(p[p > 0] / q[p > 0]) for p, q in product(laws, repeat=2)]
    return max(float(one.max()) for one in ratios)


def test_any_two_documents_are_within_the_level(terms: Terms) -> None:
    level = terms.guarantee().epsilon
    assert level == pytest.approx(2 * exact_level(4.0, 4))
    assert 0.5 * level < largest_ratio(terms) <= level
    # One draw for a mixture of words is within the level of one draw, too.
    assert terms.draw_level == pytest.approx(level / 2)


def test_twin_a_draw_among_synonyms_has_no_level(terms: Terms) -> None:
    assert largest_ratio(terms, nearest=2) == math.inf


def test_twin_half_a_window_for_each_draw_is_too_little(terms: Terms) -> None:
    assert largest_ratio(terms) > terms.terms * terms.law.score_range / 2


def test_terms_are_drawn_by_that_law(terms: Terms) -> None:
    law = law_of_terms(terms, "ba ba bi")
    drawn = Counter(terms.rewrite(["ba ba bi"] * 600, Randomness.reproducible(2)))
    words = [" ".join(pair) for pair in combinations_with_replacement(("ba", "be", "bi", "bo"), 2)]
    assert set(drawn) <= set(words)
    for bag, chance in zip(words, law, strict=True):
        assert abs(drawn[bag] / 600 - chance) < 0.08


def test_every_document_has_as_many_terms_and_the_level_that_was_asked_for() -> None:
    made = Terms(epsilon=60.0, terms=6, words=50)
    texts = made.rewrite(["", "one", "the doctor " * 40], Randomness.secure())
    assert [len(text.split()) for text in texts] == [6, 6, 6]
    assert made.guarantee().epsilon == pytest.approx(60.0)
    many = replace(made, terms=60)
    better = replace(many, delta=1e-5)
    assert better.guarantee().epsilon <= 60.0
    assert better.law.beta > many.law.beta
    assert replace(made, epsilon=None, beta=0.0).guarantee().notion is Notion.INDEPENDENT
    for wrong in ({"terms": 0}, {"delta": 1.0}, {"skip": 10**7}, {"beta": 1.0}):
        with pytest.raises(InvalidArgument):
            replace(made, **wrong).guarantee()


def test_both_conform() -> None:
    check_mechanism("terms", settings={"epsilon": 40.0, "terms": 5, "words": 60})
    check_mechanism("bag", settings={"epsilon": 5.0})
