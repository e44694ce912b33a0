"""The sentence: it holds the promise and, in the same breath, what the promise leaves out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.guarantees.guarantee import Guarantee, Notion, metric_dp, no_guarantee
from sfumato.guarantees.wording import at_most, exact, for_people, per_document, per_word

HAS_A_DISTANCE = {
    Notion.METRIC_DP,
    Notion.SELECTIVE_METRIC_DP,
    Notion.UTILITY_OPTIMIZED_METRIC_LDP,
    Notion.DIRECTIONAL,
}

# What these say has neither one level nor one distance: test_parts.py.
WITH_A_LEVEL = sorted(set(Notion) - {Notion.NONE, Notion.INDEPENDENT, Notion.BY_TYPE})

phrases = st.lists(st.text("abcdefghij ", min_size=1), max_size=4, unique=True).map(tuple)


def stated(notion: Notion, **changes: object) -> Guarantee:
    guarantee = Guarantee(
        notion=notion,
        unit="word",
        neighbors="texts that differ in one word",
        epsilon=2.5,
        metric="Euclidean distance between the toy word vectors"
        if notion in HAS_A_DISTANCE
        else "",
        scope="every word that the policy 'digits' selects",
        leaks=("which words were selected",),
        uncovered=("whatever the policy does not select",),
    )
    return replace(guarantee, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("notion", WITH_A_LEVEL)
def test_every_notion_is_said_with_its_level_scope_leaks_and_gaps(notion: Notion) -> None:
    sentence = stated(notion).sentence()
    assert "2.5" in sentence
    assert "every word that the policy 'digits' selects" in sentence
    assert "still visible: which words were selected" in sentence
    assert "not covered: whatever the policy does not select" in sentence
    assert sentence.endswith(".")
    assert sentence.count(".") == 2, "one sentence; the other full stop is the level's"


@pytest.mark.parametrize("notion", sorted(HAS_A_DISTANCE))
def test_a_level_per_distance_names_the_distance(notion: Notion) -> None:
    sentence = stated(notion).sentence()
    assert "exp(2.5·d)" in sentence
    assert "Euclidean distance between the toy word vectors" in sentence
    assert "adds up across its privatized words" in sentence


@pytest.mark.parametrize("notion", [Notion.PURE_DP, Notion.APPROXIMATE_DP, Notion.SELECTIVE_DP])
def test_a_level_between_neighbors_names_the_neighbors(notion: Notion) -> None:
    sentence = stated(notion).sentence()
    assert "exp(2.5) times" in sentence
    assert "texts that differ in one word" in sentence


def test_inside_groups_the_level_is_said_without_a_distance_and_outside_as_infinite() -> None:
    sentence = stated(Notion.LDP_WITHIN_GROUPS).sentence()
    assert "exp(2.5) times likelier for one original than for another of the same group" in sentence
    assert "words of different groups are told apart for certain" in sentence
    assert "epsilon is infinite" in sentence
    assert "comparing texts that differ in one word" in sentence
    assert "distance" not in sentence


def test_a_utility_optimized_level_is_said_for_sensitive_replacements_only() -> None:
    sentence = stated(Notion.UTILITY_OPTIMIZED_METRIC_LDP).sentence()
    assert "wherever a sensitive word is put in its place" in sentence
    assert "any other replacement is the original itself" in sentence
    assert "comparing texts that differ in one word" in sentence


def test_no_other_notion_speaks_of_groups_or_sensitive_words() -> None:
    special = {Notion.LDP_WITHIN_GROUPS, Notion.UTILITY_OPTIMIZED_METRIC_LDP}
    for notion in {*WITH_A_LEVEL, Notion.NONE} - special:
        guarantee = stated(notion)
        for text in (guarantee.sentence(), per_word(guarantee), per_document(guarantee)):
            assert "group" not in text
            assert "sensitive" not in text


@pytest.mark.parametrize("notion", WITH_A_LEVEL)
def test_the_level_of_a_word_and_of_a_document_names_a_distance_only_if_there_is_one(
    notion: Notion,
) -> None:
    for text in (per_word(stated(notion)), per_document(stated(notion))):
        assert "2.5" in text
        assert ("distance" in text) == (notion in HAS_A_DISTANCE)
        assert not text.endswith(".")


def test_a_word_and_a_document_of_groups_end_where_the_group_ends() -> None:
    guarantee = stated(Notion.LDP_WITHIN_GROUPS)
    assert "of the same group" in per_word(guarantee)
    assert "told apart for certain" in per_word(guarantee)
    assert "2.5 for each privatized word that differs" in per_document(guarantee)
    assert "nothing is proven once a word leaves its group" in per_document(guarantee)


def test_a_word_and_a_document_of_sensitive_words_keep_the_further_factor() -> None:
    neighbors = "any two values of one word (with a further factor of 1/0.3)"
    guarantee = stated(Notion.UTILITY_OPTIMIZED_METRIC_LDP, neighbors=neighbors)
    assert "a further factor of 1/0.3" in guarantee.sentence()
    assert "a further factor of 1/0.3" in per_word(guarantee)
    assert "any other replacement is the original itself" in per_word(guarantee)
    assert "further factor" in per_document(guarantee)


def test_without_a_level_a_word_and_a_document_promise_nothing() -> None:
    nothing = no_guarantee(unit="word")
    assert per_word(nothing) == per_document(nothing) == "nothing is proven"


def test_a_delta_is_said_and_no_delta_is_not() -> None:
    assert "1e-05" in stated(Notion.APPROXIMATE_DP, delta=1e-5).sentence()
    assert "probability" not in stated(Notion.PURE_DP).sentence()


def test_the_baseline_says_that_nothing_is_proven_and_promises_no_factor() -> None:
    sentence = no_guarantee(unit="word").not_covering("every word").sentence()
    assert sentence.startswith("Nothing is proven")
    assert "not covered: every word" in sentence
    assert "exp(" not in sentence
    assert math.isinf(no_guarantee(unit="word").epsilon)


@given(phrases, phrases)
def test_no_leak_and_no_gap_is_ever_left_out(leaks: tuple[str, ...], gaps: tuple[str, ...]) -> None:
    sentence = replace(
        metric_dp(epsilon=1.0, metric="distance"), leaks=leaks, uncovered=gaps
    ).sentence()
    assert all(phrase in sentence for phrase in (*leaks, *gaps))
    assert ("still visible" in sentence) or not leaks
    assert ("not covered" in sentence) or not gaps


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 8, 123456.0, 1e6])
def test_the_level_in_the_sentence_is_the_level_of_the_guarantee(epsilon: float) -> None:
    sentence = metric_dp(epsilon=epsilon, metric="distance").sentence()
    said = float(sentence.split("exp(")[1].split("·")[0])
    assert said >= epsilon
    assert said == pytest.approx(epsilon, rel=1e-3)


SMALLEST = 5e-324  # the smallest number there is; it has one bit
probabilities = (
    st.floats(min_value=SMALLEST, max_value=1.0)
    | st.floats(min_value=SMALLEST, max_value=1e-307)
    | st.builds(
        lambda digits, power: digits * 10.0**-power, st.integers(1, 10**9), st.integers(9, 308)
    )
)


def never_below(shown: Callable[[float], str], value: float) -> bool:
    """Whether whoever reads it reads no less than there is."""
    return float(shown(value)) >= value


@given(probabilities, st.integers(1, 17))
@example(9.9999999e-6, 6)
@example(1.0000004e-5, 6)
@example(SMALLEST, 6)
@example(2.5e-318, 3)
@example(math.nextafter(1.0, 0.0), 15)
@example(0.1 + 0.2, 15)
def test_a_bound_in_few_digits_is_never_below_it(value: float, digits: int) -> None:
    shown = at_most(value, digits)
    assert never_below(lambda one: at_most(one, digits), value)
    mantissa = shown.partition("e")[0].replace(".", "").strip("0")
    assert len(mantissa) <= digits
    # And not far above: less than a unit of the last digit.
    assert Decimal(shown) <= Decimal(repr(value)) * (1 + Decimal(10) ** (1 - digits))


@pytest.mark.parametrize("twin", ["{:g}".format, "{:.15g}".format, "{:.0e}".format])
def test_twins_that_round_to_the_nearest_are_caught(twin: Callable[[float], str]) -> None:
    tried = [1.0000004e-5, 0.1 + 0.2, 1.4e-5, 2.5e-318]
    assert not all(never_below(twin, value) for value in tried)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1e-5, "1e-05"),
        (8.4e-5, "8.4e-05"),
        (0.01, "0.01"),
        (9.9999999e-6, "1e-05"),
        (1.0000004e-5, "1.00001e-05"),
        (1.0, "1"),
        (0.0, "0"),
    ],
)
def test_a_number_that_somebody_typed_stays_as_it_is(value: float, shown: str) -> None:
    assert at_most(value) == shown


@given(probabilities)
@example(1.0000004e-5)
def test_the_sentence_never_states_a_smaller_probability(delta: float) -> None:
    sentence = stated(Notion.SELECTIVE_DP, delta=delta).sentence()
    said = re.search(r"up to a probability of ([\d.e+-]+)\)", sentence)
    assert said
    assert float(said[1]) >= delta


@given(st.floats(min_value=1e-12, max_value=1e300))
@example(0.1 + 0.2)
def test_a_level_is_never_stated_smaller(epsilon: float) -> None:
    assert never_below(exact, epsilon)
    assert never_below(for_people, epsilon)


def test_people_do_not_read_fifteen_digits() -> None:
    guarantee = stated(Notion.APPROXIMATE_DP, epsilon=7.99996602408505)
    for text in (guarantee.sentence(), per_word(guarantee), per_document(guarantee)):
        assert "7.9999" not in text
        assert "8" in text
    assert guarantee.as_dict()["epsilon"] == 7.99996602408505


def test_a_large_share_of_words_that_stay_is_said_and_a_small_one_is_not() -> None:
    loud = stated(Notion.METRIC_DP, stays=0.875)
    assert "about 88 % of the words are expected to stay as they are" in loud.sentence()
    assert "expected to stay" not in stated(Notion.METRIC_DP, stays=0.2).sentence()
    assert "expected to stay" not in stated(Notion.METRIC_DP).sentence()
    assert Guarantee.from_dict(loud.as_dict()) == loud
    assert "stays" not in stated(Notion.METRIC_DP).as_dict()
