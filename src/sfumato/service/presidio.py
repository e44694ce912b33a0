"""Analyze and anonymize in the shapes of Microsoft Presidio, so that its clients work unchanged.

Under ``/v1`` types have our names (``PHONE``); under Presidio's own paths (``/analyze``) they have
Presidio's (``PHONE_NUMBER``). Requests may use either everywhere.

Care
    Every finding is a decision, so its score is 1. A stretch is widened to whole words and joined
    with those that it touches, where Presidio would leave the rest of a word; if their operators
    differ, all of it gets the one that leaves the least. Releases that are charged to an account of
    a text replace the same places; an author's account trusts that one finder found all of them.
    Patterns of a caller
    (``ad_hoc_recognizers``, ``allow_list_match``) are refused: any pattern can be made to run for
    hours.

Reference
    Presidio's API, https://microsoft.github.io/presidio/api-docs/api-docs.html.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.kinds import kind_of
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.by_type import ByType
from sfumato.mechanisms.mechanism import Mechanism, StretchMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.policies.identity import Identity
from sfumato.policies.pii.detector import TYPES, found_labels
from sfumato.policies.policy import find_each
from sfumato.releases.privatizer import Privatizer
from sfumato.service import operators
from sfumato.service.offers import choose_policy, choose_privatizer, mechanisms
from sfumato.service.problems import Problem
from sfumato.service.queue import Turn
from sfumato.service.releasing import Cashier, Paid, charged, costs, recall, told
from sfumato.service.requests import (
    AnalyzeRequest,
    AnonymizeRequest,
    Choices,
    Operator,
)
from sfumato.text.document import Document
from sfumato.text.edits import Edit
from sfumato.text.span import Span, Spans, Stretch, stretches
from sfumato.text.words import Words

DEFAULT = "DEFAULT"
# Operators that leave nothing of what was found, and those that leave something, most last.
_LEAVES_NOTHING = ("replace", "redact")
_LEAVES = ("hash", "mask", "keep")
# What Presidio calls the kinds that it calls otherwise.
_THEIRS = {
    "EMAIL": "EMAIL_ADDRESS", "PHONE": "PHONE_NUMBER", "IBAN": "IBAN_CODE", "ORG": "ORGANIZATION",
    "ACCOUNT": "US_BANK_NUMBER", "NORP": "NRP",
}  # fmt: skip


def their_name(label: str) -> str:
    """What Presidio calls a type.

    >>> their_name("PHONE"), their_name("PERSON"), their_name("LEXICON")
    ('PHONE_NUMBER', 'PERSON', 'LEXICON')
    """
    return _THEIRS.get(kind_of(label), label)


def analyze(asked: AnalyzeRequest, texts: Sequence[str], *, theirs: bool) -> list[list[Any]]:
    """What is found in each text."""
    if asked.ad_hoc_recognizers or asked.allow_list_match == "regex":
        raise Problem(
            422,
            "InvalidArgument",
            "patterns of a caller are not run; words and phrases go into the field 'lexicon'",
        )
    if any("." not in key for key in asked.settings):
        raise InvalidArgument("settings of policies are those of pii, such as pii.regions")
    policy = choose_policy(asked.policy, asked.lexicon, asked.allow_list or (), asked.settings)
    documents = [Document(text, language=_language(asked.language)) for text in texts]
    wanted = None if asked.entities is None else {_type(one) for one in asked.entities}
    return [
        [
            _result(span, asked, theirs=theirs)
            for span in spans
            if wanted is None or _type(span.label) in wanted
        ]
        for spans in find_each(policy, documents)
    ]


def recognizers() -> list[str]:
    """The recognizers of the policy ``pii``."""
    return list(TYPES)


def supported_entities(*, theirs: bool) -> list[str]:
    """The types that are found."""
    names = found_labels()
    return sorted({their_name(one) for one in names} if theirs else names)


@dataclass(frozen=True)
class Given:
    """The stretches that a caller has found.

    ``fixed`` tells that all releases of an account are of one text. Then they add up only if they
    replace the same places: what one of them leaves as it is, no level of another protects.
    """

    spans: Spans
    fixed: bool = False

    name: ClassVar[str] = "given"

    def find(self, document: Document) -> Spans:  # noqa: ARG002
        """The same for the one text they were found in."""
        return self.spans

    def identity(self) -> Identity:
        """Whoever finds them decides; of that nothing is known here."""
        if not self.fixed:
            return Identity(("given by the caller",))
        places = ";".join(f"{one.start}-{one.end} {one.label}" for one in self.spans)
        return Identity(("given by the caller", places), private=True)


def anonymize(
    asked: AnonymizeRequest, cashier: Cashier, paid: Paid | None, turn: Turn
) -> dict[str, Any]:
    """A new text, with what stands at each place now."""
    named = _Named(asked)
    spans = _joined(asked, named)
    table = _table(asked)
    of_text = asked.account is not None and asked.account.kind == "text"
    selective = Selective(policy=Given(spans, fixed=of_text), mechanism=table)
    stated = selective.guarantee()
    if _draws(asked):
        cashier.check(None if paid is None else paid.account, stated)
    if paid is not None:
        before = recall(cashier.need(), paid, turn)
        if before is not None:
            return before
    made = selective.privatize([Document(asked.text)], Randomness.secure())[0]
    found = stretches(spans, Words.of(asked.text))
    content = {
        "text": made.text,
        "items": _items(made.edited.edits, found, named),
        "guarantee": told(_stated(selective, made.types)),
    }
    return charged(content, stated, [made.drawn], cashier, paid, turn)


@dataclass(frozen=True)
class _Named:
    """Which operator each type has, by the name it was asked for."""

    asked: AnonymizeRequest

    def of(self, label: str) -> str:
        chosen = {_type(key): one.type for key, one in self.asked.anonymizers.items()}
        return chosen.get(_type(label), chosen.get(DEFAULT, "replace"))


def _stated(selective: Selective, types: Iterable[str]) -> Guarantee:
    found = tuple(types)
    return selective.guarantee(None, found) if found else selective.guarantee()


def _given(asked: AnonymizeRequest) -> Spans:
    length = len(asked.text)
    for number, one in enumerate(asked.analyzer_results):
        if not one.start <= one.end <= length:
            raise InvalidArgument(
                f"analyzer_results[{number}] must begin and end inside the text, in this order"
            )
    return Spans.of(
        Span(one.start, one.end, one.entity_type, "given", "found by the caller")
        for one in asked.analyzer_results
    )


def _joined(asked: AnonymizeRequest, named: _Named) -> Spans:
    """What a caller has found; what touches has one type, whose operator leaves the least of it."""
    spans = _given(asked)
    if len({_left_by(named.of(one.label)) for one in spans}) < 2:
        return spans
    return Spans.of(
        replace(
            min(
                (one for one in spans if one.start < part.end and part.start < one.end),
                key=lambda one: (_left_by(named.of(one.label)), one.start, -len(one), one.label),
            ),
            start=part.start,
            end=part.end,
        )
        for part in stretches(spans, Words.of(asked.text))
    )


def _left_by(operator: str) -> int:
    """How much an operator leaves: a mechanism less than what is not proven, but not nothing."""
    if operator in _LEAVES_NOTHING:
        return 0
    return _LEAVES.index(operator) + 2 if operator in _LEAVES else 1


def _table(asked: AnonymizeRequest) -> ByType:
    made = {key: _operator(one) for key, one in asked.anonymizers.items() if key != DEFAULT}
    default = asked.anonymizers.get(DEFAULT, Operator(type="replace"))
    return ByType(parts=tuple(made.items()), otherwise=_operator(default))


def _operator(asked: Operator) -> Mechanism | StretchMechanism:
    name = asked.type
    if name == "replace":
        return operators.Replace(new_value=asked.new_value)
    if name == "redact":
        return operators.Replace(new_value="")
    if name == "mask":
        return operators.MaskLetters(
            sign=asked.masking_char, count=asked.chars_to_mask, from_end=asked.from_end
        )
    if name == "hash":
        return operators.Hash(algorithm=asked.hash_type)
    if name == "keep":
        return operators.Keep()
    if name in operators.REFUSED:
        why = operators.REFUSED[name]
        raise Problem(422, "InvalidArgument", f"the operator {name!r} is not offered: {why}")
    if name not in mechanisms() or name == "auto":
        raise UnknownName("operator", name, [*operators.NAMES, *mechanisms()])
    choices = Choices(mechanism=name, epsilon=asked.epsilon, settings=asked.settings)
    built = choose_privatizer(choices)
    inner = _inner(built)
    if isinstance(inner, ByType):
        raise InvalidArgument(f"{name!r} is itself a table by type")
    return inner


def _inner(privatizer: Privatizer) -> Mechanism | StretchMechanism | ByType:
    selective = privatizer.selective
    if not isinstance(selective, Selective):
        raise InvalidArgument("levels are not offered here")
    found = selective.mechanism
    if not isinstance(found, Mechanism | StretchMechanism | ByType):
        raise InvalidArgument("what rewrites whole documents cannot treat parts of one")
    return found


def _draws(asked: AnonymizeRequest) -> bool:
    """Whether anything but Presidio's own operators is asked for, and has a level."""
    return any(
        one.type not in operators.NAMES and costs(_operator(one).guarantee())
        for one in asked.anonymizers.values()
    )


