"""A word in focus by draws agrees with its rows, and the curves of the package with new words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfumato.attacks.inference.word_guesses import guess_by_rows, public_knowledge
from sfumato.attacks.inference.word_view import ViewEffort, WordView, by_row, view_word
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.metrics.deniability import DrawEffort, measure_deniability
from sfumato.metrics.population import frequent_words
from sfumato.metrics.staying_curves import staying
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space
from statistical.budget import fits_share, rejects
from statistical.hidden_rows import WithoutRows

CHECK, CURVES = "word view: draws", "staying curves"
DRAWS = 20_000


def view(mechanism: PointMechanism, word: str, draws: int, seed: int) -> WordView:
    over = OverVocabulary(points=mechanism)
    effort = ViewEffort(draws=draws, most=20)
    return view_word(over, word, effort, Randomness.reproducible(seed))


def p_values(drawn: Exponential, claimed: Exponential) -> list[float]:
    """How well what is counted fits the row: that a word stays, and each replacement."""
    cat = claimed.space.point_of("cat")
    row = claimed.row(cat)
    found = view(WithoutRows(drawn), "cat", DRAWS, 3)
    assert found.stays is not None
    assert found.replacements is not None
    shares = {one.word: one.share.value for one in found.replacements.words}
    shares["cat"] = found.stays.value
    counted = [shares.get(word, 0.0) for word in claimed.space.words]
    return [
        fits_share(round(share * DRAWS), DRAWS, float(chance))
        for share, chance in zip(counted, row, strict=True)
    ]


def test_counts_fit_the_row_and_those_of_another_level_do_not(small_space: Space) -> None:
    honest = Exponential(space=small_space, epsilon=4.0)
    assert not rejects(CHECK, "stays", p_values(honest, honest))
    assert rejects(CHECK, "stays", p_values(Exponential(space=small_space, epsilon=5.0), honest))


def exact_right(mechanism: Exponential, point: int) -> float:
    """Σ_y P[y | w] · 1[guess(y) = w], the guess being Bayes'."""
    size = len(mechanism.space)
    shares = public_knowledge(mechanism.space, "public").shares[:-1]
    rows = np.exp(mechanism.log_rows(np.arange(size)))
    guess = (shares[:, None] * rows).argmax(axis=0)
    return float(rows[point][guess == point].sum())


def test_draws_from_the_rest_of_a_row_stand_for_all_of_it(random_space: Space) -> None:
    mechanism, draws = Exponential(space=random_space, epsilon=0.6), 400
    # The attacker looks at all words here, so that the guesses are Bayes'.
    point = 1
    whole = exact_right(mechanism, point)
    word = random_space.words[point]
    full = view(mechanism, word, draws, 1)
    assert full.attacker is not None
    assert full.attacker.right.value == pytest.approx(whole, abs=1e-4)

    known = public_knowledge(random_space, "public")
    bayes = guess_by_rows(mechanism, known, np.arange(200), 400).points
    shares = []
    for seed in range(300):
        seen = by_row(mechanism, known, point, 40, Randomness.reproducible(seed))
        assert seen.draws == 20
        shares.append(seen.share(bayes[seen.outputs] == point))

    def missed(width: float) -> float:
        outside = sum(
            not width * (one.low - one.value) <= whole - one.value <= width * (one.high - one.value)
            for one in shares
        )
        return float(stats.binom.sf(outside - 1, len(shares), 0.05))

    assert not rejects(CHECK, "intervals", [missed(1.0)])
    assert rejects(CHECK, "intervals", [missed(0.2)])


def test_guesses_over_all_words_are_right_as_often_as_rows_say(small_space: Space) -> None:
    honest = Exponential(space=small_space, epsilon=2.0)
    twin = Exponential(space=small_space, epsilon=2.5)

    def values(drawn_from: Exponential) -> list[float]:
        found = []
        for point in (0, 7, 11):
            drawn = drawn_from.privatize(
                np.full(DRAWS, point, dtype=np.intp), Randomness.reproducible(point)
            )
            whole = view(honest, small_space.words[point], 400, 1)
            assert whole.attacker is not None
            shares = public_knowledge(small_space, "public").shares[:-1]
            rows = np.exp(honest.log_rows(np.arange(12)))
            guess = (shares[:, None] * rows).argmax(axis=0)
            hits = int((guess[drawn] == point).sum())
            found.append(fits_share(hits, DRAWS, whole.attacker.right.value))
        return found

    assert not rejects(CHECK, "guesses", values(honest))
    assert rejects(CHECK, "guesses", values(twin))


@pytest.mark.parametrize(("name", "level"), [("exponential", 3.3), ("laplace", 7.0)])
def test_new_words_fit_the_curve_and_not_that_of_twice_the_level(name: str, level: float) -> None:
    space = default_space()
    words = frequent_words(space).some(80, Randomness.reproducible(77))
    mechanism = build_mechanism(name, space=space, epsilon=level)
    found = measure_deniability(mechanism, words, DrawEffort(draws=40), Randomness.reproducible(78))

    def below(told: float) -> float:
        """P-value of how many new words stay more rarely than the median that a curve tells.

        The median of 300 words lies between the true quantiles of 30 % and 70 % but for a chance
        of 1e-11; the largest p-value for any place between them is an upper bound.
        """
        hits = int((found.keep <= told).sum())
        return max(fits_share(hits, 80, share) for share in np.linspace(0.3, 0.7, 41).tolist())

    assert not rejects(CURVES, name, [below(staying(name, level).median)])
    assert rejects(CURVES, name, [below(staying(name, 2 * level).median)])
