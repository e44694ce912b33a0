"""United States social security numbers, issued or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Cue, Page, Reading
from sfumato.policies.pii.runs import Flags, among


@dataclass(frozen=True)
class Ssn:
    """Three, two and four digits; nine digits after a word that announces them."""

    label: ClassVar[str] = "US_SSN"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(_may_be_ssn)

    def find(self, reading: Reading) -> Iterator[Found]:
        """Numbers that were never issued are found too: they may be mistyped real ones."""
        for first in reading.chosen(_may_be_ssn):
            start = reading.starts[first]
            length = reading.ends[first] - start
            match = _grouped().match(reading.text, start) if length == 3 else None
            if match:
                rule, reason = _judged(match[0])
                yield Found(start, match.end(), self.label, rule, reason)
            elif length == 9 and _is_bare(reading, first):
                reason = "nine digits, announced as a social security number"
                yield Found(start, reading.ends[first], self.label, "ssn-context", reason)
            elif length == 4 and (begin := _mask_before(reading.text, start)) >= 0:
                reason = "the last digits of a number that is masked in part"
                yield Found(begin, start + length, self.label, "ssn-masked", reason)


_MASKS = "xX*#- "
_LOOK_BACK, _LOOK_AHEAD = 60, 30


def _may_be_ssn(page: Page) -> Flags:
    runs, words = page.runs, _cue().words
    grouped = (runs.lengths == 3) & (runs.following(runs.lengths) == 2) & runs.joins("-. /_", 3)
    told = page.told_before(words, _LOOK_BACK) | page.told_after(words, _LOOK_AHEAD)
    masked = among(runs.before(1), _MASKS) & among(runs.before(3), _MASKS)
    held: Flags = grouped | ((runs.lengths == 9) & told) | ((runs.lengths == 4) & masked)
    return held


def _judged(number: str) -> tuple[str, str]:
    from stdnum.us import ssn

    digits = "".join(character for character in number if character.isdigit())
    if ssn.is_valid(digits):
        return "ssn", "a number that can have been issued"
    return "ssn-shape", "looks like a social security number, though never issued"


def _is_bare(reading: Reading, first: int) -> bool:
    start, end = reading.starts[first], reading.ends[first]
    return end - start == 9 and reading.near(start, end, _cue())


@cache
def _grouped() -> Expression:
    return Expression(r"[0-9]{3}([\-. /_]| - )[0-9]{2}\1[0-9]{4}(?![0-9])")


def _mask_before(text: str, start: int) -> int:
    """Where the signs begin that hide the first digits of a number, -1 if there are none."""
    if start < 5 or text[start - 1] not in "xX*•#- " or text[start - 3] not in "xX*•#- ":
        return -1
    match = _masked().search(text, max(0, start - 7), start)
    return match.start() if match else -1


@cache
def _masked() -> Expression:
    return Expression(r"[xX*•#]{3}[\- ]?[xX*•#]{2}[\- ]?\Z")


@cache
def _cue() -> Cue:
    return Cue(r"ssn|s\.s\.n\.|ss ?#|social|social security|itin|tax(?:payer)? ?id\w*|tin")
