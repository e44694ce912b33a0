"""Street addresses in the orders in which people write them.

At every number the rules are tried (``house``) whose trigger says that they can hold there; what
follows an address belongs to it (``street.tail_end``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from sfumato.policies.pii import house, street
from sfumato.policies.pii.address_parts import HEADS, after_head, coded, heading
from sfumato.policies.pii.automaton import automaton, backward
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.openings import words_of
from sfumato.policies.pii.reading import Page, Reading, Trigger
from sfumato.policies.pii.runs import CAPITALS, DIGITS, FAR, LETTERS, Flags, among, surely

_MOST_HEADINGS = 50
_STREET_AFTER = 160
_LONGEST_NUMBER = 6
_FARTHEST_NUMBER = 160
_FARTHEST_CODE = 600
_ZIP_LENGTH = 5
_NEAR = 4  # signs between a word and the number after it
_Rule = Callable[[str, int], house.Place | None]


@dataclass(frozen=True)
class Address:
    """Where somebody lives or a parcel goes."""

    label: ClassVar[str] = "ADDRESS"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be of a house, a box or a town."""
        return page.choose(_may_be_address)

    def find(self, reading: Reading) -> Iterator[Found]:
        """At every number: a house number before or after its street, a box, a town."""
        text, reached, headings = reading.text, 0, dict[str, None]()
        rules = [(reading.page.flags(trigger), rule) for trigger, rule in _RULES]
        for run in reading.chosen(_may_be_address):
            start = reading.starts[run]
            if start < reached:
                continue
            found = None
            for chosen, rule in rules[:1] if _is_inside(text, start) else rules[1:]:
                if chosen[reading.first + run] and (found := rule(text, start)):
                    break
            if found:
                reached = street.tail_end(text, found.end)
                headings[heading(text[found.start : reached])] = None
                yield Found(found.start, reached, self.label, found.rule, found.reason)
        yield from self._mentioned(reading, [each for each in headings if each][:_MOST_HEADINGS])

    def _mentioned(self, reading: Reading, headings: list[str]) -> Iterator[Found]:
        """The beginning of an address that has no number, wherever it stands again."""
        if headings:
            again = re.compile("|".join(map(re.escape, sorted(headings, key=len, reverse=True))))
            for match in again.finditer(reading.text):
                reason = "the beginning of an address found elsewhere in the document"
                yield Found(match.start(), match.end(), self.label, "address-again", reason)


def _is_inside(text: str, start: int) -> bool:
    """Whether the number is the end of a word, a price or the decimals of another number."""
    return start > 0 and (text[start - 1].isalpha() or text[start - 1] in "$€£.,")


def _may_be_address(page: Page) -> Flags:
    """The numbers at which some rule can hold."""
    found = np.zeros(len(page.runs), dtype=np.bool_)
    for trigger, _ in _RULES:
        found |= page.ask(trigger)
    return found


def _may_be_coded(page: Page) -> Flags:
    """Digits of a British postcode, right after its first letters."""
    runs = page.runs
    held = (runs.lengths <= 3) & among(runs.before(1), CAPITALS) & among(runs.after(1), _CODED)
    return page.where_can(automaton(coded()), held, 1, 2)


_CODED = LETTERS + " "
_BARS = '\n\t\r?!:;()"@$%&*+=<>[]{}|~^\\_'  # none of these stands inside an address of one line
_BLANK, _COMMA = map(ord, " ,")
_INSIDE = LETTERS + "$.,"


def _is_outside(page: Page) -> Flags:
    """Not the end of a word, a price or the decimals of another number."""
    return ~surely(page.runs.before(1), _INSIDE)


def _goes_on(page: Page) -> Flags:
    """Short enough for a house number, and the rest of an address can follow."""
    runs = page.runs
    following = among(runs.after(1), LETTERS + " ,-/")
    return page.ask(_is_outside) & (runs.lengths <= _LONGEST_NUMBER) & following


