"""Faster recognizers find what slower ones found."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from findings import KINDS, STORED, WIDTH, digests, read_together
from sfumato.policies.pii import code
from sfumato.policies.pii.detector import DEFAULT, _recognizers
from sfumato.policies.pii.email import Email
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading

STORED_DIGESTS: dict[str, str] = json.loads(STORED.read_text("utf-8"))


def differing(kind: str, now: str) -> list[int]:
    """The numbers of the texts in which something else is found now."""
    before = STORED_DIGESTS[kind]
    assert len(now) == len(before)
    places = range(0, len(now), WIDTH)
    return [at // WIDTH for at in places if now[at : at + WIDTH] != before[at : at + WIDTH]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_recognizer_finds_what_its_earlier_version_found(kind: str) -> None:
    (recognizer,) = _recognizers((kind,), DEFAULT)
    assert differing(kind, digests(recognizer)) == []


def test_twin_whose_quick_look_leaves_out_a_document_is_caught() -> None:
    class Hasty(Email):
        def where(self, page: Page) -> Iterable[int]:
            return list(super().where(page))[:-1]

    assert len(differing("email", digests(Hasty()))) == 1


def test_twin_that_lacks_a_word_of_its_trigger_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "_announcing_words", lambda: frozenset(("order",)))
    read_together.cache_clear()
    assert differing("code", digests(code.Code()))
    read_together.cache_clear()


def test_twin_that_stops_one_character_early_is_caught() -> None:
    class Short(Email):
        def find(self, reading: Reading):  # type: ignore[no-untyped-def]
            for span in super().find(reading):
                yield Found(span.start, span.end - 1, span.label, span.rule, span.reason)

    assert differing("email", digests(Short()))
