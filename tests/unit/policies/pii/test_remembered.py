"""What is judged once for all equal cases: the judge sees nothing but what it is remembered by."""

from __future__ import annotations

import random
from itertools import product

import pytest

from sfumato.policies.pii import code, listed
from sfumato.policies.pii import phone as phones
from sfumato.policies.pii.capitals import Capital
from sfumato.policies.pii.code import Code, announces, is_announced
from sfumato.policies.pii.detector import DEFAULT, Pii
from sfumato.policies.pii.listed import names_among, names_in, traits_of
from sfumato.policies.pii.phone import Phone
from sfumato.policies.pii.reading import Page, Reading
from sfumato.text.document import Document

WORDS = (
    *(
        "Deborah",
        "Mark",
        "Paris",
        "Xanthi",
        "Gutierrez",
        "Smith",
        "J",
        "The",
        "May",
        "Road",
        "Lake",
    ),
    *(
        "St",
        "DEBORAH",
        "MARK",
        "RUTH",
        "ROAD",
        "Hello",
        "English",
        "Jean-Marc",
        "THE",
        "I'm",
        "WHEN",
    ),
)
NUMBERS = (
    *("9803228737", "980.322.8737", "843-58572-7002", "(555) 010-0199", "555-0142", "86896"),
    *("+1 980 322 8737", "0041 44 668 18 00", "1999-2000", "3.5.1980", "1234567", "12.345.678"),
    *("0 0 44 20 7946 0958", "020 7946 0958 ext 5", "4711-0815", "1Z 999 AA1 01 2345 6784", "x12"),
    *("SO7058191", "AB12-9803228737", "980-322-8737-ABC", "7712 3456 7890", "RR 123 456 785 DE"),
)
LEADS = (
    *("order number is ", "call ", "my number is ", "", "id ", "$", "ref: ", "phone ", "ends in "),
    *("Kundennummer ", "a", "1.", "-", "USR: ", "tracking number, ", "\n"),
)


def capitals(words: tuple[str, ...]) -> list[Capital]:
    found, start = [], 0
    for word in words:
        shouted = len(word) > 1 and word.isupper()
        found.append(Capital(start, start + len(word), word.lower(), shouted))
        start += len(word) + 1
    return found


def traits(words: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(
        traits_of(word.lower(), len(word), len(word) > 1 and word.isupper()) for word in words
    )


def rows() -> list[tuple[str, ...]]:
    """All pairs of words, and some longer rows."""
    draws = random.Random(4)
    longer = [tuple(draws.choices(WORDS, k=draws.randrange(1, 7))) for _ in range(800)]
    return [*product(WORDS, repeat=2), *longer]


def hostile_texts() -> list[str]:
    draws = random.Random(6)
    pieces = [lead + number for lead in LEADS for number in NUMBERS]
    joints = (" ", " ", ", ", ".\n", "", "-", "/", " x", "%", "é")
    return [
        "".join(draws.choice(pieces) + draws.choice(joints) for _ in range(draws.randrange(1, 8)))
        for _ in range(300)
    ]


def test_names_of_words_with_equal_traits_stand_at_equal_places() -> None:
    """Any word may stand for another one of its traits, so these are all that a name is told by."""
    by_traits: dict[int, list[str]] = {}
    for word in WORDS:
        by_traits.setdefault(traits((word,))[0], []).append(word)
    for words in rows():
        others = tuple(by_traits[trait][-1] for trait in traits(words))
        assert names_in(capitals(words)) == names_in(capitals(others)) == names_among(traits(words))


def test_remembered_names_are_those_that_are_judged_anew() -> None:
    for words in rows():
        assert names_among(traits(words)) == names_among.__wrapped__(traits(words))


def test_twin_without_a_trait_finds_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [traits(words) for words in rows()]
    right = [names_among.__wrapped__(words) for words in seen]
    for blind in ("_SHOUTED", "_AFTER_NAME", "_BEFORE_NAME", "_BRIEF", "_SURNAME"):
        with monkeypatch.context() as patched:
            patched.setattr(listed, blind, 0)
            found = [names_among.__wrapped__(words) for words in seen]
        assert found != right, blind


def test_what_is_kept_of_names_holds_no_word() -> None:
    """What outlives a page are bits of lists, the same for very many words."""
    assert traits(("Qxzqv",)) == traits(("Wqxzk",))
    assert max(traits(WORDS)) < 1 << 14


def test_announcing_words_are_read_once_for_each_page(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def spy(before: str) -> bool:
        read.append(before)
        return is_announced(before)

    monkeypatch.setattr(code, "is_announced", spy)
    texts = ["My order number is 843-58572-7002.", "My order number is 651-53898-5419."] * 3
    page = Page(texts)
    for reading in page.readings:
        assert [one.rule for one in Code().find(reading)] == ["code-grouped"]
        list(Phone(DEFAULT).find(reading))
    assert read.count("My order number is ") == 1
    assert len(read) == len(set(read))
    page.close()
    assert page.announcing == {}


def test_only_so_much_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "_MOST_REMEMBERED", 2)
    page = Page(["order 1"])
    befores = ["order ", "the ", "id ", "a ", "order "]
    assert [announces(page, before) for before in befores] == list(map(is_announced, befores))
    assert len(page.announcing) == 2


def test_twin_that_remembers_less_than_is_read_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["The order number is 4432.", "The house number is 4432."]

    def found() -> list[int]:
        return [len(list(Code().find(reading))) for reading in Page(texts).readings]

    def hasty(page: Page, before: str) -> bool:
        return page.announcing.setdefault(before[-10:], is_announced(before))

    assert found() == [1, 0]
    monkeypatch.setattr(code, "announces", hasty)
    assert found() != [1, 0]


def test_a_number_of_a_region_is_told_as_by_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, phone = hostile_texts(), Phone(DEFAULT)
    found = [list(phone.find(reading)) for reading in Page(texts).readings]
    assert sum(one.rule == "phone-regional" for spans in found for one in spans) > 100
    monkeypatch.setattr(Phone, "_unsigned", lambda *_: None)
    assert [list(phone.find(reading)) for reading in Page(texts).readings] == found


def test_twin_that_takes_zeros_for_no_sign_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["0041 44 668 18 00", "+1 980 322 8737"]
    right = [[one.rule for one in Phone(DEFAULT).find(Reading.of(text))] for text in texts]
    assert right == [["phone-international"], ["phone-international"]]
    monkeypatch.setattr(phones, "_is_unsigned", lambda page: page.runs.starts >= 0)
    found = [[one.rule for one in Phone(DEFAULT).find(Reading.of(text))] for text in texts]
    assert found != right


def test_what_a_telephone_number_holds_need_not_be_judged_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents = [Document(text) for text in hostile_texts()]
    policy = Pii(types=("phone", "code"))
    found = policy.find_many(documents)
    monkeypatch.setattr(code, "_settled", lambda _: [])
    assert policy.find_many(documents) == found


def test_twin_that_passes_over_all_words_after_a_telephone_number_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents = [Document(text) for text in hostile_texts()]
    policy = Pii(types=("phone", "code"))
    found = policy.find_many(documents)
    monkeypatch.setattr(code, "_is_settled", lambda *_: True)
    assert policy.find_many(documents) != found