def _may_have_parts(page: Page) -> Flags:
    """After a word for a house or a letter, or before what looks like an Indian code."""
    runs = page.runs
    headed = page.told_before(_small(HEADS), 2)
    headed |= among(runs.before(1), "-") & among(runs.before(2), LETTERS)
    following = runs.following(runs.lengths)
    codes = (runs.lengths == 6) | ((runs.lengths == 3) & runs.joins(" ") & (following == 3))
    places = np.append(runs.starts[codes], FAR)
    nearest = places[np.searchsorted(places, runs.ends)]
    reaches = (nearest - runs.ends <= _FARTHEST_CODE) & (nearest < page.until(_BARS))
    one, two = runs.after(1), runs.after(2)
    parted = among(one, LETTERS + "-/") | ((one == _COMMA) & (two == _BLANK))
    parted |= (one == _BLANK) & among(two, CAPITALS + DIGITS)
    held = page.ask(_goes_on) & (headed | reaches) & parted
    return page.where_can(automaton(after_head()), held)


def _may_be_box(page: Page) -> Flags:
    held = page.ask(_is_outside) & page.told_before(_small(house.UNITS), _NEAR)
    return page.where_can(backward(house.box_before()), held)


def _may_precede_street(page: Page) -> Flags:
    held = page.ask(_goes_on) & page.told_until(house.street_words(), _STREET_AFTER, _BARS)
    return page.where_can(automaton(house.number_first()), held)


def _may_be_framed(page: Page) -> Flags:
    """Before a blank, a capital and, not far away, another number."""
    runs = page.runs
    capital = among(runs.after(1), " ") & among(runs.after(2), CAPITALS)
    held = page.ask(_goes_on) & capital & (runs.gaps <= _FARTHEST_NUMBER)
    return page.where_can(automaton(house.two_numbers()), held)


def _may_follow_state(page: Page) -> Flags:
    whole = page.ask(_is_outside) & (page.runs.lengths == _ZIP_LENGTH)
    held = whole & page.told_before(_small(street.US_STATES), _NEAR)
    return page.where_can(backward(house.town_before()), held)


def _may_follow_street(page: Page) -> Flags:
    """Whether the word before a number ends a street's name, or one that begins it is near."""
    words, runs = page.words, page.runs
    before = np.maximum(np.searchsorted(words.ends, runs.starts, side="right") - 1, 0)
    titled = words.titled[before] if len(words) else np.zeros(len(runs), dtype=np.bool_)
    ended = page.told_before(_street_ends(), _NEAR)
    begun = titled & page.told_before(house.street_beginnings(), house.STREET_BEFORE)
    small = page.told_before(_small(street.SMALL_LEADING), house.STREET_BEFORE)
    short = page.ask(_is_outside) & (runs.lengths < _LONGEST_NUMBER)
    held = page.where_can(automaton(house.house_number()), short & (ended | begun | small))
    return page.where_can(backward(house.street_before()), held)


def _may_be_announced(page: Page) -> Flags:
    held = page.ask(_goes_on) & page.told_before(_announcing(), house.ANNOUNCED_BEFORE)
    return page.where_can(automaton(house.address_line()), held)


_RULES: tuple[tuple[Trigger, _Rule], ...] = (
    (_may_be_coded, house.match_coded),
    (_may_have_parts, house.match_parts),
    (_may_be_box, house.match_box),
    (_may_precede_street, house.match_number_then_street),
    (_may_be_framed, house.match_framed),
    (_may_follow_state, house.match_town),
    (_may_follow_street, house.match_street_then_number),
    (_may_be_announced, house.match_announced),
)


@cache
def _street_ends() -> frozenset[str]:
    joined = (f"*{word.rstrip('.')}" for word in street.JOINED.split())
    apart = (word.rstrip(".") for word in (street.ENDINGS + street.SUFFIXES).split())
    return frozenset((*joined, *apart, "n", "nr"))


@cache
def _small(words: str) -> frozenset[str]:
    """The last runs of letters of some words."""
    return frozenset(re.findall(r"[^\W\d_]+(?![^\s]*[^\W\d_])", words.lower()))


@cache
def _announcing() -> frozenset[str]:
    return words_of("address", *house.CUES[1:])
