"""Names of people: by the words around them, by a list, and by an earlier mention.

Words around are "my name is", "Dr", "Dear", a signature, an answer to a question for a name. A
name that was found once is found again wherever it stands with a capital in the same document.

Names by the word right before or right after them: "patient Lena Fischer", "Ann Hale said".

Only the words beside a chain of capitals are looked at, which is much faster than looking for
each of these words in the whole text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple

import regex

from sfumato.policies.pii import cues
from sfumato.policies.pii.capitals import PARTICLES, Chain, chains, speaker_tags
from sfumato.policies.pii.listed import is_thing, names_in
from sfumato.policies.pii.names import list_names, plain
from sfumato.policies.pii.reading import Reading
from sfumato.text.span import Span

_BEFORE, _AFTER = 32, 32
_FIELDS = ("by", "from", "to", "cc", "bcc")


class Cued(NamedTuple):
    """A name with the rule that found it."""

    rule: str
    reason: str
    place: tuple[int, int]


def find_cued_around(chain: Chain) -> Iterator[Cued]:
    """A chain that follows a word for a person's part, or does what only people do."""
    words, text = chain.words, chain.text
    start, end = words[0].start, chain.end_of(len(words) - 1)
    if len(words) > 1 and _follows_role(text, start):
        yield _role(start, end)
    elif len(words) > 2 and words[0].plain in _by_word(cues.ROLES, -1):
        yield _role(words[1].start, end)
    if _acts(text, end) and text[max(0, start - 4) : start].lower() != "the ":
        yield Cued("person-acting", "does what people do", (start, end))


def _role(start: int, end: int) -> Cued:
    return Cued("person-role", "follows a word for a person's part", (start, end))


def _follows_role(text: str, start: int) -> bool:
    stretch = text[max(0, start - _BEFORE) : start]
    before = stretch.rstrip(" :.,")
    if before == stretch:
        return False
    words = before.lower().split()
    # A letter says "By:", "To:" and "From:"; without the colon only "by" is followed by people.
    if words and words[-1] in _FIELDS and (words[-1] == "by" or stretch[len(before)] == ":"):
        return True
    phrases = _by_word(cues.ROLES, -1).get(words[-1], ()) if words else ()
    return any(words[-len(phrase) :] == phrase for phrase in phrases)


def _acts(text: str, end: int) -> bool:
    if text[end : end + 1] != " ":
        return False
    words = [word.rstrip(".,;:!?") for word in text[end : end + _AFTER].split(" ", 3)[1:3]]
    phrases = _by_word(cues.ACTING, 0).get(words[0], ())
    return any(words[: len(phrase)] == phrase for phrase in phrases)


@cache
def _by_word(phrases: str, place: int) -> dict[str, list[list[str]]]:
    """Phrases, each as its words, by their first or last word."""
    found: dict[str, list[list[str]]] = {}
    for phrase in phrases.strip().splitlines():
        words = phrase.split()
        found.setdefault(words[place], []).append(words)
    return found


_WORD = r"(?:(?:[dl]|dell)'|(?:al|el)-)?+\p{Lu}[\p{L}\p{M}'\-]*+"
_PARTICLE = rf"(?:{'|'.join(PARTICLES.split())})"
_INITIAL = r"\p{Lu}\."
_NAME = (
    rf"(?:{_INITIAL} ?){{0,3}}+{_WORD}"
    rf"(?: (?:{_PARTICLE} ){{0,3}}+(?:{_INITIAL}(?= \p{{Lu}})|{_WORD})){{0,4}}+"
)
_FULL = (
    rf"{_WORD}(?: {_INITIAL}){{0,2}}+"
    rf"(?: (?:{_PARTICLE} ){{0,3}}+(?:{_INITIAL}(?= \p{{Lu}})|{_WORD})){{1,4}}+"
)
# A line that asks for a name, up to the place where the answer begins; no statement of a name.
_QUESTION = (
    r"(?:\b[Nn]ame\b(?!(?: is|'s|,|:) \p{Lu})|\b[Ww]hom? (?:am I|is|are you|do I|have I)\b)"
    r"(?:[^\n?]{0,60}+\? ++|[^\n]{0,60}+\n[ \t]*+)(?:[\p{L} ]{1,20}+[:>] ?)?"
)
_SMALL = r"\p{Ll}[\p{L}\p{M}\-]++(?:'(?!s\b)\p{L}++)?"
_ANY = r"[\p{L}][\p{L}\p{M}'\-]*+"


