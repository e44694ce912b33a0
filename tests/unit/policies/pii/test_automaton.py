"""A machine says yes wherever its expression matches; what it refuses is never found."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from findings import KINDS, ODD, PIECES, read_together
from sfumato.policies.pii import (
    address_parts,
    age,
    automaton,
    code,
    dates,
    dialing,
    house,
    introductions,
    national_id,
    plates,
    postcode,
    secrets,
    small_names,
    syntax,
    tax_id,
)
from sfumato.policies.pii.automaton import Automaton, backward, cut_automaton
from sfumato.policies.pii.detector import DEFAULT, _recognizers
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.plainness import make_plain
from sfumato.policies.pii.reading import Page
from sfumato.policies.pii.runs import Codes, Flags, Runs

FORWARD = {
    "code": address_parts.coded(),
    "parts": address_parts.after_head(),
    "street": house.number_first(),
    "framed": house.two_numbers(),
    "house": house.house_number(),
    "line": house.address_line(),
    "age": age._after(),
    "parcel": code._parcel(),
    "figures": dates._figures(),
    "worded": dates._worded(),
    "clock": dates._clock(),
    "year": dates._year(),
    "national": national_id._table()._any_form,
    "tax": tax_id._table()._any_form,
    "plates": plates._forms(),
    "postcode": postcode._forms(DEFAULT),
    "town": postcode._town(),
    "answer": small_names._answer_line(),
    "lead": small_names._lead(),
    "secret": Expression(secrets._assignment().pattern),
    "told": Expression(secrets._told().pattern),
    **{rule.name: rule.expression for rule in introductions.list_rules()},
}
BACKWARD = {
    "month": (dates._month_before(), 24),
    "state": (postcode._state_before(), 6),
    "named": (postcode._named_line(), 60),
    "town": (house.town_before(), 60),
    "street": (house.street_before(), 60),
    "box": (house.box_before(), 60),
    "age": (age._before(), 28),
}


def made_up(seed: int, count: int) -> Iterator[str]:
    """Texts of pieces for which there are rules, some of them changed in a character or two."""
    draws = random.Random(seed)
    pieces = [piece for line in PIECES.strip().split("\n") for piece in line.split("|") if piece]
    for _ in range(count):
        text = "".join(draws.choice(pieces) + draws.choice("  ,.-\n") for _ in range(12))
        for _ in range(draws.randrange(4)):
            place = draws.randrange(len(text))
            text = text[:place] + draws.choice([*ODD, "K", "ſ", "ı"]) + text[place + 1 :]
        yield make_plain(text)


TEXTS = [
    *made_up(1, 60),
    *('api_key="abc123def456ghi"', "my password is Tr0ub4dor&3", "I'm told it is ann, or Ann?"),
    *(
        "5 Ann Smith 12\nApt 4",
        "Plot 12, Jasmine Layout, Navsagar - 603 855",
        '"No," said Ann Hale.',
    ),
    *(
        "my name is Ann Hale",
        "Name: Ann Hale",
        "Your name please? Yes, it's ann hale.",
        "Hi tom, call zoë",
        "12 Elm Park, 1 rue Zoé",
    ),
]
RUNS = Runs(TEXTS)
PLACES = [(number, place) for number, text in enumerate(TEXTS) for place in range(len(text) + 1)]
AT = np.array([RUNS.offsets[number] + place for number, place in PLACES])


def missed(machine: Automaton, matches: list[bool]) -> int:
    """At how many places the machine says no although there is a match."""
    assert any(matches)
    return int((np.array(matches) & ~machine.can_match(RUNS.codes, AT)).sum())


@pytest.mark.parametrize("name", FORWARD)
def test_wherever_an_expression_matches_its_machine_says_yes(name: str) -> None:
    expression = FORWARD[name]
    matches = [bool(expression.match(TEXTS[number], place)) for number, place in PLACES]
    assert missed(automaton.automaton(expression), matches) == 0


@pytest.mark.parametrize("name", BACKWARD)
def test_wherever_a_match_ends_the_machine_that_reads_backward_says_yes(name: str) -> None:
    expression, reach = BACKWARD[name]
    matches = [
        bool(expression.search(TEXTS[number][max(0, place - reach) : place]))
        for number, place in PLACES
    ]
    assert missed(backward(expression), matches) == 0


def test_words_that_announce_are_seen_where_the_text_is_cut_off() -> None:
    cue = dialing.calling_words()
    matches = [
        bool(cue.expression.match(TEXTS[number], place, place + 5)) for number, place in PLACES
    ]
    assert missed(cut_automaton(cue.expression), matches) == 0


def test_machines_refuse_nearly_all_other_places() -> None:
    said = [automaton.automaton(one).can_match(RUNS.codes, AT).mean() for one in FORWARD.values()]
    assert np.median(said) < 0.02


def test_twin_that_knows_one_alternative_less_is_caught() -> None:
    expression = dates._clock()
    matches = [bool(expression.match(TEXTS[number], place)) for number, place in PLACES]
    assert missed(Automaton(expression.pattern.replace("o'clock|[Uu]hr", "o'clock")), matches)


def test_twin_that_takes_letters_beyond_ascii_for_none_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = Runs(["Zoë"] * 20)
    assert Automaton(r"Zo\p{L}").can_match(runs.codes, runs.offsets).all()
    monkeypatch.setattr(syntax, "_OTHERS", 0)
    assert not Automaton(r"Zo\p{L}").can_match(runs.codes, runs.offsets).any()


ATOMS = ("a", "b", "[ab]", "[^a]", r"\d", r"\w", "c?", "b*", "a+", "a{2}", "b{1,3}")
FRAMES = ("{}{}", "(?:{}|{})", "(?:{}){{0,2}}{}", "(?i:{}){}", "({})+{}")


@st.composite
def patterns(draw: st.DrawFn) -> str:
    made = draw(st.sampled_from(ATOMS))
    for _ in range(draw(st.integers(0, 5))):
        made = draw(st.sampled_from(FRAMES)).format(made, draw(st.sampled_from(ATOMS)))
    return made


@given(patterns(), st.lists(st.text(alphabet="abAc1é ", max_size=8), min_size=1, max_size=4))
def test_without_looks_a_machine_says_of_ascii_exactly_what_the_expression_does(
    pattern: str, texts: list[str]
) -> None:
    runs, compiled = Runs(texts * 9), regex.compile(pattern)  # few places are not looked at
    said = Automaton(pattern).can_match(runs.codes, runs.offsets)
    for text, yes in zip(texts, said.tolist(), strict=False):
        match = compiled.match(text)
        assert yes or not match
        # Beyond the end of a text come line breaks, which only a negated class matches.
        assert not yes or match or "^" in pattern or not text.isascii()


def test_looks_at_both_ends_are_followed() -> None:
    texts = ["ab", "xab", "abx", " ab ", "ab1", "1ab", "a", "éab", "abé", "ab-", "-ab"]
    runs = Runs(texts * 9)
    places = runs.offsets + np.array([text.find("ab") for text in texts * 9])
    said = Automaton(r"(?<![\p{L}\p{N}])ab(?![\p{L}\p{N}]|-[0-9])").can_match(runs.codes, places)
    # What a letter beyond ASCII is taken for is every character.
    assert said.tolist() == 9 * [True, *[False] * 2, True, *[False] * 3, *[True] * 4]


def test_few_places_are_all_worth_trying() -> None:
    runs = Runs(["x"])
    assert Automaton("a").can_match(runs.codes, runs.offsets).all()


def test_what_is_not_refused_in_time_is_worth_trying() -> None:
    runs = Runs(["a" * 500] * 20)
    assert Automaton("a{400}b").can_match(runs.codes, runs.offsets).all()
    assert not Automaton("a{40}b").can_match(runs.codes, runs.offsets).any()


def test_where_one_more_state_would_be_too_many_the_answer_is_yes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = Runs(["abcabcabd"] * 20)
    assert not Automaton("(?:abc)+e").can_match(runs.codes, runs.offsets).any()
    monkeypatch.setattr(automaton, "_MOST_STATES", 3)
    assert Automaton("(?:abc)+e").can_match(runs.codes, runs.offsets).all()


@pytest.mark.parametrize("pattern", ["(a", "a)", r"\q"])
def test_what_cannot_be_read_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="an expression"):
        syntax.parse(pattern)


LOOKED = (
    "api_key",
    "national_id",
    "license_plate",
    "age",
    "dates",
    "address",
    "postcode",
    "person",
)


@pytest.mark.parametrize("kind", LOOKED)
def test_twin_whose_machines_skip_too_much_is_caught(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With machines that say no after some characters, something is missing at once."""
    texts = read_together().texts[250:]
    real, before = Automaton.can_match, _found(kind, texts)

    def hasty(self: Automaton, codes: Codes, places: np.ndarray) -> Flags:
        said = real(self, codes, places)
        return said & (np.arange(len(said)) % 5 > 0)

    monkeypatch.setattr(Automaton, "can_match", hasty)
    assert before - _found(kind, texts)


def _found(kind: str, texts: list[str]) -> set[tuple[int, int, int]]:
    assert kind in KINDS
    (recognizer,) = _recognizers((kind,), DEFAULT)
    page = Page(texts)
    return {
        (number, one.start, one.end)
        for number in recognizer.where(page)
        for one in recognizer.find(page.readings[number])
    }
