"""The syntax of the expressions that recognizers use, taken apart for a quick look (``automaton``).

Characters are the codes of ``runs``: ASCII, one code for all letters beyond it and one for all
other characters beyond it. A set of characters is a whole number with a bit for each code. What
lies beyond ASCII counts as every character, so its bits are in every set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from sfumato.policies.pii.runs import BEYOND, CAPITALS, DIGITS, LETTERS, SIGN, SMALL

_OTHERS = 1 << BEYOND | 1 << SIGN
EVERY = (1 << BEYOND) - 1 | _OTHERS
_BLANKS = " \t\n\r\f\v\x1c\x1d\x1e\x1f"
_KINDS = {
    "L": LETTERS,
    "Lu": CAPITALS,
    "Ll": SMALL,
    "Lt": "",
    "M": "",
    "N": DIGITS,
    "w": LETTERS + DIGITS + "_",
    "d": DIGITS,
    "s": _BLANKS,
}
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f"}


@dataclass(frozen=True, slots=True)
class One:
    """One character of a set."""

    characters: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after the other; without any, nothing at all."""

    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """A part that stands there some times; ``most`` is none where there is no limit."""

    part: Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """What must, or must not, stand before or after a place, without being a part of the match."""

    part: Node
    behind: bool
    negative: bool


Node = One | Sequence | Choice | Repeated | Look


def set_of(characters: Iterable[str], *, either_case: bool = False) -> int:
    """A set of characters; those beyond ASCII are in every set anyway."""
    found = _OTHERS
    for character in characters:
        written = {character}
        if either_case:
            written |= {character.lower(), character.upper(), character.casefold()}
        for one in written:
            if len(one) == 1 and ord(one) < BEYOND:
                found |= 1 << ord(one)
    return found


def without(characters: int) -> int:
    """All characters that are surely not in a set, and those of which that is not known."""
    return EVERY & ~characters | _OTHERS


def parse(pattern: str) -> Node:
    """The parts of an expression.

    >>> parse("a{2}").least
    2
    """
    parser = _Parser(pattern)
    node = parser.choice(either_case=False)
    if parser.place != len(pattern):
        raise ValueError("an expression with a parenthesis too many")
    return node


