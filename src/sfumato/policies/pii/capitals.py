"""Words that begin with a capital, and chains of them: the places where names can stand.

A chain goes on over a blank, over the full stop of an initial and over the small words inside
names: "Harriet S. Entwistle", "Anna van der Meer". It is cut when it grows too long, so that the
time stays linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.names import plain

PARTICLES = """
de da do dos das del della di du van von vom der den ten ter la le las los bin binti ibn al el af av
zu zur zum y e i 't op
"""
# Small words that join names to each other or to what follows; no name ends with one.
JOINING = ("y", "e", "i", "al", "de", "del", "la", "el", "le", "du", "des", "zu", "zum", "vom")
LONGEST = 12  # words of a chain
_JOINTS = "'-"
_WIDEST = 14  # of the small words between two words of a name


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


class Form:
    """The words of a chain, counted from its start, and what is known of them by themselves."""

    __slots__ = ("known", "plains", "words")

    def __init__(self, words: list[Capital]) -> None:
        self.words = words
        self.plains = [word.plain for word in words]
        self.known: object = None


Forms = dict[str, list[Form]]


class Chain(NamedTuple):
    """Words with capitals that follow each other; they are counted from ``start`` on."""

    text: str
    form: Form
    start: int = 0

    @property
    def words(self) -> list[Capital]:
        """The words, with their places counted from the start."""
        return self.form.words

    def end_of(self, index: int) -> int:
        """Where a word ends in the text, the full stop of an initial included."""
        word = self.form.words[index]
        end = self.start + word.end
        return end + (word.is_initial and self.text[end : end + 1] == ".")


def cut_plain(shown: str, tags: frozenset[str], forms: Forms, idle: frozenset[str]) -> list[Form]:
    """The chains of words with capitals and single blanks, except one that stands in ``idle``.

    The last word may have an ending.

    What was cut once is not cut again: ``forms`` remembers it for texts with the same tags.
    """
    cut = forms.get(shown)
    if cut is None:
        cut = forms[shown] = _cut(shown, tags, idle)
    return cut


def cut_at(
    text: str, start: int, tags: frozenset[str], forms: Forms, idle: frozenset[str]
) -> tuple[list[Chain], int]:
    """The chains of a cluster that begins here, if one does, and where it ends."""
    match = _cluster().match(text, start)
    if not match:
        return [], start
    shown = match[0]
    cut = forms.get(shown)
    if cut is None:
        cut = forms[shown] = _cut(shown, tags, idle)
    if cut and start and text[start - 1] in _JOINTS:
        start, longer = _with_prefix(text, start, shown)
        cut = cut if longer == shown else [one.form for one in chains(longer, tags)]
    return [Chain(text, form, start) for form in cut], match.end()


def _cut(shown: str, tags: frozenset[str], idle: frozenset[str]) -> list[Form]:
    """The chains in some words with what stands between them, most of which are one chain."""
    shows = shown.split(" ")
    if "." in shown or "'s" in shown or not all(show[:1].isupper() for show in shows):
        return [chain.form for chain in chains(shown, tags, idle)]
    return _cut_words(shown, tags, idle)


def _cut_words(shown: str, tags: frozenset[str], idle: frozenset[str]) -> list[Form]:
    shows = shown.split(" ")
    if len(shows) > LONGEST or not tags.isdisjoint(shows):
        return [chain.form for chain in chains(shown, tags, idle)]
    words: list[Capital] = []
    start = 0
    for show in shows:
        end = start + len(show)
        words.append(Capital(start, end, plain(show), end - start > 1 and show.isupper()))
        start = end + 1
    return [] if len(words) == 1 and words[0].plain in idle else [Form(words)]


def chains(text: str, tags: frozenset[str], idle: frozenset[str] = frozenset()) -> Iterator[Chain]:
    """All chains of a text, without the tags that name the speakers of a dialogue.

    Chains of a single word that stands in ``idle`` are left out, too, wherever that is easily seen.
    """
    words: list[Capital] = []
    ascii_only = text.isascii()
    for match in (_ascii_capital() if ascii_only else _capital()).finditer(text):
        start, end = match.span()
        shown = match[0]
        before = text[start - 1] if start else "\n"
        if before not in _JOINTS and words and not _is_joined(text, words[-1], start):
            yield Chain(text, Form(words))
            words = []
        if not words and (
            shown in tags or (shown.lower() in idle and not _may_go_on(text, start, end))
        ):
            continue
        if shown[-2:] == "'s" and end - start > 2:
            end, shown = end - 2, shown[:-2]
        if before in _JOINTS:
            start, shown = _with_prefix(text, start, shown)
        written = shown.lower() if ascii_only else plain(shown)
        word = Capital(start, end, written, end - start > 1 and shown.isupper())
        if words and (
            len(words) == LONGEST or (before in _JOINTS and not _is_joined(text, words[-1], start))
        ):
            yield Chain(text, Form(words))
            words = []
        if shown not in tags:
            words.append(word)
    if words:
        yield Chain(text, Form(words))


def _may_go_on(text: str, start: int, end: int) -> bool:
    """Whether a chain may go on after this word, as far as is easily seen."""
    following = text[end : end + 2]
    if following[:1] == " ":
        if following[1:] not in _particle_letters():
            return not following[1:].islower()
        return text[end + 1 : end + 8].partition(" ")[0] in _particles()
    return following[:1] == "." and (end - start == 1 or text[start:end] == "St")


def _with_prefix(text: str, start: int, shown: str) -> tuple[int, str]:
    """With the small letters that some surnames begin with: d'Aubigny, al-Rashid."""
    match = _prefix().search(text, max(0, start - 6), start)
    return (match.start(), match[0] + shown) if match else (start, shown)


