"""Whether words that were found where a name stands are a name, and which of them are its own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from sfumato.policies.pii import cues
from sfumato.policies.pii.capitals import JOINING, PARTICLES
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.listed import list_things
from sfumato.policies.pii.names import list_names, plain

_TITLE, _NO_NAME, _ORDINARY, _THING, _COMMON, _PASSING = (1 << bit for bit in range(6))


class Name(NamedTuple):
    """A name's first word as it is written, and the words by which it is known again."""

    first: str
    lasting: tuple[str, ...]


def judge(text: str, rule: str) -> Name | None:
    """The name that this is; none if it is no name."""
    words, plains = _words_apart(text)
    known = _listing()
    traits = [known.get(word, 0) for word in plains]
    first = 0
    while first < len(traits) and traits[first] & _TITLE:
        first += 1
    if first:
        del words[:first], plains[:first], traits[:first]
    if not traits or traits[0] & _NO_NAME:
        return None
    shared = traits[0]  # what holds for all words
    for trait in traits:
        shared &= trait
    if shared & (_ORDINARY if rule == "person-title" else _ORDINARY | _COMMON):
        return None
    # What something is made by or does what people do may be a company.
    if rule in ("person-role", "person-acting") and traits[-1] & _THING:
        return None
    return Name(words[0], tuple(lasting(plains)))


def lasting(words: Iterable[str]) -> list[str]:
    """Of the words of a name, written plainly, those by which it is known again."""
    known = _listing()
    names = [word.removesuffix("'s") if "'" in word else word for word in words]
    return [name for name in names if len(name) > 2 and not known.get(name, 0) & _PASSING]


def without_joining(text: str, start: int, end: int) -> int:
    """Where a name ends that small words such as "y" and "al" follow: no name ends with one."""
    while True:
        blank = text.rfind(" ", start, end)
        if blank <= start or text[blank + 1 : end] not in JOINING:
            return end
        end = blank


@cache
def idle_words() -> frozenset[str]:
    """Words that are no name when no other capital stands beside them, and in no list of names."""
    names = list_names()
    return (names.words | frozenset(cues.NOT_NAMES.split())) - names.alone


@cache
def no_names() -> frozenset[str]:
    """Words that follow a cue without being a name, titles, and the small words inside names."""
    titles = plain(cues.TITLES.replace("\\", "").replace("?", "")).replace(".", " ").split()
    return frozenset((*cues.NOT_NAMES.split(), *titles, *PARTICLES.split()))


@cache
def _listing() -> dict[str, int]:
    """What lists say of a word, written plainly; by those that pass nobody is known again."""
    ordinary, things = list_names().words, list_things()
    lists = {
        _TITLE: cues.BARE_TITLES.split(),
        _NO_NAME: cues.NOT_NAMES.split(),
        _ORDINARY: ordinary,
        _THING: things,
        _COMMON: ordinary | things,
        _PASSING: no_names() | ordinary | things,
    }
    listed: dict[str, int] = {}
    for bit, words in lists.items():
        for word in words:
            listed[word] = listed.get(word, 0) | bit
    return listed


def _words_apart(text: str) -> tuple[list[str], list[str]]:
    """The words of a name without full stops and commas, as they are written and plainly."""
    if text.isascii() and text.isprintable():  # then every blank is a plain one
        shown = text.replace(".", " ").replace(",", " ")
        return shown.split(), shown.lower().split()
    words = [word for word in _apart().of(text).split(text) if word]
    return words, [plain(word) for word in words]


@cache
def _apart() -> Expression:
    return Expression(r"[\s.,]+")
