"""Words that begin with a capital, and chains of them: the places where names can stand.

A chain goes on over a blank, over the full stop of an initial and over the small words inside
names: "Harriet S. Entwistle", "Anna van der Meer". It is cut when it grows too long, so that the
time stays linear in the length of the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import regex

from sfumato.policies.pii.names import plain

PARTICLES = """
de da do dos das del della di du van von vom der den ten ter la le las los bin binti ibn al el af av
zu zur zum y e i 't op
"""
_LONGEST = 12
_TAG_LENGTH = 3
_JOINTS = "'-"


class Capital(NamedTuple):
    """One word with a capital; ``plain`` is how the list of names writes it."""

    start: int
    end: int
    plain: str
    shouted: bool

    @property
    def is_initial(self) -> bool:
        """Whether this is a single letter."""
        return self.end - self.start == 1


@dataclass(frozen=True, slots=True)
class Chain:
    """Words with capitals that follow each other."""

    text: str
    words: list[Capital]

    def end_of(self, index: int) -> int:
        """Where a word ends, the full stop of an initial included."""
        word = self.words[index]
        return word.end + (word.is_initial and self.text[word.end : word.end + 1] == ".")


def chains(text: str, tags: frozenset[str]) -> Iterator[Chain]:
    """All chains of a text, without the tags that name the speakers of a dialogue."""
    words: list[Capital] = []
    for match in _capital().finditer(text):
        start, end = match.span()
        shown = match[0]
        if end - start > 2 and shown[-2:] == "'s":
            end, shown = end - 2, shown[:-2]
        if text[start - 1 : start] in _JOINTS and start:
            start, shown = _with_prefix(text, start, shown)
        word = Capital(start, end, plain(shown), end - start > 1 and shown.isupper())
        if words and (len(words) == _LONGEST or not _is_joined(text, words[-1], word)):
            yield Chain(text, words)
            words = []
        if shown not in tags:
            words.append(word)
    if words:
        yield Chain(text, words)


def _with_prefix(text: str, start: int, shown: str) -> tuple[int, str]:
    """With the small letters that some surnames begin with: d'Aubigny, al-Rashid."""
    match = _prefix().search(text, max(0, start - 6), start)
    return (match.start(), match[0] + shown) if match else (start, shown)


def _is_joined(text: str, one: Capital, other: Capital) -> bool:
    gap = text[one.end : min(other.start, one.end + 14)]
    if one.is_initial:
        gap = gap.removeprefix(".")
    if gap == " " or (one.is_initial and not gap) or (gap == ". " and one.plain == "st"):
        return True
    if len(gap) < 4 or len(gap) > 13 or gap[0] != " " or gap[-1] != " ":
        return False
    return all(word in _particles() for word in gap.split())


def speaker_tags(text: str) -> frozenset[str]:
    """Two or three capitals before a colon that begin several lines: no names."""
    counts = Counter(match[1] for match in _tag().finditer(text))
    return frozenset(tag for tag, count in counts.items() if count > 1)


@cache
def _particles() -> frozenset[str]:
    return frozenset(PARTICLES.split())


@cache
def _tag() -> regex.Pattern[str]:
    return regex.compile(rf"(?m)^(\p{{Lu}}{{2,{_TAG_LENGTH}}}) ?:")


@cache
def _prefix() -> regex.Pattern[str]:
    return regex.compile(r"(?<![\p{L}\p{M}])(?:(?:[dl]|dell)'|(?:al|el|ad|ar|as|an)-)\Z")


@cache
def _capital() -> regex.Pattern[str]:
    return regex.compile(
        r"\p{Lu}(?<![\p{L}\p{M}\p{N}_@]\p{Lu})[\p{L}\p{M}]*+(?:['\-]\p{L}[\p{L}\p{M}]*+)*+"
    )
