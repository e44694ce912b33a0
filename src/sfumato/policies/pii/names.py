"""The list of given names, surnames and ordinary words; read when first asked for."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

# Letters that Unicode does not take apart into a plain letter and an accent.
_LETTERS = {
    **dict(zip("øłđðı", "olddi", strict=True)),
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "þ": "th",
}


@dataclass(frozen=True, slots=True)
class Names:
    """Plain forms (small letters, no accents) of names and of words that are none.

    ``alone`` are given names wherever they stand, ``paired`` only beside a surname or initial.
    """

    alone: frozenset[str]
    paired: frozenset[str]
    surnames: frozenset[str]
    words: frozenset[str]


@cache
def list_names() -> Names:
    """The list that comes with the package."""
    text = files("sfumato.policies.pii").joinpath("names.txt").read_text(encoding="utf-8")
    return Names(**{title: frozenset(names) for title, names in sections(text).items()})


def sections(text: str) -> dict[str, list[str]]:
    """Words under titles in square brackets; lines that begin with # are left out."""
    found: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in text.splitlines():
        if line.startswith("["):
            entries = found.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            entries.extend(line.split())
    return found


def plain(word: str) -> str:
    """A word in small letters without accents.

    >>> plain("Łukasz"), plain("Zoë")
    ('lukasz', 'zoe')
    """
    if word.isascii():
        return word.lower()
    letters = unicodedata.normalize("NFD", word.lower())
    return "".join(
        _LETTERS.get(letter, letter) for letter in letters if not unicodedata.combining(letter)
    )
