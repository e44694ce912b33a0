"""The terms of a report, explained once for all pages (``assets/glossary.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import regex


@dataclass(frozen=True, kw_only=True)
class Term:
    """A term with its other spellings and its meaning."""

    name: str
    also: tuple[str, ...]
    meaning: str
    anchor: str


@cache
def glossary() -> tuple[Term, ...]:
    """Every term."""
    path = files("sfumato.reports") / "assets" / "glossary.toml"
    listed = tomllib.loads(path.read_text("utf-8"))["term"]
    return tuple(
        Term(
            name=one["name"],
            also=tuple(one.get("also", ())),
            meaning=one["means"],
            anchor=f"term-{place}",
        )
        for place, one in enumerate(listed, start=1)
    )


def find_terms(text: str) -> Iterator[tuple[int, int, Term]]:
    """Where the terms of the glossary stand in a text, the longest spelling first.

    >>> [(text, term.name) for text, term in
    ...  ((text[a:b], term) for text in ["By chance, exposures of 2 bits."]
    ...   for a, b, term in find_terms(text))]
    [('By chance', 'chance'), ('exposures', 'exposure')]
    """
    known = _spellings()
    for found in _pattern().finditer(text):
        yield found.start(), found.end(), known[found.group().casefold()]


def terms_in(texts: Sequence[str]) -> list[Term]:
    """The terms that some texts use, by name."""
    used = {term.name: term for text in texts for _, _, term in find_terms(text)}
    return [used[name] for name in sorted(used, key=str.casefold)]


@cache
def _spellings() -> dict[str, Term]:
    return {
        spelling.casefold(): term for term in glossary() for spelling in (term.name, *term.also)
    }


@cache
def _pattern() -> regex.Pattern[str]:
    longest = sorted(_spellings(), key=len, reverse=True)
    either = "|".join(regex.escape(one, special_only=True) for one in longest)
    return regex.compile(rf"(?<![\w-])(?:{either})(?![\w-])", regex.IGNORECASE)
