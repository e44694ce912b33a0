"""Names by the word right before or right after them: "patient Lena Fischer", "Ann Hale said".

Only the words beside a chain of capitals are looked at, which is much faster than looking for
each of these words in the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from sfumato.policies.pii import cues
from sfumato.policies.pii.capitals import Capital, Chain
from sfumato.policies.pii.listed import leads_to_name

_BEFORE, _AFTER = 32, 32
_FIELDS = ("by", "from", "to", "cc", "bcc")
_SIGNS = " :.,"


class Cued(NamedTuple):
    """A name with the rule that found it."""

    rule: str
    reason: str
    place: tuple[int, int]


def find_cued_around(chain: Chain) -> Iterator[Cued]:
    """A chain that follows a word for a person's part, or does what only people do."""
    words, text = _without_lead(chain.words), chain.text
    start, end = chain.start + words[0].start, chain.end_of(-1)
    if len(words) > 1 and _follows_role(text, start):
        yield _role(start, end)
    elif len(words) > 2 and words[0].plain in _by_word(cues.ROLES, -1):
        yield _role(chain.start + words[1].start, end)
    if _acts(text, end) and text[max(0, start - 4) : start].lower() != "the ":
        yield Cued("person-acting", "does what people do", (start, end))


def _without_lead(words: list[Capital]) -> list[Capital]:
    first = 0
    while first < len(words) - 1 and leads_to_name(words[first].plain):
        first += 1
    return words[first:] if first else words


def _role(start: int, end: int) -> Cued:
    return Cued("person-role", "follows a word for a person's part", (start, end))


def _follows_role(text: str, start: int) -> bool:
    if not start or text[start - 1] not in _SIGNS:
        return False
    stretch = text[max(0, start - _BEFORE) : start]
    before = stretch.rstrip(_SIGNS)
    if before[-2:].lower() not in _last_letters():
        return False
    words = before.lower().split()
    # A letter says "By:", "To:" and "From:"; without the colon only "by" is followed by people.
    if words and words[-1] in _FIELDS and (words[-1] == "by" or stretch[len(before)] == ":"):
        return True
    phrases = _by_word(cues.ROLES, -1).get(words[-1], ()) if words else ()
    return any(words[-len(phrase) :] == phrase for phrase in phrases)


def may_act(text: str, end: int) -> bool:
    """Whether a verb can follow a single word, whose full stop may stand between."""
    following = text[end : end + 2]
    return following[:1] == "." or (following[:1] == " " and following[1:] in _acting_letters())


def _acts(text: str, end: int) -> bool:
    following = text[end : end + 2]
    if following[:1] != " " or following[1:] not in _acting_letters():
        return False
    words = [word.rstrip(".,;:!?") for word in text[end : end + _AFTER].split(" ", 3)[1:3]]
    phrases = _by_word(cues.ACTING, 0).get(words[0], ())
    return any(words[: len(phrase)] == phrase for phrase in phrases)


@cache
def role_words() -> frozenset[str]:
    """The last runs of letters of what stands before a name for its part."""
    last = (re.findall(r"[^\W\d_]+", word)[-1] for word in (*_by_word(cues.ROLES, -1), *_FIELDS))
    return frozenset(last)


@cache
def acting_words() -> frozenset[str]:
    """The first runs of letters of what only people do."""
    return frozenset(re.findall(r"[^\W\d_]+", word)[0] for word in _by_word(cues.ACTING, 0))


@cache
def _acting_letters() -> frozenset[str]:
    return frozenset(phrase[0] for phrase in _by_word(cues.ACTING, 0))


@cache
def _last_letters() -> frozenset[str]:
    """The last two letters of the words before names."""
    return frozenset(word[-2:] for word in (*_by_word(cues.ROLES, -1), *_FIELDS))


@cache
def _by_word(phrases: str, place: int) -> dict[str, list[list[str]]]:
    """Phrases, each as its words, by their first or last word."""
    found: dict[str, list[list[str]]] = {}
    for phrase in phrases.strip().splitlines():
        words = phrase.split()
        found.setdefault(words[place], []).append(words)
    return found
