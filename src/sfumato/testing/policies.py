"""A policy: what it finds, what it says, and what it must not show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sfumato.policies.identity import Identified, identity_of
from sfumato.policies.parsing import parse_policy
from sfumato.policies.policy import Batched, Policy
from sfumato.testing.holding import TEXTS, hold, travel
from sfumato.text.document import Document
from sfumato.text.words import Words

# Words of this length in a reason or a name are taken for a quotation.
QUOTED = 5


def check_policy(policy: str | Policy, texts: Sequence[str] = ()) -> None:
    """A policy, or how it is written; in one of the ``texts`` at least it must find something."""
    made = parse_policy(policy) if isinstance(policy, str) else policy
    who = type(made).__name__
    hold(isinstance(made, Policy), f"{who} is no policy: it has no name or no find")
    hold(bool(made.name) and made.name.isprintable(), f"{who} needs a name that can be printed")
    documents = [Document(text) for text in (*TEXTS, *texts)]
    found = [made.find(one) for one in documents]
    for document, spans in zip(documents, found, strict=True):
        _check_spans(who, document.text, list(spans))
    hold(
        not texts or any(len(one) for one in found[len(TEXTS) :]),
        f"{who} finds nothing in the texts that were given, so nothing was checked",
    )
    again = [made.find(one) for one in reversed(documents)]
    hold(again[::-1] == found, f"{who} must find the same again, whatever it has read before")
    if isinstance(made, Batched):
        hold(made.find_many(documents) == found, f"{who}.find_many must find what find finds")
    copy = travel(made)
    hold(
        [copy.find(one) for one in documents] == found,
        f"a copy of {who} in another process must find the same",
    )
    public = {text for spans in found for one in spans for text in (one.label, one.rule)}
    _check_identity(made, copy, {who, made.name, *public})


def _check_spans(who: str, text: str, spans: list[Any]) -> None:
    hold(spans == sorted(spans), f"{who} must give its spans in order")
    for span in spans:
        hold(0 <= span.start < span.end <= len(text), f"{who} gives a span outside the text")
        named = bool(span.label and span.rule and span.reason)
        hold(named, f"{who} must give each span a label, a rule and a reason")
        words = {word for word in Words.of(text[span.start : span.end]) if len(word) >= QUOTED}
        said = {*Words.of(span.reason), *Words.of(span.rule), *Words.of(span.label)}
        hold(not words & said, f"{who} quotes the text in a reason: reasons are shown and logged")


def _check_identity(policy: Policy, copy: Policy, public: set[str]) -> None:
    """It has one, and what is private in it is not shown; ``public`` are names and labels."""
    who, identity = type(policy).__name__, identity_of(policy)
    if identity is None:
        raise AssertionError(
            f"{who} cannot be told from others, so no stopped run of it can be resumed and no two "
            "guarantees about it add up: give it a method identity() of its own, which tells all "
            "that it holds"
        )
    hold(identity_of(copy) == identity, f"a copy of {who} must have its identity")
    hold(bool(identity.spelled), f"the identity of {who} must be made of texts and numbers")
    # What it says itself: the code of a class that is not ours is private in any case.
    said = policy.identity() if isinstance(policy, Identified) else None
    if said is not None and said.private:
        shown = f"{policy!r} {policy.name}"
        for secret in _strings(said.parts):
            hidden = len(secret) < QUOTED or secret in public or secret not in shown
            hold(hidden, f"{who} shows in its name or repr what its identity calls private")


def _strings(parts: object) -> Iterable[str]:
    if isinstance(parts, str):
        yield parts
    elif isinstance(parts, (tuple, list)):
        for one in parts:
            yield from _strings(one)