@dataclass(frozen=True)
class Person:
    """Somebody's name."""

    label: ClassVar[str] = "PERSON"

    def find(self, reading: Reading) -> Iterator[Span]:
        """Names after a cue and listed names, then the same names wherever else they stand."""
        text, known = reading.text, set[str]()
        tags = speaker_tags(text)
        found = list(chains(text, tags))
        cued = (cue for chain in found for cue in find_cued_around(chain))
        for rule, reason, (start, end) in (*_cued(text), *cued):
            words = _named(text[start:end], rule)
            if words and words[0] not in tags:
                known.update(_lasting(words))
                yield Span(start, end, self.label, rule, reason)
        for chain in found:
            for first, last in names_in(chain):
                known.update(_lasting(word.plain for word in chain.words[first : last + 1]))
                start, end = chain.words[first].start, chain.end_of(last)
                yield Span(start, end, self.label, "person-listed", "stands in a list of names")
        for start, end in _again(found, known) if known else ():
            reason = "a name found elsewhere in the document"
            yield Span(start, end, self.label, "person-again", reason)


def _cued(text: str) -> Iterator[Cued]:
    for rule, reason, pattern in _rules():
        for match in pattern.finditer(text):
            yield Cued(rule, reason, match.span("name"))
    yield from _small_names(text)


def _small_names(text: str) -> Iterator[Cued]:
    """Listed names in small letters, where a name is asked for or may be expected."""
    for line in _answer_line().finditer(text):
        for match in _small_word().finditer(text, *line.span("answer")):
            if plain(match[1]) in list_names().alone:
                reason = "a listed name that answers a question for a name"
                turned = _surname_before().search(text, line.start("answer"), match.start())
                start = turned.start() if turned else match.start()
                yield Cued("person-answer", reason, (start, _small_end(text, match.end())))
    for match in _lead().finditer(text):
        end = match.end("given")
        if plain(match["given"]) not in list_names().alone:
            if plain(match["after"] or "") not in list_names().alone or not _named(
                match["given"], ""
            ):
                continue
            end = match.end("after")
        reason = "a listed name in small letters, where a name can stand"
        yield Cued("person-small", reason, (match.start("given"), _small_end(text, end)))


def _small_end(text: str, end: int) -> int:
    """Where a name in small letters ends: at the first ordinary word, after two words at most."""
    for _ in range(2):
        match = _small_rest().match(text, end)
        if not match or plain(match[1]) in _no_names() or plain(match[1]) in list_names().words:
            break
        end = match.end()
    return end


def _again(bare: list[Chain], known: set[str]) -> Iterator[tuple[int, int]]:
    """Runs of known words, initials between them included."""
    for chain in bare:
        first = last = -1
        for index, word in enumerate(chain.words):
            if word.plain in known:
                first, last = (index if first < 0 else first), index
            elif not word.is_initial and first >= 0:
                yield chain.words[first].start, chain.end_of(last)
                first = -1
        if first >= 0:
            yield chain.words[first].start, chain.end_of(last)


def _lasting(words: Iterable[str]) -> Iterator[str]:
    """Of the words of a name those by which it is known again, as the list of names writes them."""
    for word in map(plain, words):
        name = word.removesuffix("'s")
        if len(name) > 2 and not (
            name in _no_names() or name in list_names().words or is_thing(name)
        ):
            yield name


def _named(text: str, rule: str) -> list[str]:
    """The words of a name; none when they are no name."""
    words = [word for word in regex.split(r"[\s.,]+", text) if word]
    while words and plain(words[0]) in cues.BARE_TITLES.split():
        words.pop(0)
    if not words or plain(words[0]) in cues.NOT_NAMES.split():
        return []
    ordinary = [plain(word) in list_names().words for word in words]
    things = [is_thing(plain(word)) for word in words]
    if all(ordinary) or (rule != "person-title" and all(map(max, ordinary, things))):
        return []
    # What something is made by or does what people do may be a company.
    return [] if rule in ("person-role", "person-acting") and things[-1] else words


