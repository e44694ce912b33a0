"""Selective metric DP: what is selected is replaced, the rest stands, and both are said."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from products import UNKNOWN, Traced, distance, laws_of_each, loss, losses, words_of
from sfumato.core.errors import IncomparableGuarantees
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.redact import TYPE_LEAK, Redact
from sfumato.mechanisms.selective import CHOICE_LEAK, STRETCH_LEAK, STRUCTURE_LEAK, Selective
from sfumato.mechanisms.vocabulary import KEPT_UNKNOWN, OverVocabulary
from sfumato.policies.combine import Minus, Union
from sfumato.policies.imperfect import Imperfect
from sfumato.policies.patterns import Digits, Everything, Nothing, Regex
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.words import Words
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
    assert "capitals" in Selective(policy=Regex("a"), mechanism=mechanism).guarantee().neighbors
    assert "capitals" in Selective(policy=Everything(), mechanism=mechanism).guarantee().neighbors


def selected(word: str) -> bool:
    """The policy of the checks below: every other word, and the unknown one."""
    return word == UNKNOWN or word[-1] in "02468"


EVERY_OTHER = Regex(rf"\b(?:\w*[02468]|{UNKNOWN})\b")
BOTH_PLACES = pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 100.0])


def worst_pair_of_texts(space: Space, mechanism: Traced, policy: Policy) -> float:
    """The largest excess over epsilon·Σd of any two neighboring texts of two words."""
    protecting = Selective(policy=policy, mechanism=mechanism)
    words = [word for word in words_of(space) if selected(word)]
    points = space.at(space.points(words))
    allowed = mechanism.epsilon * np.linalg.norm(points[:, None] - points[None], axis=2)
    worst = [-np.inf, -np.inf]
    for place, other in itertools.product((0, 1), ("w1", "w2")):
        texts = [f"{word} {other}" if place == 0 else f"{other} {word}" for word in words]
        rows = laws_of_each(protecting, [mechanism], texts)
        # A word that is the same in both texts, selected or not, adds exactly nothing.
        assert {loss(row[1 - place], rows[0][1 - place]) for row in rows} == {0.0}
        excess = losses(np.array([row[place] for row in rows])) - allowed
        worst[place] = max(worst[place], float(excess.max()))
    # Since the law is a product, the worst pair that differs at both places is the sum.
    return sum(worst)


@BOTH_PLACES
def test_no_pair_of_two_word_texts_exceeds_the_sum_of_the_claims(
    random_space: Space, epsilon: float
) -> None:
    assert worst_pair_of_texts(random_space, Traced(random_space, epsilon), EVERY_OTHER) <= 1e-9


@BOTH_PLACES
def test_twin_with_four_times_the_epsilon_is_caught(random_space: Space, epsilon: float) -> None:
    twin = Traced(random_space, epsilon, drawn_at=4 * epsilon)
    assert worst_pair_of_texts(random_space, twin, EVERY_OTHER) > 1e-6


def test_twin_that_overlooks_a_selected_word_is_caught(random_space: Space) -> None:
    forgetful = Regex(rf"\b(?:\w*[0246]|{UNKNOWN})\b")
    assert worst_pair_of_texts(random_space, Traced(random_space, 1.0), forgetful) == np.inf


def test_every_pair_of_texts_one_by_one(small_space: Space) -> None:
    """The same by force, with the joint law of both places written out."""
    mechanism = Traced(small_space, 2.0)
    protecting = Selective(policy=Everything(), mechanism=mechanism)
    words = words_of(small_space)
    texts = [f"{first} {second}" for first in words for second in words]
    joint = np.array(
        [np.add.outer(*both)[:-1, :-1] for both in laws_of_each(protecting, [mechanism], texts)]
    )
    assert np.exp(joint).sum(axis=(1, 2)) == pytest.approx(np.ones(len(texts)))
    away = np.array([[distance(small_space, one, other) for other in words] for one in words])
    for text, law in enumerate(joint):
        first, second = divmod(text, len(words))
        allowed = 2.0 * np.add.outer(away[first], away[second]).ravel()
        assert ((law - joint).max(axis=(1, 2)) - allowed).max() <= 1e-9


def test_masks_say_what_shows_and_what_is_proven() -> None:
    guarantee = Selective(policy=Digits(), mechanism=Redact()).guarantee()
    assert guarantee.notion is Notion.INDEPENDENT
    assert guarantee.epsilon == 0
    assert guarantee.for_release
    assert {STRETCH_LEAK, TYPE_LEAK} <= set(guarantee.leaks)
    assert not {STRUCTURE_LEAK, CHOICE_LEAK} & set(guarantee.leaks)
    assert "whatever the policy does not select" in guarantee.uncovered
    everything = Selective(policy=Everything(), mechanism=Redact()).guarantee()
    assert everything.uncovered == ()


def test_a_stretch_is_one_edit_and_its_words_are_counted(small_space: Space) -> None:
    policy = Regex(r"Ada\s+Lovelace|[0-9-]+")
    documents = [Document("Ask Ada \n Lovelace, 555-0142 🙂"), Document("nobody"), Document("")]
    first, *others = Selective(policy=policy, mechanism=Redact()).privatize(
        documents, Randomness.secure()
    )
    assert first.text == "Ask [MATCH], [MATCH] 🙂"
    assert (first.words, first.selected, first.places, first.uncovered) == (5, 4, 2, 0)
    assert [(one.text, one.selected, one.places) for one in others] == [
        ("nobody", 0, 0),
        ("", 0, 0),
    ]


def test_a_mechanism_that_compares_fewer_words_says_so_around_a_policy(small_space: Space) -> None:
    @dataclass(frozen=True)
    class Grouped(OverVocabulary):
        def guarantee(self) -> Guarantee:
            return replace(
                super().guarantee(),
                notion=Notion.LDP_WITHIN_GROUPS,
                neighbors="two words of a group",
            )

    grouped = Grouped(points=Laplace(space=small_space, epsilon=1.0))
    neighbors = Selective(policy=Digits(), mechanism=grouped).guarantee().neighbors
    assert "two words of a group" in neighbors
    assert "selected words only" in neighbors
