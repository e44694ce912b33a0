"""Names for names: the shape of a name, and a name of that shape from public lists.

The shape is how many words there are (four at most), which of them are initials, titles from a
public list, a comma after the family name, and a possessive 's. It is read without looking a name
up anywhere: "Paris" and "Priya" are one word each, whether a list knows them or not. Particles such
as "van" and endings such as "Jr.", which public lists hold, do not count, so that which words are
among these shows only in how many others there are. A first word counts even if it looks like a
particle ("Al Gore", "Van Morrison"), unless it is written small before a capital ("van Dyk").

A single letter inside a name is an initial in every language. "M." and "D." are titles in French
and Spanish, but kept as such they would show which names begin with these letters; so they are
titles only where they stand before what was found, in text that is public here.

One word is a given name, after a title a family name. Of several words the first is a given name
and the last a family name; in Spanish the last two are if there are three or more. What stands
between is a given name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import regex

from sfumato.mechanisms.pseudonym import normalize_entity
from sfumato.mechanisms.surrogates.chance import Chance
from sfumato.mechanisms.surrogates.lists import Lists
from sfumato.text.span import Stretch

GIVEN, FAMILY, INITIAL = "given", "family", "initial"
MOST_WORDS = 4
INITIALS = "ABCDEFGHIJKLMNOPRSTVW"

# How a title is written, and whose it is: f, m or nobody's.
_TITLES = {
    "mr": ("Mr.", "m"), "mister": ("Mr.", "m"), "mrs": ("Mrs.", "f"), "ms": ("Ms.", "f"),
    "miss": ("Miss", "f"), "mx": ("Mx.", ""), "dr": ("Dr.", ""), "doctor": ("Dr.", ""),
    "prof": ("Prof.", ""), "professor": ("Prof.", ""), "sir": ("Sir", "m"), "lady": ("Lady", "f"),
    "lord": ("Lord", "m"), "madam": ("Madam", "f"), "herr": ("Herr", "m"), "herrn": ("Herrn", "m"),
    "frau": ("Frau", "f"), "fräulein": ("Fräulein", "f"), "sr": ("Sr.", "m"), "sra": ("Sra.", "f"),
    "srta": ("Srta.", "f"), "señor": ("Señor", "m"), "señora": ("Señora", "f"),
    "señorita": ("Señorita", "f"), "dra": ("Dra.", "f"), "mme": ("Mme", "f"), "mlle": ("Mlle", "f"),
    "monsieur": ("Monsieur", "m"), "madame": ("Madame", "f"),
    "mademoiselle": ("Mademoiselle", "f"), "docteur": ("Docteur", ""),
}  # fmt: skip
# Initials and names in other languages. Those of one letter count only outside of a name.
_OWN_TITLES = {
    "fr": {"m": ("M.", "m"), "me": ("Me", "")},
    "es": {"d": ("D.", "m"), "don": ("Don", "m"), "doña": ("Doña", "f")},
}
_PARTICLES = frozenset((
    "van", "von", "der", "den", "ter", "ten", "de", "la", "le", "du", "des", "del", "della", "di",
    "da", "do", "dos", "das", "los", "las", "y", "e", "i", "zu", "zum", "zur", "bin", "bint",
    "ibn", "al", "el", "af", "av",
))  # fmt: skip
_ENDINGS = frozenset(("jr", "junior", "ii", "iii", "iv", "phd", "md", "esq"))
_INITIAL = regex.compile(r"(?:\p{Lu}\.-?)+|\p{Lu}")
_INITIAL_BEFORE = regex.compile(r"(?<![\p{L}\p{N}])\p{Lu}\.\s*\Z")
_POSSESSIVE = regex.compile(r"['’]s\s*\Z", regex.IGNORECASE)
_WORD = regex.compile(r"[^\s,]+")


@dataclass(frozen=True)
class Shape:
    """The public form of a name; ``parts`` says of each word whether it is an initial."""

    parts: tuple[bool, ...] = (False,)
    titles: tuple[str, ...] = ()
    titled: bool = False  # a title in the name, or a title or an initial right before it
    gender: str = ""
    inverted: bool = False
    possessive: bool = False

    def roles(self, language: str) -> tuple[str, ...]:
        """What each part is, in the order in which they are written."""
        count = len(self.parts)
        if count == 1:
            return (FAMILY if self.titled else GIVEN,)
        if self.inverted:
            return (FAMILY, *([GIVEN] * (count - 1)))
        families = 2 if language == "es" and count > 2 else 1
        return (*([GIVEN] * (count - families)), *([FAMILY] * families))

    def write(self, words: Sequence[str]) -> str:
        """The name with other words."""
        first = f"{words[0]}," if self.inverted else words[0]
        return " ".join((*self.titles, first, *words[1:])) + ("'s" if self.possessive else "")


@dataclass(frozen=True)
class Name:
    """A name as it was read: its shape, which may show, and its words, which may not."""

    shape: Shape
    words: tuple[str, ...] = field(repr=False)


def read_name(stretch: Stretch, language: str) -> Name:
    """The shape and the words of a name.

    >>> from sfumato.text.span import Span
    >>> text = "Dr. J. van Dyk"
    >>> name = read_name(Stretch(0, 14, text, Span(0, 14, "PERSON")), "en")
    >>> name.shape.titles, name.shape.parts, name.words
    (('Dr.',), (True, False), ('j', 'dyk'))
    """
    text = _POSSESSIVE.sub("", stretch.text)
    titles, rest = _split_titles(_WORD.findall(text), language)
    while len(rest) > 1 and rest[-1].strip(".").casefold() in _ENDINGS:
        rest.pop()
    counted = _count(rest)
    kept = (*counted[: MOST_WORDS - 1], *counted[MOST_WORDS - 1 :][-1:]) or ("",)
    before = _titles_before(stretch.before, language)
    genders = [gender for _, gender in (*titles, *before) if gender]
    head, comma, tail = text.partition(",")
    inverted = bool(comma) and len(kept) > 1 and _is_one_word(head, len(titles))
    shape = Shape(
        parts=tuple(_INITIAL.fullmatch(one) is not None for one in kept),
        titles=tuple(written for written, _ in titles),
        titled=bool(titles or before) or _INITIAL_BEFORE.search(stretch.before) is not None,
        gender=genders[0] if genders else "",
        inverted=inverted and bool(tail.strip()),
        possessive=text != stretch.text,
    )
    return Name(shape, tuple(normalize_entity(one).strip(".") for one in kept))


def draw_name(shape: Shape, language: str, lists: Lists, chance: Chance) -> str:
    """A name of that shape; every word is drawn for itself."""
    words = [
        f"{chance.pick(INITIALS)}." if initial else chance.pick(pool(role, lists, shape.gender))
        for initial, role in zip(shape.parts, shape.roles(language), strict=True)
    ]
    return shape.write(words)


def pool(role: str, lists: Lists, gender: str = "") -> tuple[str, ...]:
    """What a word of a name is drawn from."""
    return lists["family"] if role == FAMILY else lists.given(gender)


def _split_titles(words: list[str], language: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Titles at the beginning, and the rest; a title alone is taken for a name."""
    known = _TITLES | _OWN_TITLES.get(language, {})
    titles = []
    while len(words) > 1 and _INITIAL.fullmatch(words[0]) is None:
        found = known.get(words[0].strip(".").casefold())
        if found is None:
            break
        titles.append(found)
        words = words[1:]
    return titles, words


def _titles_before(before: str, language: str) -> list[tuple[str, str]]:
    """Titles that stand right before a name, with nothing but white space after them."""
    known = _TITLES | _OWN_TITLES.get(language, {})
    if not before or not before[-1].isspace():
        return []
    titles: list[tuple[str, str]] = []
    for word in reversed(before.split()):
        found = known.get(word.strip(".(").casefold())
        if found is None:
            break
        titles.insert(0, found)
    return titles


def _count(words: list[str]) -> list[str]:
    """The words that count: all but particles, the first one nearly always."""
    first, others = words[:1], [one for one in words[1:] if not _is_particle(one)]
    small = any(one[0].islower() for one in first) and any(one[0].isupper() for one in others)
    return others if small and all(map(_is_particle, first)) else [*first, *others]


def _is_particle(word: str) -> bool:
    """Whether a word does not count; "Y." is an initial, "y" is not."""
    return word in _PARTICLES or (len(word) > 1 and word.casefold() in _PARTICLES)


def _is_one_word(head: str, titles: int) -> bool:
    """Whether one counted word stands before the comma, after so many titles."""
    return len(_count(_WORD.findall(head)[titles:])) == 1