def _items(edits: Sequence[Edit], found: Sequence[Stretch], named: _Named) -> list[dict[str, Any]]:
    """What stands where in the new text, the last one first, as Presidio lists it."""
    items, moved, place = [], 0, 0
    for edit in edits:
        while (
            place < len(found)
            and found[place].end <= edit.start
            and (found[place].start != edit.start)
        ):
            place += 1
        label = found[min(place, len(found) - 1)].label
        start = edit.start + moved
        moved += len(edit.replacement) - (edit.end - edit.start)
        items.append(
            {
                "start": start,
                "end": start + len(edit.replacement),
                "entity_type": label,
                "text": edit.replacement,
                "operator": named.of(label),
            }
        )
    return items[::-1]


def _result(span: Span, asked: AnalyzeRequest, *, theirs: bool) -> dict[str, Any]:
    explained = {
        "recognizer": span.rule,
        "textual_explanation": span.reason,
        "original_score": 1.0,
        "score": 1.0,
    }
    return {
        "entity_type": their_name(span.label) if theirs else span.label,
        "start": span.start,
        "end": span.end,
        "score": 1.0,
        "analysis_explanation": explained if asked.return_decision_process or not theirs else None,
    }


def _type(label: str) -> str:
    return kind_of(label) or label.upper()


def _language(given: str | None) -> str:
    """A code of two letters that a document may say; anything else is left to the text."""
    return given if given and len(given) == 2 and given.isalpha() and given.islower() else ""
