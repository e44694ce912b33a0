"""Customer-service dialogues with gold spans: sensitive text about no real person.

A dialogue follows a fixed agenda (greet, open, identify, verify, act, part) with random sentences,
in the style of the CustomerSim corpus of Shi et al. 2022, "Selective differential privacy for
language modeling". Sentences, people and places are our own, from ``data/customersim.toml``. Names,
addresses, phone, order and tracking numbers are labeled wherever they are mentioned, also in part
("Thanks, Ms. Okafor", "ending in 0142"); titles, shops, prices and waiting times are not sensitive
and carry no label.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate
from string import Formatter, ascii_uppercase, digits
from typing import Any, TypeVar

from sfumato.core.checks import MOST_DOCUMENTS, at_least
from sfumato.core.randomness import Randomness
from sfumato.corpora.labeled import Labeled, gold
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

LABELS = ("ADDRESS", "ORDER", "PERSON", "PHONE", "TRACKING")

_LABEL_OF = {
    "address": "ADDRESS",
    "first": "PERSON",
    "full": "PERSON",
    "last": "PERSON",
    "line": "ADDRESS",
    "name": "PERSON",
    "new_address": "ADDRESS",
    "order": "ORDER",
    "other": "PERSON",
    "phone": "PHONE",
    "tail": "PHONE",
    "tracking": "TRACKING",
}
_LETTERS = "".join(letter for letter in ascii_uppercase if letter not in "IO")
_ALPHABETS = {"#": digits, "%": digits[1:], "@": _LETTERS, "*": _LETTERS + digits[2:]}
_BLOCK = 4096

T = TypeVar("T")


def generate_customersim(
    count: int, randomness: Randomness, script: DialogueScript | None = None
) -> Iterator[Labeled]:
    """``count`` dialogues, one at a time; the first ones do not depend on ``count``.

    Without a ``script`` they are those of the package.
    """
    at_least("count", count, 0, MOST_DOCUMENTS)
    return _dialogues(count, _Draws(randomness), script or _own_script())


@dataclass(frozen=True)
class DialogueScript:
    """What is said and whom it invents: a file in the form of ``data/customersim.toml``."""

    sentences: Mapping[str, Any]
    countries: Sequence[tuple[int, Mapping[str, list[str]]]]

    @classmethod
    def read(cls, text: str) -> DialogueScript:
        """From TOML: the lists of each country come with the common ones and a running weight."""
        script = tomllib.loads(text)
        countries = script.pop("countries")
        totals = accumulate(country["weight"] for country in countries.values())
        common = script.pop("values")
        return cls(
            script,
            [
                (total, common | country | {"country": [name]})
                for total, (name, country) in zip(totals, countries.items(), strict=True)
            ],
        )


def _dialogues(count: int, draws: _Draws, script: DialogueScript) -> Iterator[Labeled]:
    for number in range(count):
        yield _dialogue(f"dialogue-{number}", draws, script)


def _dialogue(identity: str, draws: _Draws, written: DialogueScript) -> Labeled:
    script = written.sentences
    sentences = script["sentences"]
    intent = draws.pick(script["intents"])
    talk = _Transcript(_Customer(draws, written))
    talk.turn("SYS", draws.pick(sentences["greeting"]))
    if draws.chance(25):
        talk.turn("USR", draws.pick(sentences["introduction"]), draws.pick(intent["opening"]))
    else:
        talk.turn("USR", draws.pick(sentences["hello"]), draws.pick(intent["opening"]))
        _verify(talk, "name", draws, script)
    asked = draws.some(intent["verify"], 1 + draws.below(2))
    for datum in asked:
        _verify(talk, datum, draws, script)
    for questions, answers in intent["steps"]:
        talk.turn("SYS", draws.pick(sentences["thanks"]), draws.pick(questions))
        talk.turn("USR", draws.pick(answers))
    outcome = draws.pick(intent["outcome"])
    talk.turn("SYS", draws.pick(sentences["thanks"]), outcome, " ", draws.pick(sentences["more"]))
    talk.turn("USR", draws.pick(sentences["enough"]))
    if draws.chance(60):
        talk.turn("SYS", draws.pick(sentences["farewell"]))
    return talk.labeled(identity)


def _verify(talk: _Transcript, datum: str, draws: _Draws, script: Mapping[str, Any]) -> None:
    """Ask for one item, get it, and sometimes read it back."""
    thanks = "" if datum == "name" else draws.pick(script["sentences"]["thanks"])
    talk.turn("SYS", thanks, draws.pick(script["ask"][datum]))
    talk.turn("USR", draws.pick(script["give"][datum]))
    if draws.chance(20):
        talk.turn("SYS", draws.pick(script["confirm"][datum]))
        talk.turn("USR", draws.pick(script["sentences"]["yes"]))


class _Transcript:
    """The text so far, and the positions of the customer's data in it."""

    def __init__(self, customer: _Customer) -> None:
        self._customer = customer
        self._pieces: list[str] = []
        self._length = 0
        self._spans: list[Span] = []

    def turn(self, speaker: str, *sentences: str) -> None:
        """One line; the fields in its sentences are filled in and labeled."""
        self._add(f"\n{speaker}: " if self._pieces else f"{speaker}: ")
        for sentence in sentences:
            for literal, field in _parts(sentence):
                self._add(literal)
                if field is not None:
                    self._mention(field)

    def labeled(self, identity: str) -> Labeled:
        """The dialogue so far, with its gold spans."""
        document = Document("".join(self._pieces), identity, labels=(self._customer.country,))
        return Labeled(document, Spans(tuple(self._spans)))

    def _mention(self, field: str) -> None:
        start = self._length
        self._add(self._customer.value(field))
        if field in _LABEL_OF:
            self._spans.append(gold(start, self._length, _LABEL_OF[field]))

    def _add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)


