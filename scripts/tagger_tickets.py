"""Invented tickets in four languages, for training the tagger of ``pii``.

Sentences come from ``ticket_templates.txt``; given names and surnames from the list of the package
and from Faker (MIT), places from GeoNames (CC BY 4.0) as the gazetteer of the package holds them.
"""

from __future__ import annotations

import gzip
import random
import re
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

from sfumato.policies.pii.names import list_names

LANGUAGES = ("en", "de", "es", "fr")
_LOCALES = {
    "en": ("en_US", "en_GB", "en_IN", "en_NG"),
    "de": ("de_DE", "de_AT", "de_CH"),
    "es": ("es_ES", "es_MX", "es_AR", "es_CO"),
    "fr": ("fr_FR", "fr_CH", "fr_CA", "fr_BE"),
    "other": (
        *("it_IT", "nl_NL", "pl_PL", "pt_PT", "pt_BR", "tr_TR", "sv_SE", "da_DK", "no_NO"),
        *("fi_FI", "cs_CZ", "ro_RO", "hu_HU", "hr_HR", "yo_NG", "en_KE", "tw_GH", "zu_ZA"),
    ),
}
_COUNTRIES = {"en": ("US", "GB", "IE", "CA", "AU"), "de": ("DE", "AT", "CH"),
              "es": ("ES", "MX", "AR", "CO"), "fr": ("FR", "BE", "CH", "CA")}  # fmt: skip

_SMALL_WORDS = {
    "de": "von/von der/zu/Von",
    "es": "de la/de/del/De la/De",
    "fr": "de/Le/du/De/La/d'",
    "en": "van der/Al/Van/De/Mc/St./O'/al",
    "other": "van/van den/Van der/da/Di/De/dos/Al/al-/El/bin/Ben",
}
_LISTS = {"{D}": "things", "{A}": "abbreviations", "{U}": "units", "{W}": "days"}
_LOCAL = """
Deutschland Österreich Schweiz Frankreich Spanien Italien Bayern Sachsen Hessen
España Francia Alemania Italia Suiza Cataluña Andalucía Galicia México Inglaterra
France Allemagne Espagne Italie Suisse Bretagne Normandie Alsace Belgique
München Köln Nürnberg Wien Zürich Genf Mailand Rom Londres París Múnich Bruxelles
"""


@dataclass(frozen=True)
class Places:
    """Names of towns by language, and of countries and states."""

    towns: dict[str, list[str]]
    countries: list[str]


@dataclass
class Written:
    """A text that grows, with the names in it."""

    text: str = ""
    spans: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, text: str, label: str | None = None) -> None:
        """Write on."""
        start = len(self.text)
        self.text += text
        if label:
            self.spans.append((start, len(self.text), label))


