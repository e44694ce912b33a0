"""Gathering and releasing counts: one contributor moves few of them, and noise hides it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest

from sfumato.core import progress as progresses
from sfumato.core.errors import BadInput, BudgetExceeded, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import SEED_LEAK
from sfumato.histograms import words as histograms
from sfumato.histograms.counts import Tally, draw_noise, words_of_contributors
from sfumato.histograms.thresholds import Contribution, solve_noise, solve_public
from sfumato.histograms.words import Budget, count_words, refuse_too_few
from sfumato.text.document import Document
from sfumato.training.plan import NEIGHBORS

SECRET = "xylographer"


def grains(tally: Tally) -> dict[str, int]:
    return dict(tally._grains)


def gathered(
    contributors: Iterable[list[str]], contribution: Contribution, kind: type[Tally] = Tally
) -> Tally:
    tally, source = kind(contribution), Randomness.reproducible(1)
    for words in contributors:
        tally.add(words, source)
    return tally


OTHERS = [[f"w{(n * m) % 23}" for m in range(12)] for n in range(1, 40)]
ONE = [f"w{n}" for n in range(20)] + [SECRET] * 5


def moved(kind: type[Tally], contribution: Contribution) -> dict[str, int]:
    """How one contributor, who is last, moves the counts of words."""
    without, whole = (
        grains(gathered(some, contribution, kind)) for some in (OTHERS, [*OTHERS, ONE])
    )
    words = without.keys() | whole.keys()
    return {
        word: whole.get(word, 0) - without.get(word, 0)
        for word in words
        if whole.get(word, 0) != without.get(word, 0)
    }


class OneMore(Tally):
    """Gives a word too many."""

    def _choose(self, words: list[str], randomness: Randomness) -> list[str]:  # noqa: ARG002
        return words[: self.contribution.words + 1]


class Repeating(Tally):
    """Counts a word as often as it is there."""

    def add(self, words: Iterable[str], randomness: Randomness) -> None:
        super().add(words, randomness)
        for word in words:
            self._grains[word] = self._grains.get(word, 0) + 1


class Popular(Tally):
    """Prefers words that others have given: then what others give depends on this one."""

    def _choose(self, words: list[str], randomness: Randomness) -> list[str]:  # noqa: ARG002
        known = sorted(words, key=lambda word: (-self._grains.get(word, 0), word))
        return known[: self.contribution.words]


@pytest.mark.parametrize("words", [1, 5, 60])
def test_a_contributor_moves_at_most_k_counts_by_one(words: int) -> None:
    change = moved(Tally, Contribution(words=words))
    assert len(change) == min(words, 21)
    assert set(change.values()) == {1}


def test_by_length_a_contributor_moves_all_counts_together_by_one() -> None:
    for words in (1, 5, 60):
        change = moved(Tally, Contribution(words=words, weights="by-length"))
        length = math.sqrt(sum(one * one for one in change.values())) / 2**20
        assert 1 - 1e-5 < length <= 1.0


@pytest.mark.parametrize("twin", [OneMore, Repeating])
def test_twins_that_give_too_much_are_seen(twin: type[Tally]) -> None:
    change = moved(twin, Contribution(words=5))
    assert len(change) > 5 or set(change.values()) != {1}


def reaction(kind: type[Tally]) -> int:
    """By how much one contributor, who is first, moves all counts, others being as they are."""
    contribution = Contribution(words=5)
    # For the first one nothing is drawn, so the same is drawn for the others with and without.
    assert all(len(set(words)) > 5 for words in OTHERS if words[1] != "w0")
    without = grains(gathered(OTHERS, contribution, kind))
    whole = grains(gathered([ONE[:5], *OTHERS], contribution, kind))
    return sum(abs(whole.get(w, 0) - without.get(w, 0)) for w in whole.keys() | without.keys())


def test_what_others_give_does_not_depend_on_a_contributor() -> None:
    assert reaction(Tally) == 5
    assert reaction(Popular) > 5  # the twin


def test_words_are_drawn_evenly_from_a_contributors_own() -> None:
    tally, source = Tally(Contribution(words=2)), Randomness.reproducible(3)
    for _ in range(3000):
        tally.add(["a", "b", "b", "b", "c", "d"], source)
    assert sum(grains(tally).values()) == 6000
    assert all(1300 < count < 1700 for count in grains(tally).values())


def test_noise_is_whole_and_drawn_without_the_counts() -> None:
    tally = gathered([["the", "of"]] * 500, Contribution(words=2))
    noise = solve_noise(4.0, 1e-6, tally.contribution)
    found = tally.release(noise, Randomness.reproducible(7))
    drawn = draw_noise(noise.deviation, 2, Randomness.reproducible(7))
    assert all(isinstance(one, int) for one in drawn)
    assert found.counts == {"of": 500 + drawn[0], "the": 500 + drawn[1]}
    by_length = gathered([["the"]] * 500, Contribution(words=2, weights="by-length"))
    noisy = by_length.release(
        solve_noise(4.0, 1e-6, by_length.contribution), Randomness.reproducible(7)
    )
    assert (noisy.counts["the"] * 2**20).is_integer()


def test_the_threshold_counts_from_half_a_grain_below() -> None:
    """A whole noisy count is shown from the first whole number that is one half above it."""
    noise = solve_noise(4.0, 1e-6, Contribution(words=60))
    least = math.ceil((noise.threshold or 0) + 0.5)
    shown = set()
    for seed in range(400):
        tally = gathered([["rare"]] * 45, Contribution(words=60))
        shown |= set(tally.release(noise, Randomness.reproducible(seed)).counts.values())
    assert min(shown) == least


def test_a_tally_is_released_once_and_with_its_own_noise() -> None:
    tally = gathered(OTHERS, Contribution(words=5))
    noise = solve_noise(1.0, 1e-3, Contribution(words=5))
    with pytest.raises(InvalidArgument, match="other numbers of words"):
        tally.release(solve_noise(1.0, 1e-3, Contribution(words=4)), Randomness.secure())
    with pytest.raises(InvalidArgument, match="need a threshold"):
        tally.release(solve_public(1.0, 1e-3, Contribution(words=5)), Randomness.secure())
    tally.release(noise, Randomness.secure())
    with pytest.raises(BudgetExceeded, match="released already"):
        tally.release(noise, Randomness.secure())


def documents(texts: Iterable[str], author: str | None = None) -> list[Document]:
    return [Document(text, author=author) for text in texts]


def test_public_words_get_noise_whether_or_not_anybody_gave_them() -> None:
    budget = Budget(epsilon=2.0, delta=1e-3, contribution=Contribution(words=3))
    listed = [f"p{n}" for n in range(2000)]
    found = count_words(
        documents(["p0 p1 private"] * 300), budget, str.split, Randomness.reproducible(2),
        public=listed,
    )  # fmt: skip
    assert found.noise.threshold is None
    assert {"p0", "p1"} < set(found.counts)
    assert "private" not in found.counts
    # Some that nobody gave are among them, as noise would have it: about one in forty.
    assert 10 < len(found) < 120
    with pytest.raises(BadInput, match="holds no words"):
        count_words(documents(["a"]), budget, str.split, Randomness.secure(), public=[])


def test_an_author_is_one_contributor_however_many_documents() -> None:
    texts = [Document("a b", author="x"), Document("b c", author="x"), Document("a", author="y")]
    found = [list(one) for one in words_of_contributors(texts, "author", str.split)]
    assert found == [["a", "b", "c"], ["a"]]
    assert len(list(words_of_contributors(texts, "example", str.split))) == 3
    with pytest.raises(BadInput, match="document 2 has no author"):
        list(words_of_contributors([texts[0], Document(SECRET)], "author", str.split))


def test_what_is_proven_adds_up_with_training() -> None:
    budget = Budget(epsilon=1.0, record="note")
    source = Randomness.secure()
    stated = budget.promise(budget.solve(1000), source, "the counts")
    assert stated.neighbors == NEIGHBORS["add-or-remove"].format(unit="example")
    assert (stated.epsilon, stated.delta) == (1.0, 0.0005)
    assert "one example being one note" in stated.sentence()
    assert "number of examples" in stated.sentence()
    seeded = budget.promise(budget.solve(1000), Randomness.reproducible(1), "the counts")
    assert not seeded.for_release
    assert SEED_LEAK in seeded.leaks


@pytest.mark.parametrize("count", [0, 1])
def test_one_contributor_is_none(count: int) -> None:
    with pytest.raises(BadInput, match=r"one example only|no documents"):
        count_words(documents(["a"] * count), Budget(epsilon=1.0), str.split, Randomness.secure())


def test_too_few_are_refused_without_a_word_of_them() -> None:
    budget = Budget(epsilon=0.5)
    found = count_words(
        documents([f"the {SECRET}"] * 900), budget, str.split, Randomness.reproducible(1)
    )
    with pytest.raises(BadInput) as refused:
        refuse_too_few(found, budget, 64, "a tokenizer")
    said = str(refused.value)
    assert "too few examples for a tokenizer: 2 words came through, and 64 are needed" in said
    assert "there are 900; about" in said
    assert "epsilon=0.5 is spent" in said
    assert SECRET not in said
    refuse_too_few(found, budget, 2, "a tokenizer")


def test_private_counts_are_not_shown_by_accident() -> None:
    tally = gathered([[SECRET]] * 500, Contribution(words=5))
    assert SECRET not in repr(tally)
    noisy = tally.release(solve_noise(1.0, 1e-3, tally.contribution), Randomness.secure())
    assert repr(noisy) == "NoisyCounts(1 word of 500 contributors)"


def test_no_progress_line_holds_words(monkeypatch: pytest.MonkeyPatch) -> None:
    labels: list[Any] = []
    real = progresses.progress

    def noted(label: str, total: int | None, *, unit_is_bytes: bool = True) -> Any:
        labels.append((label, total))
        return real(label, total, unit_is_bytes=unit_is_bytes)

    monkeypatch.setattr(histograms, "progress", noted)
    count_words(documents([SECRET] * 5), Budget(epsilon=1.0), str.split, Randomness.secure())
    assert labels == [("counting words", 5)]
