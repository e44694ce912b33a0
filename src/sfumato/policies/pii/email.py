"""E-mail addresses, with international domains, without a top-level domain, or spelled out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.expressions import Expression, Match
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import DIGITS, LETTERS, among

_AT, _BLANK = ord("@"), ord(" ")
_OPENING = "[({<"
_BEFORE = LETTERS + DIGITS + ".!#$%&'*+/=?^_`{|}~-\""
_AFTER = LETTERS + DIGITS + "_-["
_SPELLED = frozenset(("at", "arroba", "chez"))  # in brackets
_DOT = frozenset(("dot",))  # after an at sign that stands there as a word
_REACH = 130  # how far around a spelled-out at sign an address is looked for


@dataclass(frozen=True)
class Email:
    """Something@somewhere."""

    label: ClassVar[str] = "EMAIL"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with an at sign, or with what may stand for one."""
        return sorted({*page.spots(_at_signs), *page.spots(_hints)})

    def find(self, reading: Reading) -> Iterator[Found]:
        """Addresses as written for machines, then those written to hide from them."""
        if reading.spots(_at_signs):
            for match in _address().finditer(reading.text):
                reason = "has a dot after the at sign" if match["dots"] else "has an at sign"
                yield Found(_start(match), match.end(), self.label, "email", reason)
        if not reading.spots(_hints):
            return
        for hint in _hint().finditer(reading.text):
            floor, ceiling = max(0, hint.start() - _REACH), hint.end() + _REACH
            spelled = _spelled().search(reading.text, floor, ceiling)
            if spelled:
                reason = "an address with its at sign spelled out"
                yield Found(spelled.start(), spelled.end(), self.label, "email-spelled", reason)


def _start(match: Match) -> int:
    """Where the address begins: after the name of a field (``mail=``) and after opening signs.

    An equals sign may be a part of an address; hardly anybody has one, and logs are full of fields.
    """
    local = match[0].rpartition("@")[0]
    named = local.rfind("=") + 1
    opening = len(local[named:]) - len(local[named:].lstrip("'`{|*/?&#!.~^"))
    start = match.start() + named + opening
    return start if start < match.start() + len(local) else match.start()


def _at_signs(page: Page) -> NDArray[np.int64]:
    """At signs between characters that addresses have there."""
    codes = page.runs.codes
    places = np.flatnonzero(codes == _AT)
    return places[among(codes[places - 1], _BEFORE) & among(codes[places + 1], _AFTER)]


def _hints(page: Page) -> NDArray[np.int64]:
    """Words that can stand for an at sign: in brackets, or where there is a "dot"."""
    words, codes = page.words, page.runs.codes
    places = words.starts[words.among(_SPELLED)]
    near, far = codes[places - 1], codes[places - 2]
    framed = places[among(near, _OPENING) | ((near == _BLANK) & among(far, _OPENING))]
    signs = np.flatnonzero(codes == _AT)
    near, far = codes[signs - 1], codes[signs - 2]
    signs = signs[among(near, _OPENING) | ((near == _BLANK) & among(far, _OPENING))]
    return np.concatenate([framed, signs, words.starts[words.among(_DOT)]])


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
