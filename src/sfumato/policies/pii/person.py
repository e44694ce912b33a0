"""Names of people: by the words around them, by a list, and by an earlier mention.

Words around are "my name is", "Dr", "Dear", a signature, an answer to a question for a name. A
name that was found once is found again wherever it stands with a capital in the same document.

Names by the word right before or right after them: "patient Lena Fischer", "Ann Hale said".

Only the words beside a chain of capitals are looked at, which is much faster than looking for
each of these words in the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple

from sfumato.policies.pii import cues
from sfumato.policies.pii.accounts import find_accounts
from sfumato.policies.pii.anchors import Anchor, Anchored, either_case, first_words
from sfumato.policies.pii.capitals import JOINING, PARTICLES, Capital, Chain, chains, speaker_tags
from sfumato.policies.pii.expressions import Expression, Match
from sfumato.policies.pii.listed import is_thing, leads_to_name, names_in
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
    words, text = _without_lead(chain.words), chain.text
    start, end = words[0].start, chain.end_of(-1)
    if len(words) > 1 and _follows_role(text, start):
        yield _role(start, end)
    elif len(words) > 2 and words[0].plain in _by_word(cues.ROLES, -1):
        yield _role(words[1].start, end)
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


def _may_act(text: str, end: int) -> bool:
    """Whether a verb can follow a single word, whose full stop may stand between."""
    return text[end : end + 1] == "." or (
        text[end : end + 1] == " " and text[end + 1 : end + 2] in _acting_letters()
    )


def _acts(text: str, end: int) -> bool:
    if text[end : end + 1] != " ":
        return False
    words = [word.rstrip(".,;:!?") for word in text[end : end + _AFTER].split(" ", 3)[1:3]]
    phrases = _by_word(cues.ACTING, 0).get(words[0], ())
    return any(words[: len(phrase)] == phrase for phrase in phrases)


@cache
def _acting_letters() -> frozenset[str]:
    return frozenset(phrase[0] for phrase in _by_word(cues.ACTING, 0))


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
# "Sra. Vega y Sr. Luna" are two people.
_NO_TITLE = r"(?!(?:Sra?|Srta|Dra?|Mrs?|Ms|Herrn?|Frau|Mme|Mlle|Monsieur|Madame)\b)"
_NAME = (
    rf"(?:{_INITIAL} ?){{0,3}}+{_WORD}"
    rf"(?: (?:{_PARTICLE} ){{0,3}}+{_NO_TITLE}(?:{_INITIAL}(?= \p{{Lu}})|{_WORD})){{0,4}}+"
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
_GIVEN = rf"(?P<given>{_SMALL})(?:, (?P<after>{_SMALL}))?"
_LEADS = "I i Im im It it Its its This this Name name Hi hi Hello hello Hey hey Dear dear for to"
_SPEAKING = "said|says|asked|asks|replied|replies|wrote|writes|explained|shouted"
# What follows the first word of a phrase that introduces a name, or of one that says who one is.
_INTRODUCED = (
    *(" name", " called", " me", " is", "'s", " was", " him", " her", " them", " it", " Name"),
    *(" hei", " m'a", " nom", " llamo", " chiamo", " mio", " heet", " naam", "-me", " he", " s"),
)
_SAID = (" am ", "'m ", "'s ", " is ", " bin ", " suis ", " ben ")
_SAID_ALONE = ("its", "soy", "ono")
_SECOND = ("am", "is")  # after "I", "it", "this" and "name" the listed name comes later
_ASKING = "Name name Who who Whom whom"


@dataclass(frozen=True)
class Person:
    """Somebody's name."""

    label: ClassVar[str] = "PERSON"

    def find(self, reading: Reading) -> Iterator[Span]:
        """Names after a cue and listed names, then the same names wherever else they stand."""
        text, known = reading.text, set[str]()
        tags = speaker_tags(text)
        found = list(chains(text, tags, _idle()))
        cued = (
            cue
            for chain in found
            if len(chain.words) > 1 or _may_act(text, chain.words[0].end)
            for cue in find_cued_around(chain)
        )
        for rule, reason, (start, reached) in (*_cued(text), *cued):
            end = _without_joining(text, start, reached)
            words = _named(text[start:end], rule)
            if words and words[0] not in tags:
                known.update(_lasting(words))
                last = end - 2 * text.endswith("'s", start + 3, end)
                yield Span(start, last, self.label, rule, reason)
        for chain in found:
            for first, last in names_in(chain):
                known.update(_lasting(word.plain for word in chain.words[first : last + 1]))
                start, end = chain.words[first].start, chain.end_of(last)
                yield Span(start, end, self.label, "person-listed", "stands in a list of names")
        for start, end in find_accounts(text, reading.small):
            reason = "stands in a field for the name of an account"
            yield Span(start, end, self.label, "person-account", reason)
        for start, end in _again(found, known) if known else ():
            reason = "a name found elsewhere in the document"
            yield Span(start, end, self.label, "person-again", reason)


