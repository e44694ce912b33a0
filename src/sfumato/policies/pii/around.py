"""Names by the word right before or right after them: "patient Lena Fischer", "Ann Hale said".

Only the words beside a chain of capitals are looked at, which is much faster than looking for
each of these words in the whole text.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import regex

from sfumato.policies.pii import cues
from sfumato.policies.pii.capitals import Chain

_BEFORE, _AFTER = 32, 24


class Cued(NamedTuple):
    """A name with the rule that found it."""

    rule: str
    reason: str
    place: tuple[int, int]


def cued_around(chain: Chain) -> Iterator[Cued]:
    """A chain that follows a word for a person's part, or does what only people do."""
    words, text = chain.words, chain.text
    end = chain.end_of(len(words) - 1)
    if len(words) > 1 and _follows_role(text, words[0].start):
        yield _role(words[0].start, end)
    elif len(words) > 2 and words[0].plain in _last_words(cues.ROLES):
        yield _role(words[1].start, end)
    if _next_word(text, end) in _first_words(cues.ACTING) and _acting().match(text, end):
        before = text[max(0, words[0].start - 4) : words[0].start]
        if before.lower() != "the ":
            yield Cued("person-acting", "does what people do", (words[0].start, end))


def _role(start: int, end: int) -> Cued:
    return Cued("person-role", "follows a word for a person's part", (start, end))


def _follows_role(text: str, start: int) -> bool:
    before = text[max(0, start - _BEFORE) : start]
    last = before.rstrip(" :.,").replace("\n", " ").rpartition(" ")[2].lower()
    return last in _last_words(cues.ROLES) and bool(_role_before().search(before))


def _next_word(text: str, end: int) -> str:
    return text[end : end + _AFTER].partition(" ")[2].partition(" ")[0].rstrip(".,;:!?\n")


@cache
def _last_words(phrases: str) -> frozenset[str]:
    """Every word that can end one of these phrases."""
    found = {"by", "from", "to", "cc", "bcc"}
    for phrase in phrases.strip().split("\n"):
        last = regex.sub(r"\(\?:[^)]*\)\??|,\?", "", phrase).split(" ")[-1]
        ends = regex.search(r"\(\?:([^)]*)\)\Z", phrase)
        options = ends[1].split("|") if ends else []
        found.update((last, *(option.split(" ")[-1] for option in options)))
        found.update(_optional(phrase))
    return frozenset(word.lower() for word in found if word)


def _optional(phrase: str) -> Iterator[str]:
    """The last word with its optional ending, and "neighbour" with and without its u."""
    last = phrase.split(" ")[-1].removesuffix(",?")
    match = regex.fullmatch(r"(\p{L}*)\(\?:(\p{L}*)(?:\|(\p{L}*))?\)\??", last)
    if match:
        yield from (match[1] + (ending or "") for ending in match.groups()[1:])
    match = regex.fullmatch(r"(\p{L}*)(\p{L})\?(\p{L}*)", last.partition("(")[0])
    if match:
        yield from (match[1] + match[3], match[1] + match[2] + match[3])


@cache
def _first_words(phrases: str) -> frozenset[str]:
    words = (phrase.split(" ")[0] for phrase in phrases.strip().split("\n"))
    return frozenset(
        option
        for word in words
        for option in (word.replace("[sz]", "s"), word.replace("[sz]", "z"))
    )


@cache
def _role_before() -> regex.Pattern[str]:
    phrases = "|".join(cues.ROLES.strip().split("\n"))
    return regex.compile(
        rf"(?<!\p{{L}})(?:(?i:{phrases})(?:: ?|\. ?| )|(?:From|To|Cc|CC|Bcc|FROM|TO|By): {{1,8}}|by )\Z"
    )


@cache
def _acting() -> regex.Pattern[str]:
    return regex.compile(rf" (?:{'|'.join(cues.ACTING.strip().split(chr(10)))})\b")
