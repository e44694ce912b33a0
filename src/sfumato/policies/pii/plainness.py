"""Texts made plain, so that one rule reads what people write in many ways.

Plain means that a character which only looks different is replaced by the ASCII character it
stands for: Arabic-Indic or full-width digits, no-break spaces, Unicode hyphens, full-width
letters. One character always becomes one character, so a place in the plain text is the same
place in the original.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

INVISIBLE = "\u200b"  # every character without a shape becomes this one
_FEW = 40


def make_plain(text: str) -> str:
    """The same text with ASCII characters where others only look different.

    >>> make_plain("tel\u00a0٠١٢\u20113")
    'tel 012-3'
    """
    if text.isascii():
        return text
    table = {
        ord(character): plain
        for character in set(_beyond_ascii().findall(text))
        if (plain := _counterpart(character)) != character
    }
    if len(table) > _FEW:
        return text.translate(table)
    for code, plain in table.items():  # a few replacements are much faster than one translation
        text = text.replace(chr(code), plain)
    return text


@lru_cache(4096)
def _counterpart(character: str) -> str:
    """The ASCII character that this one stands for, or the character itself."""
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    same = {"Zs": " ", "Pd": "-", "Zl": "\n", "Zp": "\n", "Cf": INVISIBLE}.get(category)
    if same is None:
        same = {"\u2212": "-", "\u2043": "-", "\u3002": ".", "\u2019": "'"}.get(character)
    if same is None:
        same = unicodedata.normalize("NFKC", character)
    return same if len(same) == 1 and (same.isascii() or same == INVISIBLE) else character


@cache
def _beyond_ascii() -> re.Pattern[str]:
    return re.compile(r"[^\x00-\x7f]")
