"""Web addresses, and bare domains such as www.example.org/page or example.org."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import LETTERS, among

# Endings that are seldom anything but a domain; py, rs, md, so and the like are file names and
# words more often, so they count only after a scheme or www.
_ENDINGS = (
    "com org net edu gov mil info biz name museum online shop store site tech app dev cloud blog "
    "xyz club live news eu us uk ca au nz ie in za de at ch fr be nl lu es pt it se no dk fi is "
    "pl cz sk hu gr cy si hr ee lt lv ro bg ua ru tr il br mx ar cl jp kr cn tw hk sg io co ai "
    "me tv cc ws int onion local"
)
_WEB = frozenset(("*www",))
_POINT, _COLON, _SLASH = map(ord, ".:/")
_WORDS = "at be in is it me no us"
_LONGEST = 253
_CLOSING = ".,;:!?)]}>'\"”»*_|"


@dataclass(frozen=True)
class Url:
    """A place on the web."""

    label: ClassVar[str] = "URL"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a scheme, with www, or with a point right before a letter."""
        words, codes = page.words, page.runs.codes
        points, colons = np.flatnonzero(codes == _POINT), np.flatnonzero(codes == _COLON)
        points = points[among(codes[points + 1], LETTERS)]
        colons = colons[(codes[colons + 1] == _SLASH) & (codes[colons + 2] == _SLASH)]
        return page.documents_at(np.concatenate([points, colons, words.starts[words.among(_WEB)]]))

    def find(self, reading: Reading) -> Iterator[Found]:
        """Addresses with a scheme, with www, and bare domains."""
        if "://" in reading.text or "www" in reading.text.lower():
            yield from self._marked(reading)
        if _dotted().search(reading.text):
            yield from self._bare(reading)

    def _marked(self, reading: Reading) -> Iterator[Found]:
        for match in _mark().finditer(reading.text):
            scheme = _scheme().search(reading.text, max(0, match.start() - 16), match.start())
            start = scheme.start() if scheme else match.start()
            end = _trimmed(reading.text, match.end(), match.start())
            yield Found(start, end, self.label, "url", "begins like a web address")

    def _bare(self, reading: Reading) -> Iterator[Found]:
        reached = 0
        for ending in _ending().finditer(reading.text):
            if ending.start() < reached:
                continue
            floor = max(reached, ending.start() - _LONGEST)
            name = _name_before().search(reading.text, floor, ending.start())
            if not name or _is_word(name[0], ending[0], reading.after(ending.end(), 2)):
                continue
            rest = _rest().match(reading.text, ending.end())
            reached = rest.end() if rest else ending.end()
            end = _trimmed(reading.text, reached, ending.end())
            yield Found(name.start(), end, self.label, "domain", "a name with a domain's ending")


def _is_word(name: str, ending: str, after: str) -> bool:
    """Whether this is a missing space, as in "he left.In March" and "a good film.it is"."""
    if len(name) < 2 or not (ending.islower() or (name + ending).isupper()):
        return True
    plain = name.isalpha() and ending[1:] in _WORDS.split()
    return plain and bool(_sentence().match(after))


def _trimmed(text: str, end: int, start: int) -> int:
    """Without the punctuation that belongs to the sentence around."""
    while end > start and text[end - 1] in _CLOSING:
        end -= 1
    return end


@cache
def _dotted() -> re.Pattern[str]:
    return re.compile(r"\.[^\W\d_]")


@cache
def _mark() -> Expression:
    return Expression(r"(?:://|[Ww][Ww][Ww][0-9]?\.)(?=[\p{L}\p{N}\[])[^\s<>\"`]++")


@cache
def _scheme() -> Expression:
    return Expression(r"(?i)[a-z][a-z0-9+.\-]{1,15}\Z")


@cache
def _ending() -> Expression:
    endings = "|".join(_ENDINGS.split())
    one = rf"\.(?i:{endings}|xn--[a-z0-9\-]{{2,59}}+)(?![\p{{L}}\p{{N}}_\-@])"
    return Expression(rf"(?:{one}){{1,3}}+")


@cache
def _name_before() -> Expression:
    # The domain may not be the second half of an e-mail address; that has its own recognizer.
    part = r"[\p{L}\p{N}][\p{L}\p{M}\p{N}\-]*+"
    return Expression(rf"(?<![\p{{L}}\p{{M}}\p{{N}}\-@.]){part}(?:\.{part})*+\Z")


@cache
def _sentence() -> Expression:
    return Expression(r" \p{Ll}|'")


@cache
def _rest() -> Expression:
    return Expression(r"(?::[0-9]{1,5}+)?(?:[/?#][^\s<>\"`]*+)?")
