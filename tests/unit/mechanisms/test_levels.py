"""Several levels: the strictest wins, each is kept, and a twin that gets one wrong is caught."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from pairs import largest
from products import UNKNOWN, Traced, distance, laws, laws_of_each, losses, words_of
from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.levels import LEVEL_LEAK, Level, Levels
from sfumato.mechanisms.mahalanobis import Mahalanobis
from sfumato.mechanisms.selective import CHOICE_LEAK, STRUCTURE_LEAK
from sfumato.mechanisms.vocabulary import KEPT_UNKNOWN, OverVocabulary
from sfumato.policies.imperfect import Imperfect
from sfumato.policies.patterns import Digits, Everything, Nothing, Regex
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.space import Space

# By the last digit: 0 and 6 have both levels, and the strict one counts.
STRICT = Regex(r"\bw\d*[02468]\b")
WEAK = Regex(rf"\b(?:w\d*[0369]|{UNKNOWN})\b")
LEVELS = pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 100.0])


def level_of(word: str) -> int | None:
    """What the policies above say, in other words: 0 is strict, 1 is weak."""
    if word == UNKNOWN:
        return 1
    return 0 if word[-1] in "02468" else 1 if word[-1] in "39" else None


@dataclass(frozen=True, kw_only=True)
class WeakestWins(Levels):
    """The twin: of two levels that claim a word the weaker one gets it."""

    def ranks(self, document: Document, words: Words) -> dict[int, int]:
        ranks: dict[int, int] = {}
        for number, level in enumerate(self.levels):
            ranks.update(dict.fromkeys(level.policy.find(document).select(words), number))
        return ranks


def traced(space: Space, epsilon: float) -> list[Traced]:
    return [Traced(space, epsilon), Traced(space, 4 * epsilon)]


def worst_pair_of_texts(levels: Levels, mechanisms: list[Traced]) -> float:
    """Largest excess over Σ epsilon·d of two texts of two words with the same levels.

    The law of a text is a product, so the worst pair that differs at both places is the sum of the
    worst at each; a pair that differs in no word of a level does not differ.
    """
    space, worst = mechanisms[0].space, [-np.inf, -np.inf]
    for rank, mechanism in enumerate(mechanisms):
        words = [word for word in words_of(space) if level_of(word) == rank]
        points = space.at(space.points(words))
        allowed = mechanism.epsilon * np.linalg.norm(points[:, None] - points[None], axis=2)
        for other in ("w1", "w2", "w3", "w6"):
            for place in (0, 1):
                texts = [f"{word} {other}" if place == 0 else f"{other} {word}" for word in words]
                rows = laws_of_each(levels, mechanisms, texts)
                beside = losses(np.array([row[1 - place] for row in rows[:2]]))
                assert not beside.any(), "the same word has the same law in both texts"
                excess = losses(np.array([row[place] for row in rows])) - allowed
                worst[place] = max(worst[place], float(excess.max()))
    return sum(worst)


def levels_of(kind: type[Levels], mechanisms: list[Traced]) -> Levels:
    strict, weak = mechanisms
    return kind(levels=(Level(policy=WEAK, mechanism=weak), Level(policy=STRICT, mechanism=strict)))


@LEVELS
def test_no_pair_of_two_word_texts_exceeds_the_sum_of_its_levels(
    random_space: Space, epsilon: float
) -> None:
    mechanisms = traced(random_space, epsilon)
    assert worst_pair_of_texts(levels_of(Levels, mechanisms), mechanisms) <= 1e-9


@LEVELS
def test_twin_where_the_weakest_wins_is_caught(random_space: Space, epsilon: float) -> None:
    mechanisms = traced(random_space, epsilon)
    assert worst_pair_of_texts(levels_of(WeakestWins, mechanisms), mechanisms) > 1e-6


@LEVELS
def test_twin_that_draws_one_level_weaker_is_caught(random_space: Space, epsilon: float) -> None:
    twin = [Traced(random_space, epsilon), Traced(random_space, 4 * epsilon, 16 * epsilon)]
    assert worst_pair_of_texts(levels_of(Levels, twin), twin) > 1e-6


def test_every_pair_of_texts_one_by_one(small_space: Space) -> None:
    """By force, with the joint law of both places written out, and all three sorts of words."""
    mechanisms = [Traced(small_space, 1.0), Traced(small_space, 4.0)]
    towns, letters = Regex("paris|rome|cat|7"), Regex(rf"[a-f]\w+|{UNKNOWN}")
    levels = Levels(
        levels=(
            Level(policy=towns, mechanism=mechanisms[0]),
            Level(policy=letters, mechanism=mechanisms[1]),
        )
    )
    strict, weak = {"paris", "rome", "cat", "7"}, {"berlin", "athens", "dog", UNKNOWN}
    words = words_of(small_space)
    rank = {word: 0 if word in strict else 1 if word in weak else None for word in words}
    texts = [(first, second) for first in words for second in words]
    joint = np.array(
        [
            np.add.outer(*both)
            for both in laws_of_each(levels, mechanisms, [" ".join(text) for text in texts])
        ]
    ).reshape(len(texts), -1)
    compared = 0
    for text, law in zip(texts, joint, strict=True):
        neighbors = [
            place
            for place, other in enumerate(texts)
            if all(
                rank[a] == rank[b] and (rank[a] is not None or a == b)
                for a, b in zip(text, other, strict=True)
            )
        ]
        compared += len(neighbors)
        allowed = np.array(
            [
                sum(
                    mechanisms[rank[a] or 0].epsilon * distance(small_space, a, b)
                    for a, b in zip(text, texts[place], strict=True)
                )
                for place in neighbors
            ]
        )
        with np.errstate(invalid="ignore"):
            ratios = largest(law - joint[neighbors])
        assert (ratios - allowed).max() <= 1e-9
    # 4 strict words, 4 weak ones, 5 without a level: 4² + 4² + 5 pairs at each place.
    assert compared == 37**2


def test_a_word_of_another_level_is_no_neighbor(random_space: Space) -> None:
    """Words 0 and 190 share a place, so a claim about them would be that nothing differs."""
    mechanisms = traced(random_space, 1.0)
    levels = Levels(
        levels=(
            Level(policy=Regex("w190"), mechanism=mechanisms[0]),
            Level(policy=Everything(), mechanism=mechanisms[1]),
        )
    )
    assert distance(random_space, "w0", "w190") == 0.0
    rows = np.array([laws(levels, mechanisms, word)[0] for word in ("w0", "w190")])
    assert losses(rows).max() > 0.1
    assert "each word's level being the same" in levels.guarantee().neighbors
    assert LEVEL_LEAK in levels.guarantee().leaks


def two(space: Space, *policies: Policy, **rules: str) -> Levels:
    return Levels(
        levels=tuple(
            Level(
                policy=policy,
                mechanism=OverVocabulary(points=Laplace(space=space, epsilon=epsilon), **rules),
            )
            for epsilon, policy in zip((8.0, 2.0), policies, strict=True)
        )
    )


def test_the_strictest_wins_whatever_the_order(small_space: Space) -> None:
    levels = two(small_space, Everything(), Digits())
    assert [level.epsilon for level in levels.levels] == [2.0, 8.0]
    document = Document("cat 12 dog B7")
    assert levels.ranks(document, Words.of(document.text)) == {0: 1, 1: 0, 2: 1, 3: 0}


def test_words_are_replaced_in_place_and_counted(small_space: Space) -> None:
    levels = two(small_space, Regex("cat|dog"), Digits(), unknown="keep")
    documents = [Document("a cat, 12\tdogs!"), Document(""), Document("xx 99 cat 7")]
    first, empty, last = levels.privatize(documents, Randomness.reproducible(3))
    assert first.text.startswith("a ")
    assert first.text.endswith("!")
    assert (first.words, first.selected, first.uncovered) == (4, 3, 1)
    assert "dogs" in first.text, "a span takes the whole word, and that word is unknown"
    assert (empty.text, empty.selected) == ("", 0)
    assert (last.words, last.selected, last.uncovered) == (4, 3, 1)
    assert levels.privatize(documents, Randomness.reproducible(3)) == [first, empty, last]
    assert levels.privatize([], Randomness.secure()) == []


def test_the_statement_names_each_level_and_its_number_is_the_weakest(small_space: Space) -> None:
    guarantee = two(small_space, Digits(), Regex("okafor")).guarantee()
    assert guarantee.notion is Notion.SELECTIVE_METRIC_DP
    assert guarantee.epsilon == 8.0
    sentence = guarantee.sentence()
    assert "2 for what 'regex' selects, 8 for what else 'digits' does" in sentence
    assert "okafor" not in sentence + str(guarantee.as_dict())
    assert {STRUCTURE_LEAK, CHOICE_LEAK, LEVEL_LEAK} <= set(guarantee.leaks)
    assert guarantee.uncovered == ("whatever no level's policy selects",)
    assert two(small_space, Everything(), Digits()).guarantee().uncovered == ()


def test_kept_unknown_words_and_experiments_are_said(small_space: Space) -> None:
    keeping = two(small_space, Digits(), Regex("a"), unknown="keep", case="restore")
    assert KEPT_UNKNOWN in keeping.guarantee().uncovered
    assert f"1,234 {KEPT_UNKNOWN}" in keeping.guarantee(1234).uncovered
    assert "capitals" in keeping.guarantee().neighbors
    missing = Imperfect(policy=Digits(), misses=0.5, seed=1)
    assert not two(small_space, Everything(), missing).guarantee().for_release


def test_releases_add_up_only_for_the_same_levels(small_space: Space) -> None:
    guarantee = two(small_space, Digits(), Regex("a")).guarantee()
    assert guarantee.then(guarantee).epsilon == 16.0
    others = [
        two(small_space, Digits(), Regex("b")),  # the same names, other words
        two(small_space, Regex("a"), Digits()),
        Levels(levels=two(small_space, Digits(), Regex("a")).levels[:1]),
    ]
    for other in others:
        with pytest.raises(IncomparableGuarantees):
            guarantee.then(other.guarantee())


def at(space: Space, *epsilons: float) -> Levels:
    return Levels(
        levels=tuple(
            Level(
                policy=Digits(),
                mechanism=OverVocabulary(points=Laplace(space=space, epsilon=epsilon)),
            )
            for epsilon in epsilons
        )
    )


def test_levels_that_say_nothing_are_refused(small_space: Space, random_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="at least one"):
        Levels(levels=())
    with pytest.raises(InvalidArgument, match="the same epsilon"):
        at(small_space, 1.0, 2.0, 1.0)
    with pytest.raises(InvalidArgument, match="'nothing' selects no word"):
        two(small_space, Nothing(), Digits())


def test_levels_in_different_distances_are_refused(small_space: Space, random_space: Space) -> None:
    laplace = at(small_space, 1.0).levels
    shaped = OverVocabulary(points=Mahalanobis(space=small_space, epsilon=2.0))
    twin = Space("small", small_space.words, small_space.vectors * 2)
    for other, complaint in (
        (Level(policy=Everything(), mechanism=shaped), "different metric"),
        (at(random_space, 2.0).levels[0], "different metric"),
        (at(twin, 2.0).levels[0], "the same vectors"),
    ):
        with pytest.raises(InvalidArgument, match=complaint):
            Levels(levels=(*laplace, other))
