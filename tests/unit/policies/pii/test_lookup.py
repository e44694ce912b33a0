"""Words are looked up in all lists at once, and found in each as if it were the only one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.policies.pii.lookup import Words
from sfumato.policies.pii.runs import Runs

TEXT = "The Order of alpha, beta; gammaray GAMMA orders über Straße a bb ccc"
WORDS = ["the", "order", "of", "alpha", "beta", "gammaray", "gamma", "orders", "über", "straße"]
ALL = [*WORDS, "a", "bb", "ccc"]


def listed(words: Words, wanted: frozenset[str]) -> list[bool]:
    found: list[bool] = words.among(wanted).tolist()
    return found


def holds(word: str, wanted: frozenset[str]) -> bool:
    """Whether a list has a word, by itself or by its first or last letters."""
    return any(
        word == one
        or (one.endswith("*") and word.startswith(one[:-1]))
        or (one.startswith("*") and word.endswith(one[1:]))
        for one in wanted
    )


@given(
    st.frozensets(st.sampled_from([*ALL, "ord*", "*ray", "*der", "nothing", "gam*"]), max_size=5)
)
def test_a_word_of_a_list_is_seen(wanted: frozenset[str]) -> None:
    seen = listed(Words(Runs([TEXT]).codes), wanted)
    for word, flag in zip(ALL, seen, strict=True):
        assert flag or not holds(word, wanted)


def test_more_lists_than_a_table_has_bits_do_not_disturb_each_other() -> None:
    words = Words(Runs([TEXT]).codes)
    for number in range(150):
        word = ALL[number % len(ALL)]
        wanted = frozenset([word, f"filler{number}"])  # a list that nobody asked for before
        assert listed(words, wanted) == [one == word for one in ALL]


def test_twin_that_knows_only_the_lists_of_its_first_question_is_caught() -> None:
    words = Words(Runs([TEXT]).codes)
    listed(words, frozenset(["the", "first"]))
    later = frozenset(["beta", "second"])
    for number, (_, held) in words._held.items():
        words._held[number] = 64, held
    assert not any(listed(words, later))
    assert any(listed(Words(Runs([TEXT]).codes), later))
