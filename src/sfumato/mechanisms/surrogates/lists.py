"""The public lists that surrogates are drawn from, one file for each language.

They hold common names, streets, towns with the beginnings of their postcodes, words of companies,
months and peoples. Nobody's data went into them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from sfumato.core.errors import InvalidArgument

# The country that a language stands for unless one is chosen, and the language of each country.
COUNTRY_OF = {"en": "US", "de": "DE", "es": "ES", "fr": "FR"}
LANGUAGE_OF = {"US": "en", "GB": "en", "DE": "de", "ES": "es", "FR": "fr"}
LANGUAGES, COUNTRIES = tuple(COUNTRY_OF), tuple(LANGUAGE_OF)


@dataclass(frozen=True)
class Lists:
    """The lists of one language, by the titles in its file."""

    entries: dict[str, tuple[str, ...]]

    def __getitem__(self, title: str) -> tuple[str, ...]:
        return self.entries[title]

    def given(self, gender: str = "") -> tuple[str, ...]:
        """Given names: ``f`` for women's, ``m`` for men's, all of them otherwise."""
        if gender:
            return self.entries["female" if gender == "f" else "male"]
        return self.entries["given"]


@dataclass(frozen=True)
class Local:
    """Whose names and whose numbers: a language, and a country for all that has a national form."""

    language: str
    country: str

    @classmethod
    def of(cls, language: str, country: str = "") -> Local:
        """The language, or English if there are no lists for it; its country if none is chosen."""
        known = language.lower().partition("-")[0]
        known = known if known in COUNTRY_OF else "en"
        return cls(known, country or COUNTRY_OF[known])

    @property
    def words(self) -> Lists:
        """Names and words of the language."""
        return read_lists(self.language)

    @property
    def land(self) -> Lists:
        """Streets, towns and companies of the country."""
        return read_lists(LANGUAGE_OF[self.country])


def check_local(language: str, country: str) -> None:
    """Refuse a language or country for which there are no lists."""
    for name, value, known in (
        ("language", language, LANGUAGES),
        ("country", country, COUNTRIES),
    ):
        if value and value not in known:
            raise InvalidArgument(f"{name}={value!r} must be one of {', '.join(known)}")


@cache
def read_lists(language: str) -> Lists:
    """The lists of a language that is known."""
    text = files(__package__).joinpath("data", f"{language}.txt").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in text.splitlines():
        if line.startswith("["):
            entries = found.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            entries.extend(one.strip() for one in line.split(",") if one.strip())
    lists = {title: tuple(dict.fromkeys(listed)) for title, listed in found.items()}
    lists["given"] = tuple(dict.fromkeys((*lists["female"], *lists["male"])))
    return Lists(lists)
