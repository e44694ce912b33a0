"""The Bayes attacker: nobody does better, exactly; and sentences are weighed as they should be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.attacks.inference.attackers import Attacker, Best, Nearest
from sfumato.attacks.inference.bayes import Bayes, Likelihood
from sfumato.attacks.inference.observed import Observed, observe
from sfumato.attacks.inference.priors import Prior, prior_of
from sfumato.attacks.text_target import TextTarget
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import RowMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.patterns import Digits
from sfumato.text.document import Document
from sfumato.vectors.space import Space
from unit.attacks.inference.made import each_output_once, everything, privatized, rows_of

SEED = Randomness.reproducible
CASES = [
    ("exponential", 0.5),
    ("exponential", 4.0),
    ("truncated", 3.0),
    ("custom", 2.0),
    ("sanitize-plus", 3.0),
    ("hyperbolic", 0.01),
]


def mechanism_of(name: str, epsilon: float, space: Space) -> PointMechanism:
    settings: dict[str, object] = {"size": 4} if name == "custom" else {}
    settings |= {"sensitive_share": 0.5} if name == "sanitize-plus" else {}
    found = build_mechanism(name, space=space, epsilon=epsilon, settings=settings)
    assert isinstance(found, RowMechanism)
    return found


def skewed(space: Space) -> Prior:
    """Every fourth word is likely: neither the order of the vocabulary nor even."""
    shares = np.where(np.arange(len(space)) % 4 == 1, 8.0, 1.0)
    return Prior(np.arange(len(space)), shares / shares.sum(), "made up")


def success(attacker: Attacker, seen: Observed, rows: NDArray[np.float64], prior: Prior) -> float:
    """The exact chance of an attacker: Σ_y prior(g(y)) · P[y | g(y)]."""
    guess = attacker.guesses(seen, 3, SEED(1))[:, 0]
    return float((prior.shares[guess] * rows[guess, seen.outputs]).sum())


@pytest.mark.parametrize(("name", "epsilon"), CASES)
def test_success_is_the_largest_there_is(small_space: Space, name: str, epsilon: float) -> None:
    mechanism = mechanism_of(name, epsilon, small_space)
    rows, prior = rows_of(mechanism), skewed(small_space)
    seen = each_output_once(mechanism, small_space)
    most = float((prior.shares[:, None] * rows).max(axis=0).sum())
    assert success(Bayes(prior), seen, rows, prior) == pytest.approx(most, rel=1e-12)
    assert success(Nearest(), seen, rows, prior) <= most * (1 + 1e-12)
    # The twin forgets the prior.
    even = Bayes(prior_of("uniform", small_space, seen.possible))
    assert success(even, seen, rows, prior) < most - 0.05


class Transposed:
    """A twin that takes P[x | y] for P[y | x]."""

    def __init__(self, points: PointMechanism) -> None:
        self.space, self._points = points.space, points

    def guarantee(self) -> object:
        return self._points.guarantee()

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        return self._points.privatize(points, randomness)

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            found: NDArray[np.float64] = np.log(rows_of(self._points).T[points])
        return found

    def log_row(self, point: int) -> NDArray[np.float64]:
        return self.log_rows(np.array([point])).ravel()

    def row(self, point: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.exp(self.log_row(point))
        return found


@pytest.mark.parametrize(("name", "epsilon"), [("sanitize-plus", 3.0), ("exponential", 1.0)])
def test_a_transposed_likelihood_is_worse(small_space: Space, name: str, epsilon: float) -> None:
    mechanism = mechanism_of(name, epsilon, small_space)
    rows, prior = rows_of(mechanism), skewed(small_space)
    most = float((prior.shares[:, None] * rows).max(axis=0).sum())
    twin = Transposed(mechanism)
    seen = each_output_once(twin, small_space)  # type: ignore[arg-type]
    assert success(Bayes(prior), seen, rows, prior) < most - 5e-3


def test_parts_of_rows_are_rows(random_space: Space) -> None:
    """The quick way without whole rows gives what whole rows give, in blocks or not."""
    mechanism = build_mechanism("truncated", space=random_space, epsilon=2.0)
    prior = skewed(random_space)
    seen = each_output_once(mechanism, random_space)
    by_parts = Bayes(prior).guesses(seen, 5, SEED(1))
    posterior = prior.shares[:, None] * rows_of(mechanism)
    for output in range(0, len(random_space), 7):
        best = posterior[by_parts[output], output]
        assert best == pytest.approx(np.sort(posterior[:, output])[::-1][:5], rel=1e-9)


def test_words_of_one_spelling_are_seen_as_one() -> None:
    """What is seen has the chances of both, and the second is nobody's original."""
    vectors = np.array([[0.0], [1.0], [1.2], [5.0]], dtype=np.float32)
    space = Space("twice", ["a", "b", "a", "c"], vectors)
    mechanism = build_mechanism("exponential", space=space, epsilon=1.0)
    documents = [Document("a b c")]
    seen, truth = observe(TextTarget(tuple(documents), everything(mechanism)), documents)
    assert seen.outputs.tolist() == [0, 1, 3]
    assert seen.possible.tolist() == [0, 1, 3]
    assert truth.unchanged.all()
    rows = rows_of(mechanism)
    looks = np.stack([rows[:, 0] + rows[:, 2], rows[:, 1], rows[:, 3]], axis=1)
    prior = prior_of("uniform", space, seen.possible)
    guess = Bayes(prior).guesses(seen, 2, SEED(1))
    for place in range(3):
        expected = seen.possible[np.argsort(-looks[seen.possible, place], kind="stable")[:2]]
        assert guess[place].tolist() == expected.tolist()


