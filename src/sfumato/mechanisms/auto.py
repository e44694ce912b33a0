"""The table of mechanisms that suits most text: names for names, dates for dates.

Guarantee
    That of a table by type (``mechanisms.by_type``): for each type the statement of its mechanism.
    Names, contact data, identifiers and codes are replaced by surrogates, which do not look at the
    original. Dates, places and numbers are moved at a level of their own unit. All other words
    that a policy selects go through a word mechanism at the given epsilon; where there is none,
    they are masked.

Why it holds
    The table is public and fixed before any text is read.

What does not hold
    A document in a language that the word vectors do not hold has its other words masked, so the
    language of a document shows.

Care
    The levels for dates (0.1 per day: at most e times likelier for dates ten days apart), places
    (0.02 per km: at most e times for places 50 km apart), numbers (0.1 per percent) and ages (0.2
    per year) are starting points, not recommendations. Choose them for the question that must not
    be answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Any

from sfumato.catalog import find
from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.core.kinds import KINDS, kind_of
from sfumato.core.settings import FileToRead, configure
from sfumato.mechanisms.build import replaces_stretches
from sfumato.mechanisms.by_type import ByType, key_of_type
from sfumato.mechanisms.mechanism import Mechanism, StretchMechanism
from sfumato.mechanisms.redact import Redact

OTHER = "OTHER"
WORDS = "laplace"  # what treats the words without a type, once there is a level
# Kinds with a distance of their own; a number without a type may be an identifier.
_METRIC = {
    "AGE": "age",
    "DATE_TIME": "date",
    "LOCATION": "place",
    "MONEY": "number",
    "PERCENT": "number",
    "QUANTITY": "number",
}
_NAMES = {"age": "number"}
_WITHOUT_A_TYPE = ("NUMBER",)


@dataclass(frozen=True, kw_only=True)
class Auto:
    """The settings of the table; ``table`` makes it.

    ``consistent`` says how far the same entity keeps its surrogate: "no", "document" or "corpus".
    ``keep`` says what of the form of an original stays ("format", "domain", "country").
    ``language`` is that of the surrogates where a document does not tell. The levels are
    per day, per km, per percent and per year.
    """

    consistent: str = "document"
    keep: tuple[str, ...] = ()
    language: str = ""
    date_epsilon: float = 0.1
    place_epsilon: float = 0.02
    number_epsilon: float = 0.1
    age_epsilon: float = 0.2
    key_file: FileToRead | None = field(default=None, repr=False)

    def table(
        self, words: Mapping[str, Mechanism], changes: Mapping[str, object] | None = None
    ) -> ByType:
        """The table, with ``words`` for everything without a type and ``changes`` by type.

        ``words`` has a mechanism for each language, or one for "", which is any. The first is also
        for documents whose language is not known; without any, words are masked.
        """
        settings: dict[str, Mapping[str, object]] = {
            "surrogate": {
                "consistent": self.consistent,
                "keep": self.keep,
                "language": self.language,
                **({"key_file": self.key_file} if self.key_file else {}),
            },
            "date": {"epsilon": self.date_epsilon},
            "place": {"epsilon": self.place_epsilon},
            "number": {"epsilon": self.number_epsilon, "scale": "relative"},
            "age": {"epsilon": self.age_epsilon, "high": 120.0},
        }
        made = {name: _make(_NAMES.get(name, name), own) for name, own in settings.items()}
        parts = {
            kind: made[_METRIC.get(kind, "surrogate")]
            for kind in KINDS
            if kind not in _WITHOUT_A_TYPE
        }
        (language, first), *others = words.items() or [("", None)]
        table = ByType(
            parts=tuple(parts.items()),
            otherwise=first or Redact(),
            language=language,
            by_language=tuple((code, one) for code, one in others if one is not None),
        )
        return change(table, changes or {}, Given(settings, made))


@dataclass(frozen=True)
class Given:
    """What a mechanism is made with, by name, unless a type asks for something else."""

    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    made: Mapping[str, StretchMechanism] = field(default_factory=dict)

    def make(self, label: str, name: str, own: Mapping[str, object]) -> StretchMechanism:
        """The mechanism of that name for a type: that of the table, changed where it is asked."""
        entry = _METRIC.get(kind_of(label), name)
        entry = entry if _NAMES.get(entry, entry) == name else name
        if entry in self.made and not own:
            return self.made[entry]
        settings = {**self.settings.get(entry, {}), **own}
        if "consistent" in own and own["consistent"] != "corpus" and "key_file" not in own:
            settings.pop("key_file", None)  # nothing else has a key
        return _make(name, settings)


def change(table: ByType, changes: Mapping[str, object], given: Given | None = None) -> ByType:
    """The table with other mechanisms for some types: names with settings, or objects.

    Of a mechanism by its name, the settings that are not said are those that ``given`` has.

    >>> found = change(ByType(parts=(), otherwise=Redact()), {"PERSON": "redact"})
    >>> [label for label, _ in found.parts]
    ['PERSON']
    """
    parts = dict(table.parts)
    made: dict[object, Mechanism | StretchMechanism] = {}
    asked: dict[str, str] = {}
    for label, wanted in changes.items():
        kind = key_of_type(label)
        if kind in asked:
            raise InvalidArgument(
                f"{asked[kind]} and {label} are names of one type; give it one mechanism"
            )
        asked[kind] = label
        # Equal wishes share a mechanism, unless the table has two for the name (ages, amounts).
        entry = _METRIC.get(kind, "") if isinstance(wanted, str) else ""
        key = (wanted, entry) if isinstance(wanted, str) else id(wanted)
        mechanism = made.setdefault(key, _read(label, wanted, given or Given()))
        if label == OTHER:
            # One for all that has no type, in whatever language.
            table = replace(table, otherwise=mechanism, language="", by_language=())
        else:
            parts[kind] = mechanism
    return replace(table, parts=tuple(parts.items()))


def _read(label: str, wanted: object, given: Given) -> Mechanism | StretchMechanism:
    """``NAME`` or ``NAME:KEY=VALUE:KEY=VALUE``, or a mechanism."""
    if not label or not label.replace("_", "").replace("-", "").isalnum():
        raise InvalidArgument(f"{label!r} is not a type; types look like PERSON or DATE")
    if not isinstance(wanted, str):
        if isinstance(wanted, Mechanism | StretchMechanism):
            return wanted
        raise InvalidArgument(f"the mechanism for {label} must be a name or a mechanism")
    name, *settings = wanted.split(":")
    pairs = [one.partition("=") for one in settings]
    if not all(equals for _, equals, _ in pairs):
        raise InvalidArgument(
            f"{label}={wanted}: settings are written NAME:KEY=VALUE, several with colons between"
        )
    try:
        return given.make(label, name, {key: value for key, _, value in pairs})
    except SfumatoError as error:
        raise InvalidArgument(f"{label}: {error}") from None


def _make(name: str, settings: Mapping[str, object]) -> StretchMechanism:
    if name == "auto" or not replaces_stretches(name):
        raise InvalidArgument(
            f"{name!r} does not replace whole stretches; by type there are surrogate, redact, "
            "pseudonym, date, place and number, and word mechanisms for everything else"
        )
    component = find("mechanisms", name).load()
    missing = [one for one in _needed(component) if one not in settings]
    if missing:
        raise InvalidArgument(f"{name!r} needs {missing[0]}: write {name}:{missing[0]}=VALUE")
    made: StretchMechanism = configure(component, settings)
    return made


def _needed(component: type[Any]) -> list[str]:
    """The settings without a default."""
    if not is_dataclass(component):
        return []
    without = (one for one in fields(component) if one.init and one.default is MISSING)
    return [one.name for one in without if one.default_factory is MISSING]
