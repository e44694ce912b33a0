"""Selective metric DP: what is selected is replaced, the rest stands, and both are said."""

from __future__ import annotations

import itertools

import pytest

from sfumato.accounting.guarantee import Notion
from sfumato.core.errors import IncomparableGuarantees
from sfumato.core.randomness import Randomness
from sfumato.corpora.documents import Document
from sfumato.corpora.words import Words
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.selective import CHOICE_LEAK, STRUCTURE_LEAK, Selective
from sfumato.mechanisms.vocabulary import KEPT_UNKNOWN, OverVocabulary
from sfumato.policies.combine import Minus, Union
from sfumato.policies.imperfect import Imperfect
from sfumato.policies.patterns import Digits, Everything, Nothing, Regex
from sfumato.policies.policy import Policy
from sfumato.vectors.space import Space


def selective(space: Space, policy: Policy, **rules: str) -> Selective:
    points = Laplace(space=space, epsilon=2.0)
    return Selective(policy=policy, mechanism=OverVocabulary(points=points, **rules))


def test_only_selected_words_are_replaced(small_space: Space) -> None:
    text = "Room 77, floor 12\tof\r\nthe  house №5 🙂"
    result = selective(small_space, Digits()).privatize([Document(text)], Randomness.secure())[0]
    words, replaced = Words.of(text), result.text
    assert result.words == len(words)
    assert result.selected == 3
    for kept in ("Room ", ", floor ", "\tof\r\nthe  house №", " 🙂"):
        assert kept in replaced
    assert "77" not in replaced


def test_documents_together_are_documents_one_by_one(small_space: Space) -> None:
    protecting = selective(small_space, Everything())
    documents = [Document("cat 7"), Document(""), Document("…"), Document("rome paris\ncat")]
    together = protecting.privatize(documents, Randomness.reproducible(3))
    assert [result.words for result in together] == [2, 0, 0, 3]
    assert [result.text for result in together][1:3] == ["", "…"]
    again = protecting.privatize(documents, Randomness.reproducible(3))
    assert together == again


def test_no_documents_give_no_documents(small_space: Space) -> None:
    assert selective(small_space, Digits()).privatize([], Randomness.secure()) == []


def test_selective_metric_dp_says_that_the_choice_is_visible(small_space: Space) -> None:
    guarantee = selective(small_space, Digits()).guarantee()
    assert guarantee.notion is Notion.SELECTIVE_METRIC_DP
    assert {STRUCTURE_LEAK, CHOICE_LEAK} <= set(guarantee.leaks)
    assert "whatever the policy does not select" in guarantee.uncovered
    assert "'digits'" in guarantee.scope


def test_everything_selected_is_plain_metric_dp(small_space: Space) -> None:
    guarantee = selective(small_space, Everything()).guarantee()
    assert guarantee.notion is Notion.METRIC_DP
    assert STRUCTURE_LEAK in guarantee.leaks
    assert CHOICE_LEAK not in guarantee.leaks


def test_nothing_selected_is_no_guarantee(small_space: Space) -> None:
    guarantee = selective(small_space, Nothing()).guarantee()
    assert guarantee.notion is Notion.NONE
    assert guarantee.sentence().startswith("Nothing is proven")


def test_the_number_of_kept_unknown_words_is_said(small_space: Space) -> None:
    keeping = selective(small_space, Digits(), unknown="keep")
    assert KEPT_UNKNOWN in keeping.guarantee().uncovered
    assert f"1,234 {KEPT_UNKNOWN}" in keeping.guarantee(1234).uncovered
    assert KEPT_UNKNOWN not in keeping.guarantee(1234).uncovered


@pytest.mark.parametrize(
    ("policy", "unknown", "case"),
    list(
        itertools.product(
            [Digits(), Everything(), Regex("a+")],
            ["centroid", "error", "keep"],
            ["public", "restore"],
        )
    ),
)
def test_no_combination_is_silent_about_what_shows(
    small_space: Space, policy: Policy, unknown: str, case: str
) -> None:
    guarantee = selective(small_space, policy, unknown=unknown, case=case).guarantee()
    sentence = guarantee.sentence()
    assert "still visible: " in sentence
    assert all(leak in sentence for leak in guarantee.leaks)
    assert ("not covered: " in sentence) == (unknown == "keep" or policy.name != "everything")


def test_a_pattern_that_a_user_typed_is_not_part_of_the_guarantee(small_space: Space) -> None:
    # The pattern may itself be a name or a number that must not get out.
    guarantee = selective(small_space, Regex("Quillfeather")).guarantee()
    assert "Quillfeather" not in guarantee.sentence()
    assert "Quillfeather" not in str(guarantee.as_dict())


def test_releases_under_different_patterns_do_not_add_up(small_space: Space) -> None:
    """Both policies are called "regex"; what one hides the other publishes."""
    mechanism = OverVocabulary(points=Laplace(space=small_space, epsilon=5.0))
    names = Selective(policy=Regex("okafor"), mechanism=mechanism).guarantee()
    numbers = Selective(policy=Regex("[0-9]+"), mechanism=mechanism).guarantee()
    assert names.then(names).epsilon == 10.0
    with pytest.raises(IncomparableGuarantees):
        names.then(numbers)


def test_an_experiment_is_never_for_release(small_space: Space) -> None:
    mechanism = OverVocabulary(points=Laplace(space=small_space, epsilon=5.0))
    imperfect = Imperfect(policy=Regex("[0-9]+"), misses=0.5, seed=1)
    for policy in (imperfect, Union((Regex("a"), imperfect)), Minus(imperfect, Regex("a"))):
        guarantee = Selective(policy=policy, mechanism=mechanism).guarantee()
        assert not guarantee.for_release
        assert "not for release" in guarantee.sentence()


def test_restored_capitals_are_part_of_what_is_compared(small_space: Space) -> None:
    mechanism = OverVocabulary(points=Laplace(space=small_space, epsilon=5.0), case="restore")
    assert "capitals" in Selective(policy=Regex("a"), mechanism=mechanism).guarantee().neighbours
    assert "capitals" in Selective(policy=Everything(), mechanism=mechanism).guarantee().neighbours
