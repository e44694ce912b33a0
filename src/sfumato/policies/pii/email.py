"""E-mail addresses, with international domains, without a top-level domain, or spelled out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.expressions import Expression, Match
from sfumato.policies.pii.reading import Reading
from sfumato.text.span import Span

_REACH = 130  # how far around a spelled-out at sign an address is looked for


@dataclass(frozen=True)
class Email:
    """Something@somewhere."""

    label: ClassVar[str] = "EMAIL"

    def find(self, reading: Reading) -> Iterator[Span]:
        """Addresses as written for machines, then those written to hide from them."""
        if "@" in reading.text:
            for match in _address().finditer(reading.text):
                reason = "has a dot after the at sign" if match["dots"] else "has an at sign"
                yield Span(_start(match), match.end(), self.label, "email", reason)
        if not _may_hint(reading.text):
            return
        for hint in _hint().finditer(reading.text):
            floor, ceiling = max(0, hint.start() - _REACH), hint.end() + _REACH
            spelled = _spelled().search(reading.text, floor, ceiling)
            if spelled:
                reason = "an address with its at sign spelled out"
                yield Span(spelled.start(), spelled.end(), self.label, "email-spelled", reason)


def _start(match: Match) -> int:
    """Where the address begins: after the name of a field (``mail=``) and after opening signs.

    An equals sign may be a part of an address; hardly anybody has one, and logs are full of fields.
    """
    local = match[0].rpartition("@")[0]
    named = local.rfind("=") + 1
    opening = len(local[named:]) - len(local[named:].lstrip("'`{|*/?&#!.~^"))
    start = match.start() + named + opening
    return start if start < match.start() + len(local) else match.start()


def _may_hint(text: str) -> bool:
    """A quick look before a slow one: whether anything can stand for an at sign."""
    return any(bracket in text for bracket in "[({<") or "dot" in text.lower()


@cache
def _address() -> Expression:
    # A match may only start where a run of such characters starts, and no part gives back what
    # it took: each run is read twice at most.
    local = r"[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~\-\u200b]"
    part = r"[\p{L}\p{M}\p{N}_\-\u200b]++"
    quoted = r'"[^"\n]{1,64}+"'
    literal = r"\[[0-9A-Fa-fIPv:.]{2,60}+\]"
    return Expression(
        rf"(?:(?<!{local}){local}++|{quoted})@(?:{part}(?P<dots>(?:\.{part})++)?|{literal})"
    )


@cache
def _hint() -> Expression:
    return Expression(
        r"[\[({<] ?(?i:at|@|arroba|chez) ?[\])}>]| (?:AT|at) (?=[^\s]{1,64}+ (?i:dot) )"
    )


@cache
def _spelled() -> Expression:
    part = r"[\p{L}\p{N}_\-]{1,64}+"
    name = rf"(?<![\p{{L}}\p{{N}}._\-]){part}(?:(?:\.| ?[\[(]dot[\])] ?){part}){{0,4}}+"
    at = r"(?: ?[\[({<] ?(?i:at|@|arroba|chez) ?[\])}>] ?| (?:AT|at) )"
    dot = r"(?:\.| ?[\[({<] ?(?i:dot|punkt|point|\.) ?[\])}>] ?| (?i:dot) )"
    return Expression(rf"{name}{at}{part}(?:{dot}{part}){{1,4}}+")