def _without_joining(text: str, start: int, end: int) -> int:
    """Where a name ends that small words such as "y" and "al" follow: no name ends with one."""
    while (match := _joining_at_end().search(text, start, end)) and match.start() > start:
        end = match.start()
    return end


@cache
def _joining_at_end() -> Expression:
    return Expression(rf" (?:{'|'.join(JOINING)})\Z")


def _cued(text: str) -> Iterator[Cued]:
    rules = _rules()
    answers = len(rules)
    for number, match in _anchored().find(text):
        if number < answers:
            rule, reason, _ = rules[number]
            yield Cued(rule, reason, match.span("name"))
        elif number == answers:
            yield from _small_answers(text, match)
        else:
            yield from _small_lead(text, match)
    yield from _blocks(text)
    for start in _line_starts(text):
        if text[start : start + 1].islower():
            given = _given().match(text, start)
            if given:
                yield from _small_lead(text, given)


def _line_starts(text: str) -> Iterator[int]:
    place = 0
    while True:
        yield place
        place = text.find("\n", place) + 1
        if not place:
            return


def _blocks(text: str) -> Iterator[Cued]:
    """Lines that hold nothing but a name, above others."""
    reached = begin = 0
    while (end := text.find("\n", begin)) >= 0:
        line, start, begin = text[begin:end], max(0, begin - 1), end + 1
        # Two words at least, and nothing that no name has: most lines are refused by that.
        if start < reached or " " not in line or ":" in line or line.islower():
            continue
        match = _block().match(text, start)
        if match:
            reached = match.end()
            reason = "a line of its own above a line with a number or an address"
            yield Cued("person-block", reason, match.span("name"))


def _small_answers(text: str, line: Match) -> Iterator[Cued]:
    """Listed names in small letters in an answer to a question for a name."""
    for match in _small_word().finditer(text, *line.span("answer")):
        if plain(match[1]) in list_names().alone:
            reason = "a listed name that answers a question for a name"
            turned = _surname_before().search(text, line.start("answer"), match.start())
            start = turned.start() if turned else match.start()
            yield Cued("person-answer", reason, (start, _small_end(text, match.end())))


def _small_lead(text: str, match: Match) -> Iterator[Cued]:
    """A listed name in small letters, after a word that a name may follow or on a new line."""
    end = match.end("given")
    if plain(match["given"]) in _listed(cues.NOT_NAMES) and not match["after"]:
        return
    if plain(match["given"]) not in list_names().alone:
        if plain(match["after"] or "") not in list_names().alone or not _named(match["given"], ""):
            return
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
    words = [word for word in _apart().of(text).split(text) if word]
    while words and plain(words[0]) in _listed(cues.BARE_TITLES):
        words.pop(0)
    if not words or plain(words[0]) in _listed(cues.NOT_NAMES):
        return []
    ordinary = [plain(word) in list_names().words for word in words]
    things = [is_thing(plain(word)) for word in words]
    if all(ordinary) or (rule != "person-title" and all(map(max, ordinary, things))):
        return []
    # What something is made by or does what people do may be a company.
    return [] if rule in ("person-role", "person-acting") and things[-1] else words


@cache
def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


@cache
def _idle() -> frozenset[str]:
    """Words that are no name when no other capital stands beside them, and in no list of names."""
    names = list_names()
    return (names.words | _listed(cues.NOT_NAMES)) - names.alone


@cache
def _apart() -> Expression:
    return Expression(r"[\s.,]+")


@cache
def _no_names() -> frozenset[str]:
    titles = plain(cues.TITLES.replace("\\", "").replace("?", "")).replace(".", " ").split()
    return frozenset((*cues.NOT_NAMES.split(), *titles, *PARTICLES.split()))


@cache
def _answer_line() -> Expression:
    return Expression(rf"{_QUESTION}(?P<answer>[^\n]{{1,160}})")


@cache
def _lead() -> Expression:
    return Expression(
        r"\b(?:[Ii](?: am|'?m)|[Ii]t(?:'?s| is)|[Tt]his is|[Nn]ame(?: is|'s)"
        rf"|[Hh](?:i|ello|ey),?|[Dd]ear|for|to) (?={_GIVEN})"
    )