def test_counted_rows_fall_back_on_distance(small_space: Space) -> None:
    """A noise mechanism that almost never moves a word: unseen candidates rank by nearness."""
    mechanism = build_mechanism("laplace", space=small_space, epsilon=200.0)
    seen = each_output_once(mechanism, small_space)
    prior = prior_of("uniform", small_space, seen.possible)
    found = Bayes(prior, draws=3).guesses(seen, 4, SEED(1))
    near = Nearest().guesses(seen, 4, SEED(1))
    assert (found[:, 0] == seen.outputs).all()
    assert (np.sort(found, axis=1) == np.sort(near, axis=1)).all()
    assert all(len(set(row)) == 4 for row in found.tolist())


def test_lucky_draws_do_not_decide(small_space: Space) -> None:
    """A frequent word that was drawn once does not outweigh a rare one that was drawn often."""
    counted = Likelihood(
        build_mechanism("laplace", space=small_space, epsilon=1.0), np.arange(12), 100, SEED(1)
    )
    lowered = counted.cautious(np.array([0.0, 0.01, 0.04, 0.36]))
    assert lowered.tolist() == pytest.approx([0, 0, 0.02, 0.30])
    exact = Likelihood(
        build_mechanism("exponential", space=small_space, epsilon=1.0), np.arange(12), 100, SEED(1)
    )
    assert exact.cautious(np.array([0.01, 0.36])).tolist() == [0.01, 0.36]


CORPUS = [Document("paris cat dog. rome cat 12! berlin dog dog cat\nquark 7 7 7"), Document("cat")]


def test_sentences_are_weighed_as_by_going_through_all_of_them(small_space: Space) -> None:
    """Forward and backward equals the sum over every sentence there could be."""
    mechanism = build_mechanism("exponential", space=small_space, epsilon=1.5)
    prior = prior_of("bigram", small_space, np.arange(12), CORPUS)
    assert prior.bigrams is not None
    target, originals = privatized(everything(mechanism), ["rome cat 12"])
    seen, _ = observe(target, originals)
    rows = rows_of(mechanism)
    follows = np.stack([prior.bigrams.ahead(one, prior.shares) for one in np.eye(12)])
    assert follows.sum(axis=1) == pytest.approx(np.ones(12))
    back = np.stack([prior.bigrams.back(one, prior.shares) for one in np.eye(12)])
    assert back == pytest.approx(follows.T)
    posterior = np.zeros((3, 12))
    first, second, third = seen.outputs
    for a, b, c in product(range(12), repeat=3):
        weight = prior.shares[a] * follows[a, b] * follows[b, c]
        weight *= rows[a, first] * rows[b, second] * rows[c, third]
        for place, point in enumerate((a, b, c)):
            posterior[place, point] += weight
    found = Bayes(prior).guesses(seen, 12, SEED(1))
    assert found.tolist() == np.argsort(-posterior, axis=1).tolist()
    alone = Bayes(Prior(prior.points, prior.shares, "no pairs")).guesses(seen, 12, SEED(1))
    assert (alone != found).any()


def test_a_word_in_the_clear_tells_about_its_neighbor(small_space: Space) -> None:
    """After 'quark' the corpus knows only 7; behind a full stop that says nothing."""
    mechanism = build_mechanism("exponential", space=small_space, epsilon=0.01)
    over = OverVocabulary(points=mechanism)
    release = Selective(policy=Digits(), mechanism=over)
    originals = [Document("quark 7"), Document("quark. 7"), Document("Atlantis 7")]
    target, _ = privatized(release, [one.text for one in originals])
    seen, _ = observe(target, originals)
    # The corpus is mostly about cats, so without a neighbor a cat is the best guess.
    cats = [*CORPUS, Document("cat. " * 30)]
    prior = prior_of("bigram", small_space, np.arange(12), cats)
    found = Bayes(prior).guesses(seen, 2, SEED(1))[:, 0]
    assert [small_space.words[point] for point in found] == ["7", "cat", "cat"]


def test_the_best_stay_in_any_order() -> None:
    """Candidates arrive in blocks; what is kept does not depend on how they are cut."""
    weights = np.random.default_rng(3).random((4, 30))
    weights[2] = 0.0
    points = np.arange(30)
    for cut in (1, 7, 30):
        best = Best.none_yet(4, 5)
        for start in range(0, 30, cut):
            best.add(points[start : start + cut], weights[:, start : start + cut])
        expected = np.argsort(-weights, axis=1, kind="stable")[:, :5]
        assert (best.points[[0, 1, 3]] == expected[[0, 1, 3]]).all()
        assert (best.points[2] == -1).all()
