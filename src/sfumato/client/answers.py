"""What the service answers, as objects. Texts stand in no ``repr``, which ends up in logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.guarantee import Guarantee
from sfumato.text.span import Span

# What the service adds to a guarantee for people to read.
_FOR_READING = ("sentence", "summary")


@dataclass(frozen=True)
class Health:
    """Whether a service runs, and its version."""

    status: str
    version: str


@dataclass(frozen=True)
class MechanismOffer:
    """A mechanism that can be asked for; ``level`` says whether it takes an epsilon.

    ``staying`` are the chances with which public words stay at each level, where they are known.
    """

    name: str
    summary: str
    replaces: str
    level: str
    settings: Mapping[str, Mapping[str, Any]]
    staying: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class PolicyOffer:
    """A policy that can be asked for, and the types that it can be narrowed to."""

    name: str
    summary: str
    types: tuple[str, ...]


@dataclass(frozen=True)
class AccountState:
    """An account as it stands; ``limit`` and ``left`` are None where there is no limit."""

    kind: str
    measure: str
    order: float | None
    limit: float | None
    spent: float
    held: float
    left: float | None
    limit_delta: float
    spent_delta: float
    charges: int
    opened: str
    closed: str | None
    sentence: str

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> AccountState:
        """From JSON."""
        return cls(**{name: given[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Bill:
    """What a release was charged, and its account afterwards."""

    charged: float
    account: AccountState

    @classmethod
    def read(cls, given: Mapping[str, Any] | None) -> Bill | None:
        """From JSON; None where nobody paid."""
        return None if given is None else cls(given["charged"], AccountState.read(given))


@dataclass(frozen=True)
class Released:
    """Texts that were released, what is guaranteed of them, and what they cost.

    ``key`` is the one under which they can be had again for a day; ``repeated`` says that this is
    what happened here.
    """

    texts: tuple[str, ...] = field(repr=False)
    guarantee: Guarantee
    counts: Mapping[str, Any]
    bill: Bill | None
    key: str = field(repr=False)
    repeated: bool = False

    @property
    def text(self) -> str:
        """The only text."""
        if len(self.texts) != 1:
            raise InvalidArgument(f"{len(self.texts)} texts were released: they are in `texts`")
        return self.texts[0]

    @classmethod
    def read(cls, given: Mapping[str, Any], key: str) -> Released:
        """From JSON."""
        text = given["text"]
        return cls(
            (text,) if isinstance(text, str) else _texts(text),
            guarantee(given["guarantee"]),
            given["counts"],
            Bill.read(given["budget"]),
            key,
            given.get("repeated", False),
        )


@dataclass(frozen=True)
class Replacement:
    """What stands at one place of a new text, and the operator that put it there."""

    start: int
    end: int
    label: str
    text: str = field(repr=False)
    operator: str


@dataclass(frozen=True)
class Anonymized:
    """A text with other words at some places, the last place first."""

    text: str = field(repr=False)
    items: tuple[Replacement, ...]
    guarantee: Guarantee
    bill: Bill | None
    key: str = field(repr=False)
    repeated: bool = False

    @classmethod
    def read(cls, given: Mapping[str, Any], key: str) -> Anonymized:
        """From JSON."""
        items = tuple(
            Replacement(one["start"], one["end"], one["entity_type"], one["text"], one["operator"])
            for one in given["items"]
        )
        return cls(
            given["text"],
            items,
            guarantee(given["guarantee"]),
            Bill.read(given["budget"]),
            key,
            given.get("repeated", False),
        )


@dataclass(frozen=True)
class PreviewedWord:
    """A place of a text, why it was selected and what might stand there.

    ``stays`` is the probability that it stays as it is, where that can be said.
    """

    start: int
    end: int
    original: str = field(repr=False)
    replacement: str = field(repr=False)
    label: str
    rule: str
    reason: str
    stays: float | None


@dataclass(frozen=True)
class Preview:
    """What would happen to a text, word by word. It is for its owner, and not for release."""

    text: str = field(repr=False)
    words: tuple[PreviewedWord, ...]
    guarantee: Guarantee

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Preview:
        """From JSON."""
        words = tuple(
            PreviewedWord(
                one["start"],
                one["end"],
                one["original"],
                one["replacement"],
                one["label"],
                one["rule"],
                one["reason"],
                None if one["kept"] is None else one["kept"]["value"],
            )
            for one in given["words"]
        )
        return cls(given["text"], words, guarantee(given["guarantee"]))


def guarantee(given: Mapping[str, Any]) -> Guarantee:
    """A guarantee from JSON; what was added for people to read is made anew by its methods."""
    stated = {name: value for name, value in given.items() if name not in _FOR_READING}
    return Guarantee.from_dict(stated)


def spans(given: Sequence[Mapping[str, Any]]) -> tuple[Span, ...]:
    """What was found in one text, from JSON."""
    return tuple(
        Span(
            one["start"],
            one["end"],
            one["entity_type"],
            one["analysis_explanation"]["recognizer"],
            one["analysis_explanation"]["textual_explanation"],
        )
        for one in given
    )


def _texts(given: Sequence[Any]) -> tuple[str, ...]:
    if not all(isinstance(one, str) for one in given):
        raise TypeError("a text is missing")
    return tuple(given)
