"""A public gazetteer: where cities and countries are, and by which names they are known.

It holds the cities of GeoNames with 30,000 people at least, the most populous first, and countries,
each at its capital. Names are compared without capitals, accents and hyphens. Where several places
have a name the most populous is meant, and a place whose own name it is before one that is also
called so.

The data is from GeoNames (https://www.geonames.org), licensed under CC BY 4.0;
``data/ATTRIBUTION.md`` says what was changed, and ``scripts/build_gazetteer.py`` makes the file.
"""

from __future__ import annotations

import gzip
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.vectors.space import Space

CITY, COUNTRY = "city", "country"
KINDS = {"c": CITY, "n": COUNTRY}
# The mean radius of the earth, in km.
RADIUS = 6371.0088
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"})


@dataclass(frozen=True)
class Gazetteer:
    """The places of one kind: names, the country each is in, where it is, and other names."""

    kind: str
    names: tuple[str, ...]
    countries: tuple[str, ...]
    degrees: Floats
    others: tuple[tuple[str, ...], ...]

    @cached_property
    def space(self) -> Space:
        """The places as points of three dimensions, in km from the center of the earth."""
        latitude, longitude = np.radians(self.degrees).T
        around = np.cos(latitude)
        points = np.stack(
            [around * np.cos(longitude), around * np.sin(longitude), np.sin(latitude)], axis=1
        )
        several = {CITY: "cities", COUNTRY: "countries"}[self.kind]
        name = f"the globe, with {len(self.names):,} {several} of GeoNames"
        return Space(name, self.names, (RADIUS * points).astype(np.float32))

    def find(self, name: str, country: str | None = None) -> int | None:
        """The number of the place of that name, in one country or anywhere."""
        found = self._by_name.get(fold(name), ())
        return next((one for one in found if country in (None, self.countries[one])), None)

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        """Places by folded name: first those with the name, then those that are also called so."""
        table: dict[str, list[int]] = {}
        for number, name in enumerate(self.names):
            table.setdefault(fold(name), []).append(number)
        for number, also in enumerate(self.others):
            for name in also:
                table.setdefault(fold(name), []).append(number)
        return table


def fold(name: str) -> str:
    """A name as it is looked up.

    >>> fold(" São Paulo "), fold("Villeneuve-d’Ascq"), fold("ŁÓDŹ")
    ('sao paulo', 'villeneuve d ascq', 'lodz')
    """
    if name.isascii() and name.replace(" ", "").isalpha():
        return " ".join(name.lower().split())
    apart = unicodedata.normalize("NFKD", name).casefold()
    apart = unicodedata.normalize("NFKD", apart).casefold()
    letters = "".join(one for one in apart if not unicodedata.combining(one))
    shown = "".join(one if one.isalnum() else " " for one in letters.translate(_LETTERS))
    return " ".join(shown.split())


@cache
def gazetteer(kind: str) -> Gazetteer:
    """All places of a kind, read once.

    >>> cities = gazetteer("city")
    >>> cities.names[cities.find("LONDRES")], cities.find("Narnia")
    ('London', None)
    """
    rows = [line.split("\t") for line in _lines() if KINDS[line[0]] == kind]
    return Gazetteer(
        kind=kind,
        names=tuple(row[1] for row in rows),
        countries=tuple(row[2] for row in rows),
        degrees=np.array([[int(row[3]), int(row[4])] for row in rows]) / 100,
        others=tuple(tuple(row[5].split("|")) if len(row) > 5 else () for row in rows),
    )


@cache
def _lines() -> tuple[str, ...]:
    packed = files("sfumato.mechanisms").joinpath("data", "places.txt.gz").read_bytes()
    return tuple(gzip.decompress(packed).decode().splitlines())
