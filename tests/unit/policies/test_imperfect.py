"""Misses come at the stated rate, from the seed and the public part of the text alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument
from sfumato.policies.combine import Union
from sfumato.policies.imperfect import Imperfect
from sfumato.policies.patterns import Digits, Regex
from sfumato.text.document import Document
from sfumato.text.words import Words

MANY = [Document(f"call {number} or {number + 1}", id=f"d{number}") for number in range(4000)]


def imperfect(misses: float, seed: int = 7) -> Imperfect:
    return Imperfect(policy=Digits(), misses=misses, seed=seed)


def test_the_share_of_misses_is_the_stated_one() -> None:
    kept = sum(len(imperfect(0.25).find(document)) for document in MANY)
    # 8000 draws: five standard deviations are 0.024.
    assert abs(kept / 8000 - 0.75) < 0.024


def test_twin_with_another_rate_is_caught() -> None:
    kept = sum(len(imperfect(0.35).find(document)) for document in MANY)
    assert abs(kept / 8000 - 0.75) > 0.024


def test_no_misses_and_all_misses() -> None:
    document = Document("1 and 2 and 3")
    assert imperfect(0.0).find(document) == Digits().find(document)
    assert not len(imperfect(1.0).find(document))


def test_the_seed_decides_and_has_no_default() -> None:
    with pytest.raises(TypeError):
        Imperfect(policy=Digits(), misses=0.5)  # type: ignore[call-arg]
    document = Document(" and ".join(str(number) for number in range(200)))
    assert imperfect(0.5, 1).find(document) == imperfect(0.5, 1).find(document)
    assert imperfect(0.5, 1).find(document) != imperfect(0.5, 2).find(document)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20))
def test_protected_words_do_not_decide_what_is_missed(pairs: list[tuple[int, int]]) -> None:
    # Otherwise the pattern of misses would be a channel that carries the protected words out.
    kept = []
    for side in (0, 1):
        text = ", ".join(f"x {'AB'[side]}{pair[side]:07d}" for pair in pairs)
        words = Words.of(text)
        kept.append(imperfect(0.5).find(Document(text)).select(words))
    assert kept[0] == kept[1]


def test_twin_that_hashes_the_protected_words_is_caught() -> None:
    def leaky(text: str) -> list[int]:
        words = Words.of(text)
        return [i for i in Digits().find(Document(text)).select(words) if hash(words[i]) % 2]

    texts = [", ".join(f"x {number + shift:07d}" for number in range(64)) for shift in (0, 1000)]
    assert leaky(texts[0]) != leaky(texts[1])


def test_hits_that_share_a_word_are_missed_together() -> None:
    both = Union((Digits(), Regex(r"[a-z]\d+[a-z]")))
    for number in range(50):
        policy = Imperfect(policy=both, misses=0.5, seed=number)
        assert len(policy.find(Document("a1b c2d"))) in (0, 2, 4)


def test_the_name_tells_the_rate_and_not_the_seed() -> None:
    assert imperfect(0.1, 99).name == "imperfect(digits, misses 0.1)"
    assert "99" not in repr(imperfect(0.1, 99))


@pytest.mark.parametrize("misses", [-0.1, 1.1])
def test_a_share_outside_zero_and_one_is_refused(misses: float) -> None:
    with pytest.raises(InvalidArgument):
        imperfect(misses)