def read_templates() -> dict[str, list[str]]:
    """The sentences of each section."""
    found: dict[str, list[str]] = {}
    entries: list[str] = []
    path = Path(__file__).with_name("ticket_templates.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            entries = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            entries.append(line)
    for lists in ("things", "abbreviations", "units", "days"):
        found[lists] = " ".join(found[lists]).split()
    return found


@cache
def names_of(language: str) -> tuple[list[str], list[str]]:
    """Given names and surnames of a language, in Latin letters."""
    given: set[str] = set()
    last: set[str] = set()
    for locale in _LOCALES[language]:
        provider = import_module(f"faker.providers.person.{locale}").Provider
        for attribute in dir(provider):
            if attribute.startswith("first_name") and "format" not in attribute:
                given.update(_words(getattr(provider, attribute)))
            elif attribute.startswith("last_name") and "format" not in attribute:
                last.update(_words(getattr(provider, attribute)))
    names = list_names()
    if language in ("en", "other"):
        given.update(name.capitalize() for name in names.alone)
    if language == "en":
        last.update(name.capitalize() for name in names.surnames)
    return sorted(given), sorted(last)


def _words(names: object) -> list[str]:
    if not isinstance(names, tuple | list | dict):
        return []
    return [
        name for name in names
        if isinstance(name, str) and re.fullmatch(r"[A-ZÀ-ÞŁŚŻČŠŽ][\w'\- ]{1,20}", name)
    ]  # fmt: skip


def read_places(path: Path) -> Places:
    """Towns and countries from the gazetteer of the package, and the states of the US."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        lines = [line.split("\t")[:3] for line in stream]
    cities = [(name, country) for kind, name, country in lines if kind == "c"]
    towns = {
        language: [name for name, country in cities if country in countries][:1500]
        for language, countries in _COUNTRIES.items()
    }
    towns["other"] = [name for name, _ in cities][:6000]
    known = sorted({name for kind, name, _ in lines if kind == "n"})
    return Places(towns, known + read_templates()["states"] + _LOCAL.split())


@dataclass
class Tickets:
    """Makes tickets, each of another language and mood."""

    places: Places
    draw: random.Random
    templates: dict[str, list[str]] = field(default_factory=read_templates)

    def ticket(self) -> Written:
        """A greeting, some sentences, a closing; each may be missing."""
        language = self.draw.choice(LANGUAGES)
        parts = []
        if self.draw.random() < 0.4:
            parts.append(self.draw.choice(self.templates[f"{language} greeting"]))
        for _ in range(self.draw.choice((1, 1, 2, 2, 3))):
            kind = self.draw.choices(("body", "plain", "note"), (0.5, 0.25, 0.25))[0]
            section = "note" if kind == "note" else f"{language} {kind}"
            parts.append(self.draw.choice(self.templates[section]))
        if self.draw.random() < 0.35:
            parts.append(self.draw.choice(self.templates[f"{language} closing"]))
        written = Written()
        for number, part in enumerate(parts):
            if number:
                written.add(self.draw.choice((" ", " ", "\n", "\n\n", ". ", ", ", "  ")))
            self.write(written, part, language)
        return written

    def write(self, written: Written, template: str, language: str) -> None:
        """A sentence with its braces filled."""
        template = template.replace("\\t", "\t").replace("\\n", "\n")
        if self.draw.random() < 0.15:
            template = template.rstrip(".!?,")
        # Faker has few names of some languages; a colleague or customer may come from anywhere.
        origin = language if self.draw.random() < 0.7 else self.draw.choice((*LANGUAGES, "other"))
        for piece in re.split(r"(\{[A-Z]\})", template):
            match piece:
                case "{P}":
                    written.add(self.full_name(origin), "PERSON")
                case "{F}":
                    written.add(self.given(origin), "PERSON")
                case "{L}":
                    self.add_surname(written, origin)
                case "{C}":
                    written.add(self.place(origin), "LOCATION")
                case "{O}":
                    written.add(self.organization(origin), "ORG")
                case "{N}":
                    written.add(self.number())
                case "{D}" | "{A}" | "{U}" | "{W}":
                    written.add(self.draw.choice(self.templates[_LISTS[piece]]))
                case _:
                    written.add(piece)

    def add_surname(self, written: Written, origin: str) -> None:
        """A surname, as part of the given name before it if there is one."""
        follows = written.spans and written.spans[-1][1] == len(written.text) - 1
        if follows and written.text.endswith(" ") and written.spans[-1][2] == "PERSON":
            start = written.spans.pop()[0]
            written.add(self.surname(origin))
            written.spans.append((start, len(written.text), "PERSON"))
        else:
            written.add(self.surname(origin), "PERSON")

    def given(self, origin: str) -> str:
        """A given name."""
        name = self.draw.choice(names_of(origin)[0])
        if self.draw.random() < 0.04:
            name = f"{name}-{self.draw.choice(names_of(origin)[0])}"
        return name

    def surname(self, origin: str) -> str:
        """A surname, sometimes double or with a small word before it."""
        name = self.draw.choice(names_of(origin)[1] or names_of("en")[1])
        chance = self.draw.random()
        if chance < 0.05:
            name = f"{name}-{self.draw.choice(names_of(origin)[1])}"
        elif chance < 0.10:
            small = self.draw.choice(_SMALL_WORDS.get(origin, _SMALL_WORDS["other"]).split("/"))
            name = small + ("" if small[-1] in "'-c" else " ") + name
        elif origin == "es" and chance < 0.4:
            name = f"{name} {self.draw.choice(names_of(origin)[1])}"
        return name

    def full_name(self, origin: str) -> str:
        """A name in one of the ways in which people write it."""
        given, surname, chance = self.given(origin), self.surname(origin), self.draw.random()
        name = f"{given} {surname}"
        if chance < 0.05:
            name = f"{surname}, {given}"
        elif chance < 0.10:
            name = f"{given[0]}. {surname}"
        elif chance < 0.15:
            name = f"{given} {self.draw.choice('ABCDEFGHJKLMPRSTW')}. {surname}"
        elif chance < 0.19:
            name = f"{given} {surname[0]}."
        elif chance < 0.22:
            name = f"{given} {self.given(origin)} {surname}"
        elif chance < 0.25:
            name = f"{given} {surname.upper()}"
        return name

    def place(self, origin: str) -> str:
        """A town, or rarely a country or state."""
        if self.draw.random() < 0.2:
            return self.draw.choice(self.places.countries)
        return self.draw.choice(self.places.towns[origin if self.draw.random() < 0.6 else "other"])

    def organization(self, origin: str) -> str:
        """A known one, an invented company, or an institution of some town."""
        chance = self.draw.random()
        if chance < 0.4:
            return self.draw.choice(self.templates["organizations"])
        if chance < 0.7:
            end = self.draw.choice(self.templates["company ends"])
            start = self.surname(origin)
            if self.draw.random() < 0.3:
                start = self.draw.choice(
                    (
                        "Nord",
                        "Alpha",
                        "Blue",
                        "Medi",
                        "Euro",
                        "Inter",
                        "Sol",
                        "Green",
                        "Data",
                        "Log",
                    )
                ) + self.draw.choice(("tec", "plan", "net", "soft", "haus", "line", "fix", "zen"))
            return f"{start} {end}"
        template = self.draw.choice(self.templates["institutions"])
        return template.replace("{C}", self.place(origin)).replace("{L}", self.surname(origin))

    def number(self) -> str:
        """A number or code."""
        digits = "".join(self.draw.choice("0123456789") for _ in range(self.draw.randint(4, 9)))
        return self.draw.choice(("", "#", "A-", "+49 ", "DE", "order-", "")) + digits


def extra_lists(places: Places) -> dict[str, set[str]]:
    """Words of given names, surnames and places, in small letters, for the lists of rare words."""
    ordinary = list_names().words
    given, last, place = set[str](), set[str](), set[str]()
    for language in _LOCALES:
        names, surnames = names_of(language)
        given.update(word.lower() for name in names for word in re.split(r"[ '\-]", name))
        last.update(word.lower() for name in surnames for word in re.split(r"[ '\-]", name))
    for towns in (*places.towns.values(), places.countries):
        place.update(word.lower() for name in towns for word in re.split(r"[ '\-]", name))
    return {
        key: {word for word in words if len(word) > 2 and word not in ordinary}
        for key, words in (("given", given), ("surname", last), ("place", place))
    }


__all__ = ["Places", "Tickets", "Written", "extra_lists", "read_places"]
