"""Places on the earth by their latitude and longitude."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import BEYOND, Flags

_BLANK, _POINT = ord(" "), ord(".")
_FEWEST_ALONE = 2  # decimals of a value under its name
_FEWEST_DECIMALS = 3  # about a hundred meters; fewer are as often something else


@dataclass(frozen=True)
class Coordinates:
    """Two numbers that say where something is."""

    label: ClassVar[str] = "COORDINATES"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(_may_be_degrees)

    def find(self, reading: Reading) -> Iterator[Found]:
        """Pairs of decimal degrees, degrees with minutes, and single values under their name."""
        text = reading.text
        reached = 0
        for run in reading.chosen(_may_be_degrees):
            start = reading.starts[run]
            if start < reached:
                continue
            found = self._at(text, _sign_before(text, start))
            if found:
                reached = found.end
                yield found

    def _at(self, text: str, begin: int) -> Found | None:
        match = _degrees().match(text, begin)
        if match:
            reason = "degrees and minutes with a direction"
            return Found(begin, match.end(), self.label, "coordinates-degrees", reason)
        named = _named().search(text, max(0, begin - 16), begin)
        match = _pair().match(text, begin) if not named else None
        if match and float(match["one"]) <= 90 and float(match["two"]) <= 180:
            reason = "two decimal numbers in the range of a latitude and a longitude"
            return Found(begin, match.end(), self.label, "coordinates", reason)
        match = _single().match(text, begin)
        if match and named:
            reason = "a decimal number under the name of a coordinate"
            return Found(begin, match.end(), self.label, "coordinates-context", reason)
        return None


def _may_be_degrees(page: Page) -> Flags:
    """Degrees with their sign, or with decimals of which there are some or that a sign follows."""
    runs = page.runs
    after = runs.after(1)
    signed = (after >= BEYOND) | ((after == _BLANK) & (runs.after(2) >= BEYOND))
    decimals = runs.following(runs.lengths) >= _FEWEST_ALONE
    pointed = (after == _POINT) & (runs.gaps == 1)
    signed_next = runs.following(signed.astype(np.int64)) > 0
    held: Flags = (runs.lengths <= 3) & (signed | (pointed & (decimals | signed_next)))
    return held


def _sign_before(text: str, start: int) -> int:
    """Where the number begins with its sign or direction."""
    return start - (start > 0 and text[start - 1] in "+-" and not text[max(0, start - 2)].isalnum())


@cache
def _pair() -> Expression:
    decimals = rf"\.[0-9]{{{_FEWEST_DECIMALS},15}}+"
    return Expression(
        rf"(?<![\p{{L}}\p{{N}}.])[+\-]?(?P<one>[0-9]{{1,2}}{decimals})°?"
        rf"(?:, ?| ?[;/|] ?| )[+\-]?(?P<two>[0-9]{{1,3}}{decimals})°?(?![\p{{L}}\p{{N}}]|[.,][0-9])"
    )


@cache
def _degrees() -> Expression:
    part = (
        r"[0-9]{1,3}(?:\.[0-9]{1,8})?[ ]?[°º][ ]?(?:[0-9]{1,2}(?:\.[0-9]{1,8})?[ ]?['′m][ ]?"
        r"(?:[0-9]{1,2}(?:\.[0-9]{1,8})?[ ]?(?:[\"″]|''|s)?[ ]?)?)?"
    )
    return Expression(rf"{part}[NSns]\b(?:[,;/]? ?[+\-]?{part}[EWOewo]\b)?")


@cache
def _single() -> Expression:
    return Expression(r"[+\-]?[0-9]{1,3}\.[0-9]{2,15}+(?![\p{L}\p{N}])")


@cache
def _named() -> Expression:
    return Expression(
        r"(?i)(?<!\p{L})(?:lat|latitud[e]?|lng|lon|long|longitud[e]?|breitengrad|längengrad|breite"
        r"|länge)[\"']?\s?[:=]?\s?[\"']?\Z"
    )
