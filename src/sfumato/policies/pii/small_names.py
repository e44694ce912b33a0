"""Names in small letters: only listed ones, and only where a name can stand."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii import cues
from sfumato.policies.pii.around import Cued
from sfumato.policies.pii.expressions import Expression, Match
from sfumato.policies.pii.introductions import asking
from sfumato.policies.pii.judging import judge, no_names
from sfumato.policies.pii.names import list_names, plain
from sfumato.policies.pii.reading import Finder, Page
from sfumato.policies.pii.runs import Flags
from sfumato.policies.pii.spelling import GIVEN, PARTICLE, QUESTION, SMALL

_LEADS = frozenset(
    ["i", "im", "it", "its", "this", "name", "hi", "hello", "hey", "dear", "for", "to"]
)
_Places = NDArray[np.int64]
_BREAK = ord("\n")


def find_small(page: Page) -> Iterator[tuple[int, Cued]]:
    """Answers to a question for a name, names after some words, and names that begin a line."""
    listed = page.spots(_listed)
    for number, text, line in _matches(page, asking, _answer_line(), listed):
        start, end = line.span("answer")
        following = bisect_left(listed[number], start)
        if following < len(listed[number]) and listed[number][following] < end:
            yield from ((number, cued) for cued in _answers(text, line))
    for number, text, lead in _matches(page, _leads, _lead()):
        yield from ((number, cued) for cued in _given_name(text, lead))
    for number, places in page.spots(_line_starts).items():
        text = page.texts[number]
        for place in places:
            given = _given().match(text, place) if text[place].islower() else None
            if given:
                yield from ((number, cued) for cued in _given_name(text, given))


def _matches(
    page: Page, finder: Finder, expression: Expression, among: Container[int] | None = None
) -> Iterator[tuple[int, str, Match]]:
    """Matches at some places that do not overlap, with the numbers and texts of the documents.

    Other documents than those ``among`` are left out.
    """
    for number, places in page.spots_of(finder, expression).items():
        if among is not None and number not in among:
            continue
        text, reached = page.texts[number], 0
        match_at = expression.of(text).match
        for place in places:
            if place >= reached and (match := match_at(text, place)):
                reached = match.end()
                yield number, text, match


def _leads(page: Page) -> _Places:
    """Words that a name may follow, where the next word or the one after it may be listed."""
    words = page.words
    listed = _may_be_listed(page)
    return words.starts[words.among(_LEADS) & (words.later(listed, 1) | words.later(listed, 2))]


def _listed(page: Page) -> _Places:
    return page.words.starts[_may_be_listed(page)]


def _line_starts(page: Page) -> _Places:
    places = _listed(page)
    spots: NDArray[np.int64] = places[page.runs.codes[places - 1] == _BREAK]
    return spots


def _may_be_listed(page: Page) -> Flags:
    """Words in small letters that seem listed, or of which one sees only a part."""
    words = page.words
    seen = words.among(list_names().alone) | words.beyond | words.followed("-',")
    return seen & (words.beyond | ~words.titled)


def _answers(text: str, line: Match) -> Iterator[Cued]:
    """Listed names in small letters in an answer to a question for a name."""
    names, place = list_names().alone, line.span("answer")
    found = _small_word().of(text).findall(text, *place)
    if names.isdisjoint(map(plain, found)):
        return
    for match in _small_word().finditer(text, *place):
        if plain(match[1]) in names:
            reason = "a listed name that answers a question for a name"
            turned = _surname_before().search(text, line.start("answer"), match.start())
            start = turned.start() if turned else match.start()
            yield Cued("person-answer", reason, (start, _end(text, match.end())))


def _given_name(text: str, match: Match) -> Iterator[Cued]:
    """A listed name in small letters, after a word that a name may follow or on a new line."""
    end, given, names = match.end("given"), plain(match["given"]), list_names().alone
    if given in _no_first_words() and not match["after"]:
        return
    if given not in names:
        if plain(match["after"] or "") not in names or not judge(match["given"], ""):
            return
        end = match.end("after")
    reason = "a listed name in small letters, where a name can stand"
    yield Cued("person-small", reason, (match.start("given"), _end(text, end)))


def _end(text: str, end: int) -> int:
    """Where a name in small letters ends: at the first ordinary word, after two words at most."""
    for _ in range(2):
        match = _rest().match(text, end)
        if not match or plain(match[1]) in no_names() or plain(match[1]) in list_names().words:
            break
        end = match.end()
    return end


@cache
def _no_first_words() -> frozenset[str]:
    return frozenset(cues.NOT_NAMES.split())


@cache
def _answer_line() -> Expression:
    return Expression(rf"{QUESTION}(?P<answer>[^\n]{{1,160}})")


@cache
def _lead() -> Expression:
    return Expression(
        r"\b(?:[Ii](?: am|'?m)|[Ii]t(?:'?s| is)|[Tt]his is|[Nn]ame(?: is|'s)"
        rf"|[Hh](?:i|ello|ey),?|[Dd]ear|for|to) (?={GIVEN})"
    )


@cache
def _given() -> Expression:
    return Expression(GIVEN)


@cache
def _small_word() -> Expression:
    return Expression(rf"(?<![\p{{L}}'\-])({SMALL})")


@cache
def _rest() -> Expression:
    return Expression(rf" (?:\p{{Ll}}\.? )?(?:{PARTICLE} ){{0,3}}({SMALL})")


@cache
def _surname_before() -> Expression:
    return Expression(rf"(?<!\p{{L}})(?:{PARTICLE} ){{0,3}}{SMALL}, \Z")