@cache
def _given() -> Expression:
    return Expression(_GIVEN)


@cache
def _small_word() -> Expression:
    return Expression(rf"(?<![\p{{L}}'\-])({_SMALL})")


@cache
def _small_rest() -> Expression:
    return Expression(rf" (?:\p{{Ll}}\.? )?(?:{_PARTICLE} ){{0,3}}({_SMALL})")


@cache
def _surname_before() -> Expression:
    return Expression(rf"(?<!\p{{L}})(?:{_PARTICLE} ){{0,3}}{_SMALL}, \Z")


@cache
def _block() -> Expression:
    return Expression(
        rf"(?:^|\n)[> \t]{{0,4}}+(?P<name>{_WORD}"
        rf"(?: (?:{_PARTICLE} )?(?:{_WORD}|\p{{Lu}}\.)){{1,3}}+)[ \t]*+\n"
        r"(?:[^\n]{0,60}+\n){0,2}?(?=[^\n]{0,60}?[0-9@])"
    )


@cache
def _anchored() -> Anchored:
    """The rules by their order, then answers in small letters, then what small names follow."""
    guards = {
        "person-field": _may_be_field,
        "person-introduced": _may_introduce,
        "person-self": _may_say_who,
    }
    rules = [
        Anchor(pattern, _first_words()[rule], 2 * (rule == "person-quoted"), guards.get(rule))
        for rule, _, pattern in _rules()
    ]
    small = Anchor(_answer_line(), _ASKING.split()), Anchor(_lead(), _LEADS.split(), 0, _may_lead)
    return Anchored((*rules, *small))


def _may_be_field(text: str, end: int) -> bool:
    return any(sign in text[end : end + 4] for sign in ":=|\t")


def _may_introduce(text: str, end: int) -> bool:
    return text.startswith(_INTRODUCED, end)


def _may_say_who(text: str, end: int) -> bool:
    return text.startswith(_SAID, end) or text[max(0, end - 3) : end].lower() in _SAID_ALONE


def _may_lead(text: str, end: int) -> bool:
    """Whether the next word can be a listed name: it is one, or no plain word at all."""
    if text[end : end + 1] != " ":
        return True
    word = text[end + 1 : end + 32].partition(" ")[0]
    return not word.isalpha() or word in _SECOND or plain(word) in list_names().alone


@cache
def _first_words() -> dict[str, frozenset[str]]:
    return {
        "person-introduced": either_case(first_words(cues.INTRODUCING.strip().splitlines())),
        "person-field": either_case(first_words(cues.FIELDS.strip().splitlines())),
        "person-title": first_words(cues.TITLES.split()),
        "person-greeted": first_words((*cues.GREETINGS.split(), "Sehr", "Good")),
        "person-signed": either_case(first_words(cues.CLOSINGS.strip().splitlines())),
        "person-self": either_case(["i", "it", "its", "this", "ich", "je", "soy", "sono", "ik"]),
        "person-quoted": frozenset(_SPEAKING.split("|")),
        "person-answer": frozenset(_ASKING.split()),
    }


@cache
def _rules() -> tuple[tuple[str, str, Expression], ...]:
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
            rf"\b(?P<name>(?:{_words(cues.TITLES)})\.? {{1,2}}(?:(?:Dr|Prof)\.? ){{0,2}}+"
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
            rf"[\"',!?.] (?:{_SPEAKING}) "
            rf"{someone}(?=[.,;:!?\n]| (?:in|to|at|on|with|of)\b|\Z)"
        ),
        ("answer", "answers a question for a name"): (
            rf"{_QUESTION}(?:(?i:{'|'.join(cues.POLITE.strip().splitlines())})"
            rf"[,.!:]?(?: -)? ){{0,3}}+"
            rf"(?P<name>{turned}|{_NAME}|{small}(?: {initial})?(?: {small}){{0,2}})(?={ended})"
        ),
    }
    return tuple(
        (f"person-{rule}", reason, Expression(pattern))
        for (rule, reason), pattern in patterns.items()
    )


def _words(text: str) -> str:
    return "|".join(text.split())


def _phrases(text: str) -> str:
    """Alternatives from lines, those with the same first letter together: faster to refuse."""
    by_letter: dict[str, list[str]] = {}
    for phrase in text.strip().split("\n"):
        first = phrase[0]
        letter = f"[{first}{first.upper()}]" if first.islower() else re.escape(first)
        if first == "(":
            by_letter.setdefault("", []).append(phrase)
        else:
            by_letter.setdefault(letter, []).append(phrase[1:])
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