@cache
def _no_names() -> frozenset[str]:
    titles = plain(cues.TITLES.replace("\\", "").replace("?", "")).replace(".", " ").split()
    return frozenset((*cues.NOT_NAMES.split(), *titles, *PARTICLES.split()))


@cache
def _answer_line() -> regex.Pattern[str]:
    return regex.compile(rf"{_QUESTION}(?P<answer>[^\n]{{1,160}})")


@cache
def _lead() -> regex.Pattern[str]:
    return regex.compile(
        r"(?:^|\n|\b(?:[Ii](?: am|'?m)|[Ii]t(?:'?s| is)|[Tt]his is|[Nn]ame(?: is|'s)"
        rf"|[Hh](?:i|ello|ey),?|[Dd]ear|for|to) )(?=(?P<given>{_SMALL})(?:, (?P<after>{_SMALL}))?)"
    )


@cache
def _small_word() -> regex.Pattern[str]:
    return regex.compile(rf"(?<![\p{{L}}'\-])({_SMALL})")


@cache
def _small_rest() -> regex.Pattern[str]:
    return regex.compile(rf" (?:\p{{Ll}}\.? )?(?:{_PARTICLE} ){{0,3}}({_SMALL})")


@cache
def _surname_before() -> regex.Pattern[str]:
    return regex.compile(rf"(?<!\p{{L}})(?:{_PARTICLE} ){{0,3}}{_SMALL}, \Z")


@cache
def _rules() -> tuple[tuple[str, str, regex.Pattern[str]], ...]:
    """Each rule with its reason; all repetitions are bounded or give nothing back."""
    small = rf"(?:(?!(?i:{'|'.join(cues.NOT_NAMES.split())})\b){_ANY})"
    anyone = rf"\"?(?P<name>{_NAME}|{small}(?: {small})?)"
    someone = rf"(?P<name>{_NAME})"
    initial = r"\p{Ll}\."
    turned = rf"(?:{_PARTICLE} ){{0,3}}+{_WORD}(?: {_WORD})?, {_WORD}(?: {_INITIAL})?"
    ended = r"[ \t]*+(?:[.,!?\n]|\Z)"
    patterns = {
        ("introduced", "follows words that introduce a name"): (
            rf"\b(?:{_phrases(cues.INTRODUCING)}) {anyone}"
        ),
        ("field", "stands in a field for a name"): (
            rf"\b(?:{_phrases(cues.FIELDS)})\"?[ \t]{{0,2}}[:=|\t][ \t]{{0,8}}{anyone}"
        ),
        ("title", "follows a title"): (
            rf"\b(?P<name>(?:{_words(cues.TITLES)})\.? {{1,2}}(?:(?:Dr|Prof)\.? )?"
            rf"(?:{_PARTICLE} ){{0,3}}+{_NAME})"
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
            rf"(?P<name>{turned}(?={ended})|{_FULL}"
            rf"|{_WORD}(?= (?:here|from|calling|speaking)\b|{ended}))"
        ),
        ("quoted", "follows a verb of speaking"): (
            rf"[\"',!?.] (?:said|says|asked|asks|replied|replies|wrote|writes|explained|shouted) "
            rf"{someone}(?=[.,;:!?\n]| (?:in|to|at|on|with|of)\b|\Z)"
        ),
        ("block", "a line of its own above a line with a number or an address"): (
            rf"(?:^|\n)[> \t]{{0,4}}+(?P<name>{_WORD}"
            rf"(?: (?:{_PARTICLE} )?(?:{_WORD}|\p{{Lu}}\.)){{1,3}}+)[ \t]*+\n"
            r"(?:[^\n]{0,60}+\n){0,2}?(?=[^\n]{0,60}?[0-9@])"
        ),
        ("answer", "answers a question for a name"): (
            rf"{_QUESTION}(?:(?i:{'|'.join(cues.POLITE.strip().splitlines())})"
            rf"[,.!:]?(?: -)? ){{0,3}}+"
            rf"(?P<name>{turned}|{_NAME}|{small}(?: {initial})?(?: {small}){{0,2}})(?={ended})"
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
