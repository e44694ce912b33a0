"""The same surrogate for the same entity, within a document or under a key.

Guarantee
    What comes out depends on the forms and on which values, and which words of names, are equal to
    each other, and on nothing else of the originals: rename them one to one, and within a document
    the same comes out from the same draws. Under a key the same holds for whoever does not have it,
    as far as HMAC-SHA256 is pseudorandom.

Why it holds
    Within a document every new value takes a new draw, in reading order, and every equal one what
    was drawn before. Under a key a draw belongs to the kind and the value. Roles (given or family
    name), and which initial belongs to which name, follow from shapes and from equality alone; no
    word is looked up in a list.

What does not hold
    Nothing is understood. "Liz" and "Elizabeth" are two words, and two people of one name are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sfumato.core.keys import Key
from sfumato.mechanisms.pseudonym import normalize_entity
from sfumato.mechanisms.surrogates.chance import Chance
from sfumato.mechanisms.surrogates.codes import draw
from sfumato.mechanisms.surrogates.form import Form
from sfumato.mechanisms.surrogates.lists import Local
from sfumato.mechanisms.surrogates.names import FAMILY, GIVEN, INITIAL, INITIALS, Name, pool

# Written with other separators, these are still the same.
_BY_CHARACTERS = frozenset((
    "PHONE", "CREDIT_CARD", "CVV", "IBAN", "US_SSN", "NATIONAL_ID", "PASSPORT", "TAX_ID",
    "ACCOUNT", "MEDICAL_RECORD", "LICENSE_PLATE", "POSTCODE", "CODE",
))  # fmt: skip
_TRIES = 20


def entity_of(kind: str, text: str) -> str:
    """What makes two originals the same entity.

    >>> entity_of("PHONE", "(020) 7946-0958") == entity_of("PHONE", "020 7946 0958")
    True
    """
    entity = normalize_entity(text)
    if kind in _BY_CHARACTERS:
        return "".join(one for one in entity if one.isalnum()) or entity
    return entity


class Memory(Protocol):
    """What has been drawn for an entity, or will be."""

    def word(self, role: str, word: str, options: Sequence[str]) -> str:
        """What stands for a word of a name in a role."""
        ...

    def value(self, form: Form, entity: str, pattern: str) -> str:
        """What stands for any other value."""
        ...

    def gender(self, gender: str) -> str:
        """The gender whose names are drawn from, given the one that titles show."""
        ...


@dataclass(frozen=True)
class WithinDocument:
    """New draws for new entities; two entities have two surrogates as long as there are any."""

    chance: Chance
    words: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)
    values: dict[tuple[Form, str], str] = field(default_factory=dict, repr=False)
    taken: set[str] = field(default_factory=set, repr=False)

    def word(self, role: str, word: str, options: Sequence[str]) -> str:
        """What was drawn for the word before, or one of the options that are left."""
        if (role, word) not in self.words:
            left = [one for one in options if one not in self.taken] or options
            self.words[role, word] = self.chance.pick(left)
            if role != INITIAL:
                self.taken.add(self.words[role, word])
        return self.words[role, word]

    def value(self, form: Form, entity: str, pattern: str) -> str:
        """What was drawn for the entity before, or a draw that no other one has."""
        if (form, entity) not in self.values:
            drawn = ""
            for _ in range(_TRIES):
                drawn = draw(form, self.chance, pattern)
                if drawn not in self.taken:
                    break
            self.taken.add(drawn)
            self.values[form, entity] = drawn
        return self.values[form, entity]

    def gender(self, gender: str) -> str:
        """As titles show it."""
        return gender


@dataclass(frozen=True)
class UnderKey:
    """Draws that belong to an entity under a key, wherever it stands."""

    key: Key = field(repr=False)

    def word(self, role: str, word: str, options: Sequence[str]) -> str:
        """What belongs to the word in this role."""
        return Chance.keyed(self.key, "name", role, word).pick(options)

    def value(self, form: Form, entity: str, pattern: str) -> str:
        """What belongs to the entity of this kind."""
        return draw(form, Chance.keyed(self.key, "value", form.kind, entity), pattern)

    def gender(self, gender: str) -> str:  # noqa: ARG002
        """No gender: another document may have no title, and must have the same name."""
        return ""


def rename(people: Sequence[tuple[Name, Local]], memory: Memory) -> list[str]:
    """The names of one document, the same word in the same role always replaced alike."""
    mentions = [_Mention(name, local, name.shape.roles(local.language)) for name, local in people]
    links = _Links.of(mentions)
    settled = [links.settle(one) for one in mentions]
    return [
        one.name.shape.write([links.write(one, place, memory) for place in range(len(one.roles))])
        for one in settled
    ]


@dataclass(frozen=True)
class _Mention:
    name: Name = field(repr=False)
    local: Local
    roles: tuple[str, ...]

    def words(self, role: str) -> list[str]:
        """The words in a role that are spelled out."""
        parts = zip(self.name.words, self.name.shape.parts, self.roles, strict=True)
        return [word for word, initial, own in parts if own == role and not initial]


@dataclass(frozen=True)
class _Links:
    """What the fuller names of a document tell about the shorter ones, by equality alone."""

    roles: dict[str, list[str]] = field(default_factory=dict)
    others: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    genders: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, mentions: Sequence[_Mention]) -> _Links:
        links = cls()
        for one in mentions:
            if len(one.roles) > 1:
                links._learn(one)
        for one in mentions:
            links._learn_gender(links.settle(one))
        return links

    def _learn(self, one: _Mention) -> None:
        given, family = one.words(GIVEN), one.words(FAMILY)
        for role, words, beside in ((GIVEN, given, family), (FAMILY, family, given)):
            for word in words:
                self.roles.setdefault(word, []).append(role)
                self.others.setdefault((role, word), {}).update(dict.fromkeys(beside[:1]))

    def _learn_gender(self, one: _Mention) -> None:
        gender = one.name.shape.gender
        if not gender:
            return
        for word in one.words(GIVEN):
            self.genders.setdefault(word, gender)
        for family in one.words(FAMILY):
            known = self.others.get((FAMILY, family), {})
            if len(known) == 1:
                self.genders.setdefault(next(iter(known)), gender)

    def settle(self, one: _Mention) -> _Mention:
        """A word that stands alone takes the role that it has in a fuller name."""
        if len(one.roles) > 1:
            return one
        known = self.roles.get(one.name.words[0], [])
        if not known or one.roles[0] in known:
            return one
        return _Mention(one.name, one.local, (known[0],))

    def write(self, one: _Mention, place: int, memory: Memory) -> str:
        """What stands for one word of a name."""
        word, role = one.name.words[place], one.roles[place]
        if not one.name.shape.parts[place]:
            return self._spell(role, word, one.local, memory)
        beside = one.words(FAMILY if role == GIVEN else GIVEN)
        known = self.others.get((FAMILY if role == GIVEN else GIVEN, beside[0])) if beside else None
        if known:
            return f"{self._spell(role, next(iter(known)), one.local, memory)[0]}."
        return f"{memory.word(INITIAL, ' '.join((word, *beside)), INITIALS)}."

    def _spell(self, role: str, word: str, local: Local, memory: Memory) -> str:
        gender = memory.gender(self.genders.get(word, "")) if role == GIVEN else ""
        return memory.word(role, word, pool(role, local.words, gender))
