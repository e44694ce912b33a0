"""What settings mean before anything is released: the guarantee, a text, a word, two mechanisms.

Care
    An explanation shows originals beside replacements. It is for whoever owns the text, charges
    nothing, and says that it is not for release.
"""

from __future__ import annotations

import math
from typing import Any

from sfumato.accounting.budget.accounts import Kind, Limit
from sfumato.attacks.inference.word_view import ViewEffort, view_word
from sfumato.core.errors import IncomparableGuarantees, UnknownName
from sfumato.mechanisms.auto import WORDS
from sfumato.mechanisms.build import AUTO
from sfumato.metrics.staying_curves import shipped_curves
from sfumato.releases.explanation import explain_text, places_of
from sfumato.releases.payment import claim_of
from sfumato.releases.privatizer import Privatizer
from sfumato.service.offers import choose_privatizer, mechanisms
from sfumato.service.problems import Problem
from sfumato.service.releasing import told
from sfumato.service.requests import (
    MOST_EXPLAINED,
    CompareRequest,
    ExplainRequest,
    GuaranteeRequest,
    WordRequest,
)
from sfumato.text.document import Document
from sfumato.verbs.explain_word import compare_words

STAMP = "PREVIEW: NOT FOR RELEASE (nothing was charged)"


def guarantee(asked: GuaranteeRequest) -> dict[str, Any]:
    """What would be guaranteed."""
    privatizer = choose_privatizer(asked)
    privatizer.check()
    return told(privatizer.guarantee())


def explain(asked: ExplainRequest) -> dict[str, Any]:
    """What would happen to a text, word by word, and what its release would cost."""
    if len(asked.text) * asked.draws > MOST_EXPLAINED:
        raise Problem(
            413,
            "TooLarge",
            f"with {asked.draws} draws a text that is explained may have "
            f"{MOST_EXPLAINED // asked.draws:,} letters at most; ask for a part of it",
        )
    privatizer = choose_privatizer(asked)
    privatizer.check()
    found = explain_text(privatizer, asked.text, draws=asked.draws)
    return _stamped(
        {
            "text": found.text,
            "words": [one.as_dict() for one in found.words],
            "guarantee": told(found.guarantee),
            "costs": costs_of(privatizer, found.drawn),
        }
    )


def costs_of(privatizer: Privatizer, drawn: tuple[int, ...]) -> dict[str, Any]:
    """What a release with so many places would cost an account of levels, by the account's kind.

    ``level`` is null where no such account can pay, and ``why`` says why not.
    """
    stated, unlimited = privatizer.guarantee(), Limit.of("level", math.inf)
    found: dict[str, Any] = {}
    for kind in (Kind.TEXT, Kind.AUTHOR):
        try:
            level = claim_of(stated).replacing([drawn]).cost(kind, unlimited).level
            found[kind.value] = {"level": level, "why": ""}
        except IncomparableGuarantees as error:
            found[kind.value] = {"level": None, "why": str(error)}
    return found


def explain_word(asked: WordRequest) -> dict[str, Any]:
    """What one place of a text may become, and what an attacker would guess from that."""
    privatizer = choose_privatizer(asked)
    privatizer.check()
    places = places_of(privatizer.selective, Document(asked.text))
    place = next((one for one in places if one.start == asked.start), None)
    if place is None or place.mechanism is None:
        raise Problem(422, "NoSuchPlace", "nothing that is replaced begins at `start`")
    effort = ViewEffort(draws=asked.draws, most=asked.most)
    what = place.stretch or place.text
    view = view_word(place.mechanism, what, effort, privatizer.randomness.stream(1))
    return _stamped(view.as_dict() | {"label": place.cause.label})


def compare(asked: CompareRequest) -> dict[str, Any]:
    """Two mechanisms on the same words, at equal epsilon and at equal chance to stay."""
    offered = [name for name, one in mechanisms().items() if one.replaces == "words"]
    for name in asked.mechanisms:
        if name not in offered:
            raise UnknownName("mechanism that replaces words", name, offered)
    found = compare_words(
        asked.text, asked.mechanisms, epsilon=asked.epsilon, draws=asked.draws, most=asked.most
    )
    return _stamped(found.as_dict())


def staying_of(mechanism: str) -> dict[str, Any] | None:
    """With which chance public words stay at every level, with default settings; if measured."""
    curve = shipped_curves().get(WORDS if mechanism == AUTO else mechanism)
    return None if curve is None else curve.as_dict()


def _stamped(found: dict[str, Any]) -> dict[str, Any]:
    return {"stamp": STAMP, "for_release": False} | found
