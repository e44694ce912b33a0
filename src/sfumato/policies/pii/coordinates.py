"""Places on the earth by their latitude and longitude."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.reading import Reading
from sfumato.text.span import Span

_FEWEST_DECIMALS = 3  # about a hundred meters; fewer are as often something else


@dataclass(frozen=True)
class Coordinates:
    """Two numbers that say where something is."""

    label: ClassVar[str] = "COORDINATES"

    def find(self, reading: Reading) -> Iterator[Span]:
        """Pairs of decimal degrees, degrees with minutes, and single values under their name."""
        text = reading.text
        reached = 0
        for start, end in zip(reading.starts, reading.ends, strict=True):
            after = text[end : end + 1]
            if start < reached or end - start > 3 or after not in _AFTER_DEGREES or not after:
                continue
            found = self._at(text, _sign_before(text, start))
            if found:
                reached = found.end
                yield found

    def _at(self, text: str, begin: int) -> Span | None:
        match = _degrees().match(text, begin)
        if match:
            reason = "degrees and minutes with a direction"
            return Span(begin, match.end(), self.label, "coordinates-degrees", reason)
        named = _named().search(text, max(0, begin - 16), begin)
        match = _pair().match(text, begin) if not named else None
        if match and float(match["one"]) <= 90 and float(match["two"]) <= 180:
            reason = "two decimal numbers in the range of a latitude and a longitude"
            return Span(begin, match.end(), self.label, "coordinates", reason)
        match = _single().match(text, begin)
        if match and named:
            reason = "a decimal number under the name of a coordinate"
            return Span(begin, match.end(), self.label, "coordinates-context", reason)
        return None


_AFTER_DEGREES = frozenset(".,° º")


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
