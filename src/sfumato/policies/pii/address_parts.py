"""Addresses of several parts between commas, told by how they begin or by the code at their end.

"Plot 12, Jasmine Layout, near the tank, Navsagar - 603 855", "The Old Forge, Mill Lane, Orme,
TH9 6AB".
"""

from __future__ import annotations

from functools import cache

from sfumato.policies.pii import street
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.street import any_of

_REACH = 110
_WORD = r"(?:\p{Lu}[\p{L}\p{M}'.\-]*+|[0-9]{1,3}(?:st|nd|rd|th)|of|the|de|la|upon|on)"
_PART = rf"(?:\p{{Lu}}[\p{{L}}\p{{M}}'.\-]*+|[0-9]{{1,3}}(?:st|nd|rd|th))(?: {_WORD}){{0,4}}+"
_NEAR = r"(?:near|opp\.?|opposite|behind|beside|next to|off) [\p{L}\p{M} '\-]{3,40}?"
_INDIAN = r"[1-9][0-9]{2} ?[0-9]{3}(?![0-9])"
HEADS = """
no h.no hno house plot flat door d.no shop villa block sector quarter qtr survey room gali ward
"""


def unit_first(text: str, start: int) -> tuple[int, int] | None:
    """From a house, plot or flat number over the parts after it to the code or a street."""
    match = after_head().match(text, start)
    head = _head_before().search(text, max(0, start - 12), start) if match else None
    if not match or not (head or match["code"]):
        return None
    if not match["code"] and not _street_inside().search(match[0]):
        return None
    return (head.start() if head else start), match.end()


def before_code(text: str, start: int) -> tuple[int, int] | None:
    """Parts with a street among them that stand right before a postcode."""
    code = coded().match(text, max(0, start - 2)) or coded().match(text, max(0, start - 1))
    if not code or code.start("digit") != start:
        return None
    match = _parts_before().search(text, max(0, start - _REACH), code.start())
    if not match or not _street_inside().search(match[0]):
        return None
    return match.start(), code.end()


def heading(address: str) -> str:
    """What an address without a house number is mentioned by: its first two parts."""
    parts = address.split(", ")
    head = ", ".join(parts[:2])
    return head if len(parts) > 2 and not any(letter.isdigit() for letter in head) else ""


@cache
def _head_before() -> Expression:
    return Expression(rf"(?<![\p{{L}}\p{{N}}])(?i:(?:{any_of(HEADS)})\.? ?|[a-z]-?)\Z")


@cache
def after_head() -> Expression:
    """The number of a house and the parts of an address after it."""
    number = r"[0-9]{1,5}\p{L}?(?:[\-/][0-9]{1,5}\p{L}?){0,3}"
    return Expression(
        rf"{number}(?:,? {_PART}(?=,|\s|\.|\Z)|, {_NEAR}(?=,| \p{{Lu}}|[.;\n]|\Z)){{1,5}}?"
        rf"(?:,? (?:- ?)?(?P<code>{_INDIAN})|(?=[.;\n?!]|, \p{{Ll}}| \p{{Ll}}|\Z))"
    )


@cache
def _parts_before() -> Expression:
    return Expression(
        rf"(?<![\p{{L}}\p{{N}}])(?<!\p{{L}}['\-])(?:{_PART}, ){{1,4}}(?:{_PART})?,? ?\Z"
    )


@cache
def coded() -> Expression:
    """A British postcode."""
    return Expression(
        r"(?<![\p{L}\p{N}])[A-Z]{1,2}(?P<digit>)[0-9][A-Z0-9]? ?[0-9][A-Z]{2}(?![\p{L}\p{N}])"
    )


@cache
def _street_inside() -> Expression:
    return Expression(rf" (?:{any_of(street.SUFFIXES)}|Layout|Nagar|Enclave|Vihar|Cross)\b")
