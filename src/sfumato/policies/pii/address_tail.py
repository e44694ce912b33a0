"""What follows a street or a box: unit, landmark, town, state and code, also over several lines."""

from __future__ import annotations

from functools import cache

import regex

from sfumato.policies.pii import streets

_NAME = r"\p{Lu}[\p{L}\p{M}'\-]*+"
_NAMES = (
    rf"(?:(?:St|Mt|Ft)\. )?{_NAME}"
    rf"(?: (?:(?:am|an|der|de|del|la|le|les|sur|upon|on|of|nad|pod) )?{_NAME}){{0,3}}+"
)
_CODE = (
    r"(?:[\p{Lu}]{1,2}-)?[\p{Lu}0-9]{1,5}[0-9][\p{Lu}0-9]{0,3}(?:[ \-][\p{Lu}0-9]{2,4})?(?!\p{L})"
)
# A comma, a new line (perhaps quoted or indented), or both.
_BREAK = r"(?:,? ?(?:\r?\n[ \t>?]{0,8}){1,2}(?:, ?\n? {0,4})?|, ?)"


def tail_end(text: str, end: int) -> int:
    """Where an address ends of which the street or box ends here."""
    unit = _unit().match(text, end)
    end = unit.end() if unit else end
    landmark = _landmark().match(text, end)
    end = landmark.end() if landmark else end
    match = _american().match(text, end) or _towns().match(text, end)
    if unit and not match:
        match = _town().match(text, end)
    return match.end() if match else end


def any_of(words: str) -> str:
    """One of these words, as a pattern."""
    return "|".join(regex.escape(word) for word in sorted(words.split(), key=len, reverse=True))


@cache
def _unit() -> regex.Pattern[str]:
    words = (
        r"apt|apartment|suite|ste|unit|flat|floor|fl|room|rm|appt|wohnung|piso|b[âa]t|b[âa]timent"
        r"|building|bldg|block|tower|[ée]tage|esc|porte|puerta|whg|top|lot"
    )
    return regex.compile(
        rf"(?i)(?:(?:{_BREAK}| )?(?:(?:{words})\.? ?#?(?:[0-9][\p{{L}}\p{{N}}\-]{{0,7}}+|\p{{L}}\b)"
        rf"|no\.? ?[0-9]{{1,5}}\p{{L}}?\b|(?:{words})\.? #?[\p{{L}}\p{{N}}\-]{{1,4}}+\b)"
        r"|,? ?#[0-9]{1,6}){1,3}"
    )


@cache
def _landmark() -> regex.Pattern[str]:
    return regex.compile(
        r"(?i:,? (?:near|opp\.?|opposite|behind|beside|next to|off) (?:the |to )?)"
        r"[\p{L}\p{M}'\-]++(?: (?!tomorrow|today|please|now|at|on|by|this|next)[\p{L}\p{M}'\-]++)?"
    )


@cache
def _american() -> regex.Pattern[str]:
    """Up to a state and its code, which end an American address."""
    inside = r"(?:[^\n.;!?]|(?<=\b(?:St|Mt|Ft|No|Apt|Ste))\.)"
    return regex.compile(
        rf"[,\s]{inside}{{0,48}}?(?:\n{inside}{{0,32}}?){{0,2}}?(?<![\p{{L}}])"
        rf"(?i:{any_of(streets.US_STATES)})[.,\s]{{1,3}}"
        r"[0-9]{5}(?:-[0-9]{4})?(?![0-9])"
    )


@cache
def _town() -> regex.Pattern[str]:
    return regex.compile(rf" {_NAMES}(?! ?:)")


@cache
def _towns() -> regex.Pattern[str]:
    """Towns, countries and codes; a name must end its part, or have a code at its side."""
    ended = r"(?=[ \t]{0,4}(?:[,.;\n]|\Z))(?! ?:)"
    line = rf"{_BREAK}(?:{_CODE} {_NAMES}|{_NAMES},? (?:- ?)?{_CODE}|{_NAMES}{ended}|{_CODE})"
    return regex.compile(
        rf"(?:{line}| {_CODE} {_NAMES}| {_NAMES},? (?:- ?)?{_CODE}| {_CODE}){{1,5}}+"
    )
