"""Names in public text that the tagger was not trained on: WNUT-17 dev and section b of the BTC."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sfumato.corpora.labeled import Labeled, gold
from sfumato.policies.pii import Pii, tagger
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.network import load_network
from sfumato.policies.pii.reading import Page
from sfumato.policies.policy import Policy
from sfumato.policies.scoring import compare_with_gold
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

LABELS = {
    **dict.fromkeys(("person", "PER"), "PERSON"),
    **dict.fromkeys(("location", "LOC"), "LOCATION"),
    **dict.fromkeys(("corporation", "group", "ORG"), "ORG"),
}
# Well below what is found, so that a retrained tagger need not be the same.
FLOORS = {
    "wnut17-dev": {"PERSON": 0.75, "LOCATION": 0.7, "ORG": 0.4},
    "btc-b": {"PERSON": 0.72, "LOCATION": 0.72, "ORG": 0.55},
}


def sentences(path: Path) -> Iterator[Labeled]:
    """Words with a blank between any two; a name goes on after its at sign."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for block in stream.read().split("\n\n"):
            text, before, spans = "", "", list[Span]()
            for line in block.splitlines():
                word, _, tag = line.partition("\t")
                start = len(text) + bool(text)
                text = f"{text} {word}" if text else word
                label = LABELS.get(tag[2:])
                if label and spans and (tag[0] == "I" or before == "@"):
                    start = spans.pop().start if spans[-1].label == label else start
                if label:
                    spans.append(gold(start, len(text), label))
                before = word
            if text:
                yield Labeled(Document(text), Spans.of(spans))


@cache
def labeled(path: Path) -> list[Labeled]:
    return list(sentences(path))


def misses(policy: Policy, resources: Path, part: str) -> list[str]:
    """The kinds of which less is found than the floor."""
    report = compare_with_gold(policy, labeled(resources / "data" / "ner" / f"{part}.conll.gz"))
    found = {row.label: row.share or 0 for row in report.recall}
    return [kind for kind, floor in FLOORS[part].items() if found[kind] < floor]


@pytest.mark.resources
@pytest.mark.parametrize("part", FLOORS)
def test_most_names_are_found_in_public_text(part: str, resources: Path) -> None:
    assert misses(Pii(), resources, part) == []


@pytest.mark.resources
@pytest.mark.parametrize("part", FLOORS)
def test_most_of_what_is_called_a_person_is_a_name(part: str, resources: Path) -> None:
    report = compare_with_gold(Pii(), labeled(resources / "data" / "ner" / f"{part}.conll.gz"))
    precision = {row.label: row.share or 0 for row in report.precision}
    assert precision["PERSON"] >= 0.5
    assert precision["LOCATION"] >= 0.4


def wrong_people(resources: Path, part: str) -> tuple[int, int]:
    """How many people are found, and how much that is no name is called a person."""
    report = compare_with_gold(Pii(), labeled(resources / "data" / "ner" / f"{part}.conll.gz"))
    (people,) = (row for row in report.recall if row.label == "PERSON")
    (called,) = (row for row in report.precision if row.label == "PERSON")
    return people.found, called.predicted - called.right


@pytest.mark.resources
def test_words_in_small_letters_are_believed_less(
    resources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shifts leave out far more words that name nobody than names."""
    found, wrong = wrong_people(resources, "btc-b")
    network = load_network()
    even = replace(network, shifts=np.zeros_like(network.shifts))
    monkeypatch.setattr(tagger, "load_network", lambda: even)
    more, more_wrong = wrong_people(resources, "btc-b")
    assert wrong < more_wrong
    assert more - found < (more_wrong - wrong) / 4


@pytest.mark.resources
@pytest.mark.parametrize("part", FLOORS)
def test_twin_with_rules_alone_misses_every_kind(part: str, resources: Path) -> None:
    class Rules(Pii):
        def _tag(self, page: Page) -> list[list[Found]]:
            return [[] for _ in page.texts]

    assert misses(Rules(), resources, part) == list(FLOORS[part])
