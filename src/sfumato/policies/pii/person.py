"""Names of people, by the words around them: "my name is", "Dr", "Dear", a signature, an answer.

There is no list of names here: a name without a cue is not found, unless the same name has a cue
elsewhere in the document. For texts full of bare names add a lexicon or a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import regex

from sfumato.corpora.spans import Span
from sfumato.policies.pii import cues
from sfumato.policies.pii.reading import Reading

_WORD = r"\p{Lu}[\p{L}\p{M}'\-]*+"
_PARTICLE = (
    r"(?:de|da|do|dos|das|del|della|di|du|van|von|der|den|ten|ter|la|le|bin|ibn|al|el|af|zu|y|e|of)"
)
_NAME = (
    rf"(?:\p{{Lu}}\. ?){{0,3}}+{_WORD}(?: (?:{_PARTICLE} ){{0,2}}(?:{_WORD}|\p{{Lu}}\b\.?)){{0,4}}+"
)
_ANY = r"[\p{L}][\p{L}\p{M}'\-]*+"


@dataclass(frozen=True)
class Person:
    """Somebody's name."""

    label: ClassVar[str] = "PERSON"

    def find(self, reading: Reading) -> Iterator[Span]:
        """Names after a cue, then the same names wherever else they stand."""
        known: set[str] = set()
        for rule, reason, (start, end) in _cued(reading.text):
            words = _named(reading.text[start:end])
            if words:
                known.update(word for word in words if _is_name(word))
                yield Span(start, end, self.label, rule, reason)
        if known:
            for match in _capitalised().finditer(reading.text):
                if match[0] in known:
                    reason = "a name that has a cue elsewhere in the document"
                    yield Span(match.start(), match.end(), self.label, "person-again", reason)


def _cued(text: str) -> Iterator[tuple[str, str, tuple[int, int]]]:
    for rule, reason, pattern in _rules():
        for match in pattern.finditer(text):
            yield rule, reason, match.span("name")
    for verb in _verb().finditer(text):
        name = _name_before().search(text, max(0, verb.start() - 60), verb.start())
        if name:
            yield "person-acting", "does what people do", name.span("name")


def _is_name(word: str) -> bool:
    return len(word) > 2 and word[0].isupper() and word not in cues.TITLES.split()


def _named(text: str) -> list[str]:
    """The words of a name; none when they are no name."""
    words = [word for word in regex.split(r"[\s.]+", text) if word]
    return [] if not words or words[0].lower() in cues.NOT_NAMES.split() else words


@cache
def _capitalised() -> regex.Pattern[str]:
    return regex.compile(rf"(?<![\p{{L}}]){_WORD}")


@cache
def _verb() -> regex.Pattern[str]:
    return regex.compile(rf" (?:{_phrases(cues.ACTING)})\b")


@cache
def _name_before() -> regex.Pattern[str]:
    return regex.compile(rf"(?<![\p{{L}}\p{{N}}]|[\p{{L}}\p{{N}}]['\-])(?P<name>{_NAME})\Z")


@cache
def _rules() -> tuple[tuple[str, str, regex.Pattern[str]], ...]:
    """Each rule with its reason; all repetitions are bounded or give nothing back."""
    small = rf"(?:(?!(?i:{'|'.join(cues.NOT_NAMES.split())})\b){_ANY})"
    anyone = rf"\"?(?P<name>{_NAME}|{small}(?: {small})?)"
    someone = rf"(?P<name>{_NAME})"
    full = rf"(?P<name>{_WORD} (?:\p{{Lu}}\.? )?(?:{_PARTICLE} ){{0,2}}{_WORD})"
    ended = r"[ \t]*+(?:[.,!?\n]|\Z)"
    patterns = {
        ("introduced", "follows words that introduce a name"): (
            rf"\b(?:{_phrases(cues.INTRODUCING)}) {anyone}"
        ),
        ("field", "stands in a field for a name"): (
            rf"\b(?:{_phrases(cues.FIELDS)})\"?[ \t]{{0,2}}[:=|\t][ \t]{{0,8}}{anyone}"
        ),
        ("title", "follows a title"): (
            rf"\b(?P<name>(?:{_words(cues.TITLES)})\.? {{1,2}}(?:(?:Dr|Prof)\.? )?{_NAME})"
        ),
        ("greeted", "follows a greeting"): (
            rf"\b(?:{_words(cues.GREETINGS)}|Sehr geehrter?|Good (?:morning|afternoon|evening))"
            rf",? {someone}(?=[ \t]*+(?:[,.!;\n\-]|\Z))"
        ),
        ("signed", "stands where a letter is signed"): (
            rf"\b(?:{_phrases(cues.CLOSINGS)})"
            rf"(?:[ \t]*+[,!.:]?[ \t]*+\n\s*+(?:[-~] ?)?|[,:] {{1,2}}| ?- ?){someone}(?![ \t]?:)"
        ),
        ("self", "somebody says who they are"): (
            rf"\b(?:[Ii](?: am|'m|t'?s)|[Tt]his is|[Ii]ch bin|[Jj]e suis|[Ss]oy|[Ss]ono|[Ii]k ben) "
            rf"(?P<name>{_WORD} {_NAME}|{_WORD}(?= (?:here|from|calling|speaking)\b|{ended}))"
        ),
        ("role", "follows a word for a person's part"): (
            rf"\b(?:(?:{_phrases(cues.ROLES)})(?:: ?|\. ?| )"
            rf"|(?:From|To|Cc|CC|Bcc|FROM|TO): {{1,8}}|by ){full}"
        ),
        ("block", "a line of its own above a line with a number or an address"): (
            rf"(?:^|\n)[> \t]{{0,4}}+(?P<name>{_WORD}"
            rf"(?: (?:{_PARTICLE} )?(?:{_WORD}|\p{{Lu}}\.)){{1,3}}+)[ \t]*+\n"
            r"(?:[^\n]{0,60}+\n){0,2}?(?=[^\n]{0,60}?[0-9@])"
        ),
        ("answer", "answers a question for a name"): (
            r"\b[Nn]ame\b[^\n]{0,60}+\n[ \t]*+(?:[\p{L} ]{1,20}+[:>] ?)?"
            rf"(?:(?i:{'|'.join(cues.POLITE.strip().splitlines())})[,.!:]?(?: -)? ){{0,3}}+"
            rf"(?P<name>{_NAME}|{small}(?: {small}){{0,2}})(?={ended})"
        ),
    }
    return tuple(
        (f"person-{rule}", reason, regex.compile(pattern))
        for (rule, reason), pattern in patterns.items()
    )


def _words(text: str) -> str:
    return "|".join(text.split())


def _phrases(text: str) -> str:
    """Alternatives from lines, those with the same first letter together: faster to refuse."""
    by_letter: dict[str, list[str]] = {}
    for phrase in text.strip().split("\n"):
        first = phrase[0]
        letter = f"[{first}{first.upper()}]" if first.islower() else regex.escape(first)
        if first == "(":
            by_letter.setdefault("", []).append(phrase)
        else:
            by_letter.setdefault(letter, []).append(phrase[1:])
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
