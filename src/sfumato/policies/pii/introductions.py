"""Names by what is said before them: "my name is", "Dr", "Dear", a signature, an answer.

Every rule has an expression and a finder: where one of its first words stands, and the words after
it can be a name, by a look at all words of a page at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii import cues
from sfumato.policies.pii.around import Cued
from sfumato.policies.pii.capitals import PARTICLES
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.openings import words_of
from sfumato.policies.pii.reading import Finder, Page
from sfumato.policies.pii.runs import LETTERS, Flags, among
from sfumato.policies.pii.spelling import FULL, INITIAL, NAME, PARTICLE, QUESTION, WORD

_SPEAKING = "said|says|asked|asks|replied|replies|wrote|writes|explained|shouted"
_SELF = frozenset(["i", "it", "this", "ich", "je", "ik"])
_BEING = frozenset(["am", "m", "s", "is", "bin", "suis", "ben"])
_SELF_ALONE = frozenset(["its", "soy", "sono"])
_ASKING = frozenset(["name", "who", "whom"])
# What a name can begin with in small letters.
_PREFIXES = frozenset((*PARTICLES.replace("'", "").split(), *["d", "l", "dell", "al", "el"]))
_GREETED = _PREFIXES | frozenset(["geehrte", "geehrter", "morning", "afternoon", "evening"])
_TITLED = _PREFIXES | frozenset(("ra", "ssa"))  # of Sig.ra and Dott.ssa
_BREAK = ord("\n")
_IN_NAMES = LETTERS + "'-. \t>\n"
_SHORTEST = 3  # characters of a line with two words
_Places = NDArray[np.int64]


class Rule(NamedTuple):
    """An expression, where it is tried, and how many characters before that it begins."""

    name: str
    reason: str
    expression: Expression
    finder: Finder
    back: int = 0


def find_introduced(page: Page) -> Iterator[tuple[int, Cued]]:
    """Names by all rules, with the numbers of their documents; those of one rule do not overlap."""
    for name, reason, expression, finder, back in list_rules():
        for number, places in page.spots_of(finder, expression, back).items():
            text, reached = page.texts[number], 0
            match_at = expression.of(text).match
            for place in places:
                if place - back >= reached and (match := match_at(text, place - back)):
                    reached = match.end()
                    yield number, Cued(name, reason, match.span("name"))
    for number in page.spots(_plain_lines):
        yield from ((number, cued) for cued in _blocks(page.texts[number]))


def _plain_lines(page: Page) -> _Places:
    """Where lines end in which nothing stands but what names are written with."""
    codes = page.runs.codes
    breaks = np.flatnonzero(codes == _BREAK)
    firsts = breaks[:-1] + 1
    other = np.logical_or.reduceat(~among(codes, _IN_NAMES), firsts)
    spots: NDArray[np.int64] = firsts[~other & (np.diff(breaks) > _SHORTEST)]
    return spots


def _blocks(text: str) -> Iterator[Cued]:
    """Lines that hold nothing but a name, above others."""
    for match in _block().finditer("\n" + text):
        start, end = match.span("name")
        reason = "a line of its own above a line with a number or an address"
        yield Cued("person-block", reason, (start - 1, end - 1))


@cache
def _block() -> Expression:
    return Expression(
        rf"\n[> \t]{{0,4}}+(?P<name>{WORD}"
        rf"(?: (?:{PARTICLE} )?(?:{WORD}|\p{{Lu}}\.)){{1,3}}+)[ \t]*+\n"
        r"(?:[^\n]{0,60}+\n){0,2}?(?=[^\n]{0,60}?[0-9@])"
    )


def _introducing(page: Page) -> _Places:
    words = page.words
    first = words.among(words_of(*_lines(cues.INTRODUCING)))
    return words.starts[first & words.later(words.among(_second_words()), 1)]


@cache
def _second_words() -> frozenset[str]:
    rests = (re.split(r"[ \-]", phrase, maxsplit=1)[1] for phrase in _lines(cues.INTRODUCING))
    return words_of(*rests)


def _fields(page: Page) -> _Places:
    words, codes = page.words, page.runs.codes
    places = np.flatnonzero(words.among(words_of(*_lines(cues.FIELDS))))
    ends = words.ends[places]
    signs = [among(codes[ends + distance], ":=|\t") for distance in range(4)]
    return words.starts[places[np.logical_or.reduce(signs)]]


def _titles(page: Page) -> _Places:
    words = page.words
    title = words.titled & words.among(words_of(*cues.TITLES.split())) & words.followed(" .")
    return words.starts[title & words.later(_may_begin(page, _TITLED), 1)]


def _greetings(page: Page) -> _Places:
    words = page.words
    greeting = words.among(words_of(*cues.GREETINGS.split(), "Sehr", "Good"))
    greeting &= words.titled & words.followed(" ,")
    return words.starts[greeting & words.later(_may_begin(page, _GREETED), 1)]


def _closings(page: Page) -> _Places:
    words = page.words
    closing = words.among(words_of(*_lines(cues.CLOSINGS))) & words.followed(" \t,!.:\n-\r\v\f")
    return words.starts[closing & _soon(page)]


def _selves(page: Page) -> _Places:
    words, begin = page.words, _may_begin(page, _PREFIXES)
    being = words.later(words.among(_BEING), 1) & words.later(begin, 2)
    held = (words.among(_SELF) & being) | (words.among(_SELF_ALONE) & words.later(begin, 1))
    return words.starts[held]


def _speaking(page: Page) -> _Places:
    words, codes = page.words, page.runs.codes
    places = words.starts[words.among(words_of(_SPEAKING)) & words.followed(" ")]
    spots: NDArray[np.int64] = places[
        (codes[places - 1] == _BLANK) & among(codes[places - 2], "\"',!?.")
    ]
    return spots


_BLANK = ord(" ")


def asking(page: Page) -> _Places:
    """Where a word stands with which people ask for a name."""
    return page.words.starts[page.words.among(_ASKING)]


def _soon(page: Page) -> Flags:
    """Whether a name can begin with the next word or the one after it."""
    begin = _may_begin(page, _PREFIXES)
    return page.words.later(begin, 1) | page.words.later(begin, 2)


def _may_begin(page: Page, small: frozenset[str]) -> Flags:
    """The words with which a name can begin: with a capital, or one of a list."""
    return page.words.titled | page.words.among(small)


@cache
def list_rules() -> tuple[Rule, ...]:
    """Each rule with its reason; all repetitions are bounded or give nothing back."""
    any_word = r"[\p{L}][\p{L}\p{M}'\-]*+"
    small = rf"(?:(?!(?i:{'|'.join(cues.NOT_NAMES.split())})\b){any_word})"
    anyone = rf"\"?(?P<name>{NAME}|{small}(?: {small})?)"
    someone = rf"(?P<name>{NAME})"
    turned = rf"(?:{PARTICLE} ){{0,3}}+{WORD}(?: {WORD})?, {WORD}(?: {INITIAL})?"
    ended = r"[ \t]*+(?:[.,!?\n]|\Z)"
    return (
        Rule(
            "person-introduced",
            "follows words that introduce a name",
            Expression(rf"\b(?:{_phrases(cues.INTRODUCING)}) {anyone}"),
            _introducing,
        ),
        Rule(
            "person-field",
            "stands in a field for a name",
            Expression(rf"\b(?:{_phrases(cues.FIELDS)})\"?[ \t]{{0,2}}[:=|\t][ \t]{{0,8}}{anyone}"),
            _fields,
        ),
        Rule(
            "person-title",
            "follows a title",
            Expression(
                rf"\b(?P<name>(?:{_words(cues.TITLES)})\.? {{1,2}}(?:(?:Dr|Prof)\.? ){{0,2}}+"
                rf"(?:{PARTICLE} ){{0,3}}+{NAME})"
            ),
            _titles,
        ),
        Rule(
            "person-greeted",
            "follows a greeting",
            Expression(
                rf"\b(?:{_words(cues.GREETINGS)}|Sehr geehrter?|Good (?:morning|afternoon|evening))"
                rf",? {someone}(?=[ \t]*+(?:[,.!;\n\-]|\Z))"
            ),
            _greetings,
        ),
        Rule(
            "person-signed",
            "stands where a letter is signed",
            Expression(
                rf"\b(?:{_phrases(cues.CLOSINGS)})"
                rf"(?:[ \t]*+[,!.:]?[ \t]*+\n\s*+(?:[-~] ?)?|[,:] {{1,2}}| ?- ?){someone}"
                r"(?![ \t]?:)"
            ),
            _closings,
        ),
        Rule(
            "person-self",
            "somebody says who they are",
            Expression(
                r"\b(?:[Ii](?: am|'m|t'?s)|[Tt]his is|[Ii]ch bin|[Jj]e suis|[Ss]oy|[Ss]ono"
                r"|[Ii]k ben) "
                rf"(?P<name>{turned}(?={ended})|{FULL}"
                rf"|{WORD}(?= (?:here|from|calling|speaking)\b|{ended}))"
            ),
            _selves,
        ),
        Rule(
            "person-quoted",
            "follows a verb of speaking",
            Expression(
                rf"[\"',!?.] (?:{_SPEAKING}) "
                rf"{someone}(?=[.,;:!?\n]| (?:in|to|at|on|with|of)\b|\Z)"
            ),
            _speaking,
            2,
        ),
        Rule(
            "person-answer",
            "answers a question for a name",
            Expression(
                rf"{QUESTION}(?:(?i:{'|'.join(_lines(cues.POLITE))})[,.!:]?(?: -)? ){{0,3}}+"
                rf"(?P<name>{turned}|{NAME}|{small}(?: \p{{Ll}}\.)?(?: {small}){{0,2}})(?={ended})"
            ),
            asking,
        ),
    )


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


def _words(text: str) -> str:
    return "|".join(text.split())


def _phrases(text: str) -> str:
    """Alternatives from lines, those with the same first letter together: faster to refuse."""
    by_letter: dict[str, list[str]] = {}
    for phrase in _lines(text):
        first = phrase[0]
        letter = f"[{first}{first.upper()}]" if first.islower() else re.escape(first)
        by_letter.setdefault(letter, []).append(phrase[1:])
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