class _Parser:
    """Reads an expression from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.place = pattern, 0
        self._groups: list[Node] = []
        self._names: dict[str, int] = {}

    def choice(self, *, either_case: bool) -> Node:
        """Alternatives up to a closing parenthesis or the end."""
        parts = [self._sequence(either_case=either_case)]
        while self._take("|"):
            parts.append(self._sequence(either_case=either_case))
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self, *, either_case: bool) -> Node:
        parts: list[Node] = []
        while self.place < len(self.pattern) and self.pattern[self.place] not in "|)":
            if self._take("(?i)"):
                either_case = True
                continue
            part = self._piece(either_case=either_case)
            parts.append(self._times(part))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _piece(self, *, either_case: bool) -> Node:
        match = _group().match(self.pattern, self.place)
        if match:
            self.place = match.end()
            return self._inside(match, either_case=either_case)
        if self._take("["):
            return One(self._class(either_case=either_case))
        if self._take("."):
            return One(EVERY)
        if self._take("^") or self._take("$"):
            return Sequence()
        if self._take("\\"):
            return self._escaped(either_case=either_case)
        self.place += 1
        return One(set_of(self.pattern[self.place - 1], either_case=either_case))

    def _inside(self, match: re.Match[str], *, either_case: bool) -> Node:
        """The rest of a group that was opened."""
        if match["again"]:
            return self._groups[self._names[match["again"]]]
        number = -1
        if match["name"] or match[0] == "(":
            number = len(self._groups)
            self._groups.append(Sequence())
            if match["name"]:
                self._names[match["name"]] = number
        if match["case"]:
            either_case = match["case"] == "i"
        node = self.choice(either_case=either_case)
        if not self._take(")"):
            raise ValueError("an expression that lacks a closing parenthesis")
        if number >= 0:
            self._groups[number] = node
        if match["look"]:
            return Look(node, behind="<" in match["look"], negative="!" in match["look"])
        return node

    def _escaped(self, *, either_case: bool) -> Node:
        sign = self.pattern[self.place]
        if sign in "bBAZ":
            self.place += 1
            return Sequence()
        if sign.isdigit():
            self.place += 1
            return self._groups[int(sign) - 1]
        return One(self._one_escaped(either_case=either_case))

    def _one_escaped(self, *, either_case: bool) -> int:
        """The set of what follows a backslash."""
        match = _escape().match(self.pattern, self.place)
        if not match:
            raise ValueError("an expression with an escape that is not known")
        self.place = match.end()
        if match["kind"]:
            characters = set_of(_KINDS[match["kind"]], either_case=either_case)
            return without(characters) if match["not"] == "P" else characters
        if match["class"]:
            characters = set_of(_KINDS[match["class"].lower()])
            return without(characters) if match["class"].isupper() else characters
        if match["code"]:
            return set_of(chr(int(match["code"][1:], 16)), either_case=either_case)
        return set_of(_NAMED.get(match[0], match[0]), either_case=either_case)

    def _class(self, *, either_case: bool) -> int:
        negative = self._take("^")
        found, first = _OTHERS, True
        while first or self.pattern[self.place] != "]":
            first = False
            start = self.place
            if self._take("\\"):
                one = self._one_escaped(either_case=either_case)
            else:
                self.place += 1
                one = set_of(self.pattern[start], either_case=either_case)
            if self.pattern[self.place] == "-" and self.pattern[self.place + 1] != "]":
                last = self.pattern[self.place + 1]
                self.place += 2
                span = range(ord(self.pattern[start]), ord(last) + 1)
                one = set_of(map(chr, span), either_case=either_case)
            found |= one
        self.place += 1
        return without(found) if negative else found

    def _times(self, part: Node) -> Node:
        match = _times().match(self.pattern, self.place)
        if not match:
            return part
        self.place = match.end()
        sign = match["sign"]
        if sign:
            return Repeated(part, int(sign == "+"), 1 if sign == "?" else None)
        least = int(match["least"] or 0)
        if match["comma"]:
            return Repeated(part, least, int(match["most"]) if match["most"] else None)
        return Repeated(part, least, least)

    def _take(self, text: str) -> bool:
        taken = self.pattern.startswith(text, self.place)
        self.place += len(text) * taken
        return taken


@cache
def _group() -> re.Pattern[str]:
    return re.compile(
        r"\((?:\?P=(?P<again>\w+)\)|(?P<look>\?<?[=!])|\?P<(?P<name>\w+)>|\?(?P<case>-?i)?:|(?!\?))"
    )


@cache
def _escape() -> re.Pattern[str]:
    return re.compile(
        r"(?P<not>[pP])\{(?P<kind>\w+)\}|(?P<class>[wWdDsS])"
        r"|(?P<code>x[0-9a-f]{2}|u[0-9a-f]{4})|[^A-Za-z0-9]|[ntrvf]"
    )


@cache
def _times() -> re.Pattern[str]:
    return re.compile(r"(?:(?P<sign>[?*+])|\{(?P<least>\d+)?(?P<comma>,)?(?P<most>\d+)?\})[+?]?")


def singles(node: Node) -> int:
    """The set of what a part matches by a single character, of all its alternatives together."""
    if isinstance(node, One):
        return node.characters
    if isinstance(node, Choice):
        found = _OTHERS
        for part in node.parts:
            found |= singles(part)
        return found
    return _OTHERS


def with_looks(node: Node) -> tuple[Node, bool]:
    """An expression whose looks at its ends are parts of it, and whether one is at its beginning.

    What must not stand right before or after is a character more, before or after, of all others.
    The line breaks around documents stand for their ends, so a look that refuses one is left out.
    """
    parts = list(node.parts) if isinstance(node, Sequence) else [node]
    begins = False
    while parts and isinstance(first := parts[0], Look) and first.behind:
        parts.pop(0)
        if first.negative and not begins and (seen := _refused(first)):
            begins = True
            kept = One(without(seen))
            break
    ended = parts[-1] if parts else None
    if (
        isinstance(ended, Look)
        and ended.negative
        and not ended.behind
        and (seen := _refused(ended))
    ):
        parts[-1] = One(without(seen))
    made = [kept, *parts] if begins else parts
    return Sequence(tuple(made)), begins


def _refused(look: Look) -> int:
    seen = singles(look.part)
    return 0 if seen == _OTHERS or seen & 1 << ord("\n") else seen


def without_looks(node: Node, *, backward: bool = False) -> Node:
    """An expression without its looks, which are taken to hold; from right to left, if wanted."""
    if isinstance(node, Look):
        return Sequence()
    if isinstance(node, Repeated):
        return replace(node, part=without_looks(node.part, backward=backward))
    if isinstance(node, One):
        return node
    parts = tuple(without_looks(part, backward=backward) for part in node.parts)
    turned = backward and isinstance(node, Sequence)
    return replace(node, parts=parts[::-1] if turned else parts)
