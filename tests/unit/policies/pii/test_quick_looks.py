"""A quick look at all numbers may say yes too often, never too seldom.

The words by which it decides are lists of their own; here they are held against the expressions.
"""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.policies.pii import cued_numbers, plates
from sfumato.policies.pii.address import Address
from sfumato.policies.pii.capitals import chains
from sfumato.policies.pii.clusters import HARD, Clusters
from sfumato.policies.pii.dialing import gaps
from sfumato.policies.pii.expressions import in_ascii
from sfumato.policies.pii.judging import idle_words
from sfumato.policies.pii.person import Person
from sfumato.policies.pii.plainness import make_plain
from sfumato.policies.pii.reading import Page, Reading

KINDS = (
    cued_numbers._MEDICAL,
    cued_numbers._PASSPORT,
    cued_numbers._BANK,
    cued_numbers._CVV,
    cued_numbers._EXPIRY,
)


@given(st.from_regex(in_ascii(plates._WORDS), fullmatch=True))
def test_whatever_announces_a_plate_is_seen(cue: str) -> None:
    assert Page([f"{cue}, 12 AB"]).told_on_line(plates._LAST_WORDS, 40).all()


def test_a_list_that_lacks_a_word_is_seen_through() -> None:
    short = plates._LAST_WORDS - {"van"}
    assert not Page(["my van 12 AB"]).told_on_line(short, 40).any()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.name))
@settings(max_examples=60)
@given(data=st.data())
def test_whatever_announces_a_number_is_seen(kind: cued_numbers._Kind, data: st.DataObject) -> None:
    between = cued_numbers._BETWEEN.replace(r"(?:[ \t]?(?:is|", r"(?:[ \t](?:is|")
    assert between != cued_numbers._BETWEEN  # words that are written as one are looked at below
    pattern = rf"(?:{kind.words})[.]?{between}"
    cue = data.draw(st.from_regex(in_ascii(pattern), fullmatch=True))
    cue = make_plain(cue)[1 - cued_numbers._LOOK_BACK :] + " " * cue[-1:].isalpha()
    for number in ("12345", "AB12345"):
        if cued_numbers._cue(kind.words).search(cue):
            assert kind.may_announce(Page([cue + number]))[-1]


def test_two_words_between_may_be_written_as_one() -> None:
    assert cued_numbers._EXPIRY.may_announce(Page(["caduca elis 04/27"])).any()
    assert cued_numbers._BANK.may_announce(Page(["account ismy 12345"])).any()


def test_a_word_that_may_not_stand_between_hides_what_announces() -> None:
    page = Page(["the account was closed yesterday 12345"])
    assert not cued_numbers._BANK.may_announce(page).any()


def test_what_stands_between_digits_of_a_phone_number_is_what_the_expression_said() -> None:
    gap = re.compile(r" {1,2}| ?[-/] ?|\.|--| ?\(|\) ?[-/.]? ?| ?\u200b ?|-\n")
    signs = " -/.()\u200b\n"
    written = {""}
    for _ in range(4):
        written |= {before + sign for before in written for sign in signs}
    assert {one for one in written if gap.fullmatch(one)} == gaps()


PIECES = (
    *("Ann", "Lee", "ANN", "The", "It's", "O'Neil", "St", "J", "de", "van der", "al-Rashid", "'S"),
    *("@Ann", "_Ann", "5Ann", "Zoë", "Łukasz", "d'Arc", "patient", "said", "Dear", "bob'S", "½A"),
)
JOINTS = (" ", " ", " ", ". ", ".", ", ", "  ", "\n", "-", "'", ": ")


def test_clusters_are_those_that_a_look_at_every_word_finds() -> None:
    draws = random.Random(3)
    for _ in range(300):
        text = "".join(draws.choice(PIECES) + draws.choice(JOINTS) for _ in range(12))
        page, none = Page([text]), frozenset[str]()
        clusters = Clusters(page, [none])
        words = {word.plain for one in chains(text, none, idle_words()) for word in one.words}
        cut, (_, _, ends, origins) = clusters.plain_with({0: words})
        places = [
            (one.start, len(text) if one.kind & HARD else one.end)
            for one in (*clusters.telling(), *cut)
        ]
        places += zip(origins.tolist(), ends.tolist(), strict=True)
        for chain in chains(text, none, idle_words()):
            if len(chain.words) == 1 and chain.words[0].plain in idle_words():
                continue
            start = chain.start + chain.words[0].start
            assert any(first <= start < last for first, last in places) or (
                _begins_with_prefix(text, start)
            )


def _begins_with_prefix(text: str, start: int) -> bool:
    return text[start].islower()


def test_an_address_is_found_by_the_words_of_its_own_line_only() -> None:
    far = "1 Bo\nElm Street"
    assert not list(Address().where(Page([far])))
    (found,) = Address().find(Reading.of("1 Bo Elm Street"))
    assert found.rule == "address-street"


def test_many_clusters_that_are_not_plain_take_steps_in_proportion() -> None:
    text = "J. Lee-Ann and Ann Hale. " * 400
    found = list(Person().find(Reading.of(text)))
    assert len(found) >= 800
