"""Sensitive outputs keep the inequality, factor and all; other outputs are their originals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pairs import Logs, all_points, all_rows, worst_excess
from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.claims import covered_outputs, euclidean, loss_bounds
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.sanitize_plus import SanitizePlus
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.patterns import Digits, Everything
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.sidefile import side_file
from sfumato.releases.tally import Tally
from sfumato.vectors.space import Space

LEVELS = pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 100.0])
CHANCES = pytest.mark.parametrize("p", [0.01, 0.3, 1.0])
# In the random space words 0 to 4 stand where 190 to 194 do: a frequent and a rare word at once.
SHARES = pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 1.0])


def written_out(claim: SanitizePlus, *, p: float | None = None, over_all: bool = False) -> Logs:
    """Rows from the definition, one input at a time, or of a twin that strays from it."""
    p = claim.p if p is None else p
    rows = []
    for point in all_points(claim.space).tolist():
        sensitive = claim.is_sensitive[point]
        outputs = claim.is_sensitive[:-1] | (over_all and not sensitive)
        away = claim.space.distances_from(point)
        weights = np.where(outputs, np.exp(-claim.epsilon / 2 * (away - away[outputs].min())), 0.0)
        row = weights / math.fsum(weights)
        if not sensitive:
            row *= p
            row[point] += 1 - p
        rows.append(row)
    with np.errstate(divide="ignore"):
        return np.log(np.stack(rows))


# --- the inequality --------------------------------------------------------------------------


@LEVELS
@CHANCES
@SHARES
def test_no_pair_exceeds_the_claim(
    random_space: Space, epsilon: float, p: float, share: float
) -> None:
    mechanism = SanitizePlus(space=random_space, epsilon=epsilon, p=p, sensitive_share=share)
    assert worst_excess(all_rows(mechanism), mechanism) <= 1e-9


@LEVELS
@CHANCES
@SHARES
def test_every_row_sums_to_one(random_space: Space, epsilon: float, p: float, share: float) -> None:
    mechanism = SanitizePlus(space=random_space, epsilon=epsilon, p=p, sensitive_share=share)
    assert np.abs(np.exp(all_rows(mechanism)).sum(axis=1) - 1).max() <= 1e-12


@LEVELS
@CHANCES
def test_rows_are_the_definition_written_out(random_space: Space, epsilon: float, p: float) -> None:
    mechanism = SanitizePlus(space=random_space, epsilon=epsilon, p=p)
    assert np.abs(np.exp(all_rows(mechanism)) - np.exp(written_out(mechanism))).max() <= 1e-12
    assert mechanism.row(0) == pytest.approx(np.exp(written_out(mechanism)[0]), abs=1e-12)


@LEVELS
def test_the_claim_without_the_factor_is_refuted(random_space: Space, epsilon: float) -> None:
    class WithoutFactor(SanitizePlus):
        def loss_bounds(self, point: int) -> Logs:
            return self.epsilon * euclidean(self.space, point)

    mechanism = SanitizePlus(space=random_space, epsilon=epsilon, p=0.3)
    without = WithoutFactor(space=random_space, epsilon=epsilon, p=0.3)
    assert (covered_outputs(without) == covered_outputs(mechanism)).all()
    excess = worst_excess(all_rows(mechanism), without)
    assert excess == pytest.approx(math.log(1 / 0.3), abs=1e-9)
    plain = replace(mechanism, p=1.0)
    assert covered_outputs(plain).all(), "with p = 1 the claim is about every output"
    assert worst_excess(all_rows(plain), plain) <= 1e-9


@LEVELS
def test_twins_that_forget_p_are_caught(random_space: Space, epsilon: float) -> None:
    claim = SanitizePlus(space=random_space, epsilon=epsilon, p=0.3)
    assert worst_excess(written_out(claim), claim) <= 1e-9, "twins fail for what was changed"
    assert worst_excess(written_out(claim, p=0.0), claim) == math.inf, "always kept"
    assert worst_excess(written_out(claim, p=0.09), claim) > 1e-3, "kept twice over"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_twin_that_draws_from_all_words_is_caught(random_space: Space, epsilon: float) -> None:
    claim = SanitizePlus(space=random_space, epsilon=epsilon, p=0.3)
    assert worst_excess(written_out(claim, over_all=True), claim) > 1e-3


@LEVELS
def test_twin_with_four_times_the_epsilon_is_caught(random_space: Space, epsilon: float) -> None:
    claim = SanitizePlus(space=random_space, epsilon=epsilon)
    assert worst_excess(all_rows(replace(claim, epsilon=4 * epsilon)), claim) > 1e-6


def test_the_factor_is_claimed_in_one_direction_only(random_space: Space) -> None:
    mechanism = SanitizePlus(space=random_space, epsilon=2.0, p=0.25)
    frequent, rare = 3, 150
    assert not mechanism.is_sensitive[frequent]
    assert mechanism.is_sensitive[rare]
    away = 2.0 * euclidean(random_space, rare)
    assert loss_bounds(mechanism, rare)[frequent] == pytest.approx(away[frequent] + math.log(4))
    assert loss_bounds(mechanism, rare)[151] == pytest.approx(away[151])
    assert loss_bounds(mechanism, rare)[random_space.unknown] == pytest.approx(away[-1])
    bounds = loss_bounds(mechanism, frequent)
    assert bounds == pytest.approx(2.0 * euclidean(random_space, frequent))


def test_an_output_that_is_not_sensitive_is_its_own_original(random_space: Space) -> None:
    rows = np.exp(all_rows(SanitizePlus(space=random_space, epsilon=1.0, p=0.3)))
    for word in range(20):
        assert np.flatnonzero(rows[:, word]).tolist() == [word]
        assert rows[word, word] == pytest.approx(0.7, rel=1e-12)


# --- which words are sensitive ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "sensitive"), [(1.0, 12), (0.9, 11), (0.5, 6), (0.25, 3), (1e-9, 1)]
)
def test_the_rarest_words_are_sensitive_and_the_unknown_point_always(
    small_space: Space, share: float, sensitive: int
) -> None:
    mechanism = SanitizePlus(space=small_space, epsilon=1, sensitive_share=share)
    assert mechanism.is_sensitive.tolist() == [False] * (12 - sensitive) + [True] * (sensitive + 1)
    assert (covered_outputs(mechanism) == mechanism.is_sensitive[:-1]).all()
    assert np.flatnonzero(mechanism.row(small_space.unknown)).min() == 12 - sensitive


def test_words_can_be_named_as_sensitive(small_space: Space) -> None:
    rare = SanitizePlus(space=small_space, epsilon=1, sensitive_share=0.5)
    named = replace(rare, sensitive=("PARIS", "quark", "Atlantis"))
    changed = np.flatnonzero(named.is_sensitive != rare.is_sensitive)
    assert changed.tolist() == [small_space.point_of("paris")]
    assert worst_excess(all_rows(named), named) <= 1e-9
    assert named.row(1)[0] > 0, "what is named can be an output"


def test_a_spelling_that_stands_twice_is_one_word() -> None:
    # Else "a" would be an output that is covered and shows its original all the same.
    vectors = np.arange(8, dtype=np.float32).reshape(4, 2)
    space = Space("twice", ["a", "b", "c", "a"], vectors)
    mechanism = SanitizePlus(space=space, epsilon=1, sensitive_share=0.5)
    assert mechanism.is_sensitive.tolist() == [False, False, True, False, True]
    assert "the 2 most frequent of the 4 words of twice)" in mechanism.guarantee().uncovered[0]


def test_a_share_that_leaves_no_sensitive_word_is_refused() -> None:
    # Without an output every row would be 0/0, and draws from it the first word of all.
    space = Space("twice", ["a", "b", "a"], np.arange(6, dtype=np.float32).reshape(3, 2))
    nobody = SanitizePlus(space=space, epsilon=1, sensitive_share=0.3)
    with pytest.raises(InvalidArgument, match="leaves no sensitive word"):
        nobody.guarantee()
    named = replace(nobody, sensitive=("b",))
    assert named.row(space.unknown).tolist() == [0.0, 1.0, 0.0]


@LEVELS
def test_with_all_words_sensitive_it_is_the_exponential_mechanism(
    random_space: Space, epsilon: float
) -> None:
    mechanism = SanitizePlus(space=random_space, epsilon=epsilon, sensitive_share=1.0)
    plain = Exponential(space=random_space, epsilon=epsilon)
    assert np.abs(all_rows(mechanism) - all_rows(plain)).max() <= 1e-12
    points = np.tile(all_points(random_space), 3)
    assert (
        mechanism.privatize(points, Randomness.reproducible(2))
        == plain.privatize(points, Randomness.reproducible(2))
    ).all()
    assert mechanism.guarantee() == plain.guarantee()


def test_at_a_very_high_level_sensitive_words_stay(small_space: Space) -> None:
    mechanism = SanitizePlus(space=small_space, epsilon=1e9, sensitive_share=0.5)
    points = np.arange(6, 12)
    assert (mechanism.privatize(points, Randomness.secure()) == points).all()


# --- what is said ----------------------------------------------------------------------------


def test_the_guarantee_says_where_it_ends(random_space: Space) -> None:
    guarantee = SanitizePlus(space=random_space, epsilon=3, p=0.3).guarantee()
    assert guarantee.notion is Notion.UTILITY_OPTIMIZED_METRIC_LDP
    assert guarantee.epsilon == 3.0
    assert guarantee.metric == random_space.metric
    sentence = guarantee.sentence()
    assert "at most exp(3·d) times likelier" in sentence
    assert "wherever a sensitive word is put in its place" in sentence
    assert "a further factor of 1/0.3" in sentence
    assert "any other replacement is the original itself" in sentence
    assert "the 20 most frequent of the 200 words of random)" in sentence
    assert "stay with probability 1 − 0.3" in sentence


def test_where_no_word_stays_on_purpose_it_is_plain_metric_dp(random_space: Space) -> None:
    mechanism = SanitizePlus(space=random_space, epsilon=3)
    for plain in (replace(mechanism, p=1.0), replace(mechanism, sensitive_share=1.0)):
        guarantee = plain.guarantee()
        assert guarantee.notion is Notion.METRIC_DP
        assert not guarantee.uncovered


def test_named_words_are_counted_and_never_listed(small_space: Space) -> None:
    mechanism = SanitizePlus(
        space=small_space, epsilon=3, sensitive_share=0.5, sensitive=("paris", "rome", "quark")
    )
    written = str(mechanism.guarantee().as_dict()) + mechanism.guarantee().sentence()
    assert "less 2 named as sensitive" in written
    assert "paris" not in written
    privatizer = Privatizer(policy="digits", mechanism=mechanism)
    assert "paris" not in str(side_file(privatizer, Tally(), has_fields=False))


def test_a_selection_keeps_the_factor_and_the_gap(small_space: Space) -> None:
    mechanism = SanitizePlus(space=small_space, epsilon=2.0, sensitive_share=0.5)
    over = OverVocabulary(points=mechanism, case="restore")
    for policy in (Digits(), Everything()):
        guarantee = Selective(policy=policy, mechanism=over).guarantee()
        assert guarantee.notion is Notion.UTILITY_OPTIMIZED_METRIC_LDP
        assert "a further factor of 1/0.3" in guarantee.neighbors
        assert "capitals" in guarantee.neighbors
        assert any("show themselves" in gap for gap in guarantee.uncovered)


def test_the_side_file_says_what_holds_for_sensitive_replacements_only(small_space: Space) -> None:
    privatizer = Privatizer(
        policy="digits", mechanism="sanitize-plus", epsilon=2, vectors=small_space
    )
    content = side_file(privatizer, Tally(), has_fields=False)
    statement = content["per_word"]["statement"]
    assert "a replacement that is a sensitive word" in statement
    assert "a further factor of 1/0.3" in statement
    assert "any other replacement is the original itself" in statement
    assert "further factor" in content["per_document"]["statement"]
    settings = content["settings"]["mechanism_settings"]
    assert (settings["p"], settings["sensitive_share"]) == (0.3, 0.9)


def test_releases_add_up_for_the_same_sensitive_words_only(small_space: Space) -> None:
    mechanism = SanitizePlus(space=small_space, epsilon=2.0)
    twice = mechanism.guarantee().then(mechanism.guarantee())
    assert twice.epsilon == 4.0
    assert "in each release" in twice.neighbors
    for different in (
        replace(mechanism, p=0.4),
        replace(mechanism, sensitive_share=0.5),
        replace(mechanism, sensitive=("paris",)),
    ):
        with pytest.raises(IncomparableGuarantees):
            mechanism.guarantee().then(different.guarantee())


# --- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["p", "sensitive_share"])
@pytest.mark.parametrize("value", [0, -0.1, 1.1, math.inf, math.nan, "half", True, None])
def test_a_share_that_is_none_is_refused(small_space: Space, name: str, value: object) -> None:
    with pytest.raises(InvalidArgument, match=f"{name}="):
        build_mechanism("sanitize-plus", space=small_space, epsilon=1.0, settings={name: value})


@pytest.mark.parametrize("name", ["p", "sensitive_share"])
def test_a_share_out_of_range_is_refused_with_the_range(small_space: Space, name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name}=2.0 must be greater than 0 and at most 1"):
        build_mechanism("sanitize-plus", space=small_space, epsilon=1.0, settings={name: "2"})


@pytest.mark.parametrize("sensitive", ["paris", 7, (7,), None])
def test_sensitive_words_must_be_words(small_space: Space, sensitive: object) -> None:
    with pytest.raises(InvalidArgument, match="list of words"):
        SanitizePlus(space=small_space, epsilon=1, sensitive=sensitive)  # type: ignore[arg-type]


def test_settings_are_read_from_the_command_line(small_space: Space) -> None:
    typed = {"p": "0.5", "sensitive_share": "0.25", "sensitive": "paris, rome"}
    built = build_mechanism("sanitize-plus", space=small_space, epsilon=1.0, settings=typed)
    assert isinstance(built, SanitizePlus)
    assert (built.p, built.sensitive_share, built.sensitive) == (0.5, 0.25, ("paris", "rome"))


def test_zero_epsilon_is_refused_with_a_reason(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match=r"epsilon=0 must be greater than 0"):
        SanitizePlus(space=small_space, epsilon=0)