class _Customer:
    """An invented person; each value is made up when first mentioned and then kept."""

    def __init__(self, draws: _Draws, script: DialogueScript) -> None:
        self._draws = draws
        self._lists = draws.weighted(script.countries)
        woman = draws.chance(50)
        self._values = {
            "title": "Ms." if woman else "Mr.",
            "first": draws.pick(self._lists["women" if woman else "men"]),
            "last": draws.pick(self._lists["last"]),
        }
        self._values["name"] = f"{self._values['first']} {self._values['last']}"

    @property
    def country(self) -> str:
        """Where the customer lives; names depend on the country, and most customers live in one."""
        return self._lists["country"][0]

    def value(self, field: str) -> str:
        """The value of a field for this customer."""
        if field not in self._values:
            self._values[field] = self._invent(field)
        return self._values[field]

    def _invent(self, field: str) -> str:
        if field == "full":
            # Some people type their name without capitals, a few in capitals only.
            typed = self._filled(self._draws.pick(self._lists["full"]))
            style = self._draws.below(100)
            return typed.lower() if style < 8 else typed.upper() if style < 11 else typed
        if field == "other":
            firsts = self._lists["women"] + self._lists["men"]
            return f"{self._draws.pick(firsts)} {self._draws.pick(self._lists['last'])}"
        if field == "tail":
            return "".join(filter(str.isdigit, self.value("phone")))[-4:]
        if field == "address":
            # The first line may be mentioned on its own, so it must be the same value.
            pattern = self._draws.pick(self._lists["address"])
            return pattern.format(line=self.value("line"), place=self.value("place"))
        if field == "new_address":
            return self._filled("{line}, {place}")
        return self._filled(self._draws.pick(self._lists[field]))

    def _filled(self, pattern: str) -> str:
        def fill(match: re.Match[str]) -> str:
            field = match[1]
            if field is None:
                return self._draws.pick(_ALPHABETS[match[0]])
            if field in ("first", "last"):
                return self._values[field]
            return self._filled(self._draws.pick(self._lists[field]))

        return _blank().sub(fill, pattern)


class _Draws:
    """Random choices, taken from the stream in blocks because single draws are slow."""

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        self._block: list[int] = []

    def below(self, high: int) -> int:
        """A whole number below ``high``; uniform up to about 1e-16."""
        if not self._block:
            self._block = self._randomness.integers(2**62, _BLOCK).tolist()
        return self._block.pop() % high

    def chance(self, percent: int) -> bool:
        """True with this probability in percent."""
        return self.below(100) < percent

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, all equally likely."""
        return items[self.below(len(items))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Different items in random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def weighted(self, items: Sequence[tuple[int, T]]) -> T:
        """One of the items, each given with the running total of weights up to it."""
        reached = self.below(items[-1][0])
        return next(item for total, item in items if reached < total)


@cache
def _own_script() -> DialogueScript:
    data = files("sfumato.corpora").joinpath("data", "customersim.toml")
    return DialogueScript.read(data.read_text("utf-8"))


@cache
def _parts(sentence: str) -> tuple[tuple[str, str | None], ...]:
    return tuple((literal, field) for literal, field, _, _ in Formatter().parse(sentence))


@cache
def _blank() -> re.Pattern[str]:
    return re.compile(r"\{(\w+)\}|[#%@*]")
