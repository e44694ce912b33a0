"""A mechanism for each type of thing: names become other names, dates other dates.

Guarantee
    The statement of each mechanism, for what was found as its type; ``guarantees.parts`` says how
    such statements compose. A stretch takes the type of the span that names it
    (``text.span.stretches``).

Why it holds
    Which mechanism treats a place follows from its type (its label, or the kind of thing that
    ``core.kinds`` says the label means), and texts whose places have different
    types are not compared. Every mechanism draws for itself.

What does not hold
    The type of each replaced place counts as public. A type without a mechanism of its own goes to
    ``otherwise``, so nothing that a policy finds is left as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from sfumato.core.errors import InvalidArgument
from sfumato.core.kinds import kind_of
from sfumato.guarantees.guarantee import Guarantee, Part
from sfumato.guarantees.parts import by_type
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.mechanism import Mechanism, StretchMechanism
from sfumato.mechanisms.redact import TYPE_LEAK, Redact
from sfumato.policies.identity import Identity

LANGUAGE_LEAK = "the language of each document"
MASK = Redact()


def key_of_type(label: str) -> str:
    """What a label is looked up by: DATE and DATE_OF_BIRTH are one kind of thing.

    >>> key_of_type("DATE_OF_BIRTH"), key_of_type("WORK_OF_ART")
    ('DATE_TIME', 'WORK_OF_ART')
    """
    return kind_of(label) or label


@dataclass(frozen=True, kw_only=True)
class ByType:
    """Pairs of a type and the mechanism for it, and the mechanism for all other types.

    ``language`` is the one that the word mechanisms know, if they know just one: the words of a
    document in another language are masked, because a word of the wrong language would not be
    a replacement. ``by_language`` has a word mechanism for each further language, which stands in
    the place of ``otherwise`` for documents in it.

    >>> from sfumato.mechanisms.pseudonym import Pseudonym
    >>> from sfumato.mechanisms.redact import Redact
    >>> table = ByType(parts=(("PERSON", Pseudonym()),), otherwise=Redact())
    >>> table.route("PERSON") is table.route("EMAIL")
    False
    """

    parts: tuple[tuple[str, Mechanism | StretchMechanism], ...]
    otherwise: Mechanism | StretchMechanism
    language: str = ""
    by_language: tuple[tuple[str, Mechanism], ...] = ()

    def __post_init__(self) -> None:
        named: dict[str, str] = {}
        for label, _ in self.parts:
            if key_of_type(label) in named:
                raise InvalidArgument(
                    f"{named[key_of_type(label)]} and {label} are one type, and it has two "
                    "mechanisms; give it one"
                )
            named[key_of_type(label)] = label
        if any(isinstance(one, ByType) for one in self.mechanisms()):
            raise InvalidArgument("a table of mechanisms by type must not hold another one")
        languages = [language for language, _ in self.by_language]
        if len({self.language, *languages}) <= len(languages) or "" in languages:
            raise InvalidArgument("a language has two word mechanisms, or one has no name")

    def route(self, label: str, language: str = "") -> Mechanism | StretchMechanism:
        """The mechanism for what was found as ``label`` in a document of that language."""
        found = self._table.get(key_of_type(label), self.otherwise)
        if found is self.otherwise and language in self._spoken:
            return self._spoken[language]
        foreign = self.language and language and language != self.language
        return MASK if foreign and not isinstance(found, StretchMechanism) else found

    @property
    def reads_language(self) -> bool:
        """Whether what replaces a word depends on the language of its document."""
        return bool(self.language or self.by_language)

    @cached_property
    def _table(self) -> dict[str, Mechanism | StretchMechanism]:
        return {key_of_type(label): one for label, one in self.parts}

    @cached_property
    def _spoken(self) -> dict[str, Mechanism]:
        return dict(self.by_language)

    def routes(self) -> Iterator[Mechanism | StretchMechanism]:
        """Every mechanism that ``route`` can give, once: a place must not be replaced twice."""
        every = (*self.mechanisms(), *self._spoken.values(), MASK)
        yield from {id(one): one for one in every}.values()

    def places(self) -> dict[int, int]:
        """Which part of the guarantee speaks of each mechanism (by ``id``).

        Words have one part, whatever their language; a mask for words of a language without vectors
        has none, being below every level.
        """
        order = {id(one): place for place, one in enumerate(self.mechanisms())}
        return order | {id(one): order[id(self.otherwise)] for one in self._spoken.values()}

    def mechanisms(self) -> Iterator[Mechanism | StretchMechanism]:
        """Each mechanism once, that for all other types last."""
        seen: set[int] = {id(self.otherwise)}
        for _, one in self.parts:
            if id(one) not in seen:
                seen.add(id(one))
                yield one
        yield self.otherwise

    def treated(
        self, types: Collection[str]
    ) -> Iterator[tuple[Mechanism | StretchMechanism, tuple[str, ...]]]:
        """Each mechanism with its types, or only those that treat some of ``types``."""
        if not types:
            yield from ((one, self.types_of(one)) for one in self.mechanisms())
            return
        for one in self.mechanisms():
            mine = tuple(sorted(label for label in types if self.route(label) is one))
            if mine:
                yield one, mine

    def types_of(self, mechanism: Mechanism | StretchMechanism) -> tuple[str, ...]:
        """The types that go to a mechanism; none for the one that takes all others."""
        if mechanism is self.otherwise:
            return ()
        return tuple(label for label, one in self.parts if one is mechanism)

    def statement(self, mechanism: Mechanism | StretchMechanism) -> Guarantee:
        """What is proven of a mechanism of the table; of words, in each of their languages."""
        stated = mechanism.guarantee()
        if mechanism is not self.otherwise or not self.by_language:
            return stated
        others = [(language, one.guarantee()) for language, one in self.by_language]
        every = [(self.language or "any other", stated), *others]
        told = "; ".join(f"{language}: {one.metric}" for language, one in every)
        stated = replace(
            stated,
            # Which language a document is in is public, so the worst of them holds for all.
            epsilon=max(one.epsilon for _, one in every),
            metric=f"in the vectors of the document's language ({told})",
            about=tuple(thing for _, one in every for thing in one.about),
        )
        for _, one in others:
            stated = stated.leaking(*one.leaks).not_covering(*one.uncovered)
        return stated

    def guarantee(self) -> Guarantee:
        """One statement for each mechanism; the types of all places show.

        A mask in the place of a word of another language keeps to any statement about words.
        """
        parts = (Part(self.types_of(one), self.statement(one)) for one in self.mechanisms())
        stated = by_type(parts).leaking(TYPE_LEAK)
        return stated.leaking(LANGUAGE_LEAK) if self.reads_language else stated

    def identity(self) -> Identity | None:
        """The types and their mechanisms: as private as these are, for types stand in the open."""
        every = (*self.parts, ("", self.otherwise), *self.by_language)
        found = [mechanism_identity(one) for _, one in every]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        labels = tuple(label for label, _ in self.parts)
        languages = tuple(language for language, _ in self.by_language)
        parts = ("ByType", self.language, languages, labels, *(one.parts for one in known))
        return Identity(parts, any(one.private for one in known))

    def exchange(self, new: dict[int, Mechanism | StretchMechanism]) -> ByType:
        """The same table with other mechanisms in the places of some (by ``id``)."""
        parts = tuple((label, new.get(id(one), one)) for label, one in self.parts)
        return replace(self, parts=parts, otherwise=new.get(id(self.otherwise), self.otherwise))
