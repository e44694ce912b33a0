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


class Name(NamedTuple):
    """A name's first word as it is written, and the words by which it is known again."""

    first: str
    lasting: tuple[str, ...]


def judge(text: str, rule: str) -> Name | None:
    """The name that this is; none if it is no name."""
    words, plains = _name(text, rule)
    return Name(words[0], tuple(lasting(plains))) if words else None


def words_of_name(text: str, rule: str) -> list[str]:
    """The words of a name; none when they are no name."""
    return _name(text, rule)[0]


def _name(text: str, rule: str) -> tuple[list[str], list[str]]:
    """The words of a name as they are written, and plainly; none when they are no name."""
    words = _words_apart(text)
    plains = [plain(word) for word in words]
    titles = _listed(cues.BARE_TITLES)
    while plains and plains[0] in titles:
        del words[0], plains[0]
    if not words or plains[0] in _listed(cues.NOT_NAMES):
        return [], []
    ordinary, things = list_names().words, list_things()
    if ordinary.issuperset(plains):
        return [], []
    if rule != "person-title" and all(word in ordinary or word in things for word in plains):
        return [], []
    # What something is made by or does what people do may be a company.
    company = rule in ("person-role", "person-acting") and plains[-1] in things
    return ([], []) if company else (words, plains)


def lasting(words: Iterable[str]) -> list[str]:
    """Of the words of a name, written plainly, those by which it is known again."""
    names, passing = [word.removesuffix("'s") for word in words], _passing()
    return [name for name in names if len(name) > 2 and name not in passing]


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
    return (names.words | _listed(cues.NOT_NAMES)) - names.alone


@cache
def no_names() -> frozenset[str]:
    """Words that follow a cue without being a name, titles, and the small words inside names."""
    titles = plain(cues.TITLES.replace("\\", "").replace("?", "")).replace(".", " ").split()
    return frozenset((*cues.NOT_NAMES.split(), *titles, *PARTICLES.split()))


@cache
def _passing() -> frozenset[str]:
    """Words of names by which nobody is known again."""
    return no_names() | list_names().words | list_things()


@cache
def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _words_apart(text: str) -> list[str]:
    """The words of a name, without full stops and commas."""
    if text.isprintable() and text.isascii():  # then every blank is a plain one
        return text.replace(".", " ").replace(",", " ").split()
    return [word for word in _apart().of(text).split(text) if word]


@cache
def _apart() -> Expression:
    return Expression(r"[\s.,]+")