def _is_joined(text: str, one: Capital, start: int) -> bool:
    """Whether a word that starts here goes on a chain whose last word is this one."""
    width = start - one.end
    if width == 1:
        return text[one.end] == " " or (one.is_initial and text[one.end] == ".")
    if width > _WIDEST and not one.is_initial:
        return False
    gap = text[one.end : min(start, one.end + _WIDEST)]
    if one.is_initial:
        gap = gap.removeprefix(".")
    if gap == " " or (one.is_initial and not gap) or (gap == ". " and one.plain == "st"):
        return True
    if len(gap) < 4 or len(gap) > 13 or gap[0] != " " or gap[-1] != " ":
        return False
    return all(word in _particles() for word in gap.split())


@cache
def _particle_letters() -> frozenset[str]:
    return frozenset(particle[0] for particle in PARTICLES.split())


@cache
def _particles() -> frozenset[str]:
    return frozenset(PARTICLES.split())


@cache
def _prefix() -> Expression:
    return Expression(r"(?<![\p{L}\p{M}])(?:(?:[dl]|dell)'|(?:al|el|ad|ar|as|an)-)\Z")


@cache
def _cluster() -> Expression:
    """Words with capitals, and between them only what can stand inside a name."""
    rest = r"[\p{L}\p{M}]*+(?:['\-]\p{L}[\p{L}\p{M}]*+)*+"
    first = rf"\p{{Lu}}(?<![\p{{L}}\p{{M}}\p{{N}}_@]\p{{Lu}}){rest}"
    initial = r"(?<![\p{L}\p{M}]\p{Lu})(?<=\p{Lu})\."
    prefix = r"(?:(?:[dl]|dell)'|(?:al|el|ad|ar|as|an)-)"
    small = rf"(?:(?:{'|'.join(PARTICLES.split())}) ){{0,7}}+"
    gap = rf"(?:{initial}|(?<=\bSt)\.)? {small}{prefix}?|{initial}"
    return Expression(rf"{first}(?:(?:{gap})\p{{Lu}}{rest})*+")


@cache
def _ascii_capital() -> re.Pattern[str]:
    return re.compile(r"[A-Z](?<![A-Za-z0-9_@][A-Z])[A-Za-z]*+(?:['\-][A-Za-z]++)*+")


@cache
def _capital() -> Expression:
    return Expression(
        r"\p{Lu}(?<![\p{L}\p{M}\p{N}_@]\p{Lu})[\p{L}\p{M}]*+(?:['\-]\p{L}[\p{L}\p{M}]*+)*+"
    )
