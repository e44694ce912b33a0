"""The words with which expressions can begin, so that they are tried only where one stands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

Words = frozenset[str]


class _Begun(NamedTuple):
    """Words that have ended, and beginnings that may go on; none at all is an empty beginning."""

    ended: Words
    open: Words


@cache
def words_of(*patterns: str) -> Words:
    r"""The first run of letters of everything that these expressions match, in small letters.

    A star stands where any letters can follow.

    >>> sorted(words_of("gr[üu](?:ß|ss)e|telefon\\w*", "my name(?: is|'s)"))
    ['grusse', 'gruße', 'grüsse', 'grüße', 'my', 'telefon', 'telefon*']
    """
    return frozenset(word.lower() for word in first_words(patterns))


def first_words(patterns: Iterable[str]) -> Words:
    """The same as they are written.

    Of the syntax only what lists of phrases are written in is known: letters, classes, groups of
    alternatives, repetitions. What begins with no letter at all is refused.

    >>> sorted(first_words(["Herrn? ", "(?:3|three) digits"]))
    ['Herr', 'Herrn', 'digits', 'three']
    """
    found: Words = frozenset()
    for pattern in patterns:
        begun, rest = _alternatives(pattern, frozenset([""]))
        if rest or "" in begun.open:
            raise ValueError("an expression that can begin with no letter at all")
        found |= begun.ended | begun.open
    return found


def _alternatives(pattern: str, before: Words) -> tuple[_Begun, str]:
    """What is begun after a group, and the pattern from its closing parenthesis on."""
    ended, still_open = Words(), Words()
    while True:
        begun, pattern = _sequence(pattern, before)
        ended, still_open = ended | begun.ended, still_open | begun.open
        if not pattern.startswith("|"):
            return _Begun(ended, still_open), pattern
        pattern = pattern[1:]


def _sequence(pattern: str, before: Words) -> tuple[_Begun, str]:
    ended, current = Words(), before
    while pattern and pattern[0] not in "|)":
        begun, pattern = _piece(pattern, current)
        times = _times().match(pattern)
        pattern = pattern[times.end() :] if times else pattern
        longer = begun.open
        if times and (times["any"] or times["some"]) and longer != current:
            ended |= {word + "*" for word in longer - current if word}
        optional = bool(times and times["none"])
        ended, current = ended | begun.ended, longer | current if optional else longer
    return _Begun(ended, current), pattern


def _piece(pattern: str, before: Words) -> tuple[_Begun, str]:
    """What is begun after one character, class or group, and the rest of the pattern."""
    group = _group().match(pattern)
    if group:
        begun, rest = _alternatives(pattern[group.end() :], before)
        return (_Begun(Words(), before) if group["look"] else begun), rest[1:]
    if pattern.startswith("(?"):  # a flag for all that follows
        return _Begun(Words(), before), pattern[pattern.index(")") + 1 :]
    match = _one().match(pattern)
    rest = pattern[match.end() :] if match else ""
    if not match or match["any"]:
        return _Begun(frozenset(word + "*" for word in before), Words()), rest
    if match["nothing"]:
        return _Begun(Words(), before), rest
    pieces = match["class"] or match["escaped"] or match["plain"]
    return _with_any_of(pieces, before), rest


def _with_any_of(characters: str, before: Words) -> _Begun:
    letters = [character for character in characters if character.isalpha()]
    longer = {word + letter for word in before for letter in letters}
    if len(letters) == len(characters):
        return _Begun(Words(), frozenset(longer))
    # Another character ends a word; where none has begun, it is passed over.
    longer |= before & {""}
    return _Begun(before - {""}, frozenset(longer))


@cache
def _group() -> re.Pattern[str]:
    return re.compile(r"\((?:(?P<look>\?<?[=!])|\?(?:-?i)?:|\?P<\w+>|(?!\?))")


@cache
def _one() -> re.Pattern[str]:
    return re.compile(
        r"(?P<any>\\w|\\[pP]\{\w+\}|\[[^\]\\]*(?:\\p|[a-z]-[a-z])[^\]]*\])|(?P<nothing>\\[bZ]|[\^$])"
        r"|\[(?P<class>(?:\\.|[^\]\\])+)\]|\\(?P<escaped>.)|(?P<plain>.)",
        re.DOTALL,
    )


@cache
def _times() -> re.Pattern[str]:
    return re.compile(r"(?P<none>\?|(?P<any>\*|\{0,\d*\}))[+?]?|(?P<some>\+|\{\d+(?:,\d*)?\})[+?]?")
