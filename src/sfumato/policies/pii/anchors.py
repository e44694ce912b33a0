"""Expressions that begin with a known word, tried only where this word stands.

A text is cut into words once, and each word is looked up. This is much faster than to let one
expression after the other look through the whole text, and finds the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import regex

from sfumato.policies.pii.expressions import Expression, Match

_Strings = frozenset[str]


class Anchor(NamedTuple):
    """An expression and the words that it is tried at.

    It begins ``back`` characters before the word. ``guard`` says by a quick look at the text from
    the end of the word on whether the expression can match.
    """

    pattern: Expression
    words: Collection[str]
    back: int = 0
    guard: Callable[[str, int], bool] | None = None


class Anchored:
    """Expressions under numbers, each with the words that it is tried at."""

    def __init__(self, anchors: Iterable[Anchor]) -> None:
        self._anchors = tuple(anchors)
        self._numbers: dict[str, tuple[int, ...]] = {}
        for number, anchor in enumerate(self._anchors):
            for word in anchor.words:
                self._numbers[word] = (*self._numbers.get(word, ()), number)

    def find(self, text: str) -> Iterator[tuple[int, Match]]:
        """Every match with its expression's number; those of one expression do not overlap."""
        reached = [0] * len(self._anchors)
        find_numbers = self._numbers.get
        for word in letters(text).finditer(text):
            for number in find_numbers(word[0], ()):
                pattern, _, back, guard = self._anchors[number]
                start = word.start() - back
                if start >= reached[number] and (guard is None or guard(text, word.end())):
                    match = pattern.match(text, start)
                    if match:
                        reached[number] = match.end()
                        yield number, match


def letters(text: str) -> re.Pattern[str] | regex.Pattern[str]:
    """An expression for the runs of letters of this text."""
    return _ascii_letters() if text.isascii() else _all_letters()


@cache
def _ascii_letters() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z]+")


@cache
def _all_letters() -> regex.Pattern[str]:
    return regex.compile(r"\p{L}++")


def first_words(patterns: Iterable[str]) -> _Strings:
    """The runs of letters with which these expressions can begin.

    Of the syntax only letters, classes, groups of alternatives and question marks are known: what
    lists of phrases are written in.

    >>> sorted(first_words(["gr[üu](?:ß|ss)e", "Herrn? ", "my name(?: is|'s)"]))
    ['Herr', 'Herrn', 'grusse', 'gruße', 'grüsse', 'grüße', 'my']
    """
    return frozenset(word for pattern in patterns for word in _expanded(pattern))


def either_case(words: Iterable[str]) -> _Strings:
    """The words, and those in small letters also with a capital at their beginning."""
    return frozenset(form for word in words for form in (word, word[:1].upper() + word[1:]))


def _expanded(pattern: str) -> set[str]:
    done, open_ends, rest = set[str](), {""}, pattern
    while rest and open_ends:
        pieces, rest = _next_piece(rest)
        optional = rest.startswith("?")
        rest = rest[1:] if optional else rest
        longer = {end + piece for end in open_ends for piece in pieces if piece.isalpha()}
        # A piece such as " is" ends the word; of "n't" the letter still belongs to it.
        for piece in pieces:
            if not piece.isalpha():
                head = _all_letters().match(piece)
                done |= {end + (head[0] if head else "") for end in open_ends}
        open_ends = longer | open_ends if optional else longer
    return {word for word in done | open_ends if word}


def _next_piece(pattern: str) -> tuple[list[str], str]:
    """What can stand first, and the rest of the pattern."""
    if pattern[0] == "[":
        end = pattern.index("]")
        return list(pattern[1:end]), pattern[end + 1 :]
    if pattern.startswith("(?:"):
        depth, end = 1, 3
        while depth:
            depth += {"(": 1, ")": -1}.get(pattern[end], 0)
            end += 1
        return pattern[3 : end - 1].split("|"), pattern[end:]
    if pattern[0] == "\\":
        return [pattern[1]], pattern[2:]
    return [pattern[0]], pattern[1:]
