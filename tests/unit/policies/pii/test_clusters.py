"""Plain clusters are cut without an expression, and the same names come of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from sfumato.policies.pii.clusters import HARD, Clusters, _Look
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.person import Person, speaker_tags
from sfumato.policies.pii.reading import Page
from sfumato.policies.pii.runs import Flags

PIECES = (
    *("Ann", "Lee", "Mary Smith", "ANN", "The", "It's", "I'm", "Ann's", "Bob'd", "O'Neil", "He'll"),
    *("St", "J", "A.", "de", "van der", "do", "al-Rashid", "d'Arc", "'S", "'t", "said", "by", "y"),
    *("@Ann", "5Ann", "Zoë", "Zoë's", "my name is Bob'd", "Dr", "patient", "I do", "Ann do", "New"),
    *("York", "May", "MARK", "Don't", "Road", "é", "Jean-Luc", "USR:", "1"),
)
JOINTS = (" ", " ", " ", " ", ". ", ".", ", ", "  ", "\n", "-", "'", ": ")


def texts() -> list[str]:
    draws = random.Random(8)
    return [
        "".join(draws.choice(PIECES) + draws.choice(JOINTS) for _ in range(draws.randrange(1, 14)))
        for _ in range(900)
    ]


def people(page: Page) -> list[set[tuple[int, int]]]:
    """Where names are; a name may be found by another rule, too, if more are looked at."""

    def places(found: list[Found]) -> set[tuple[int, int]]:
        return {(one.start, one.end) for one in found}

    return [places(list(Person().find(reading))) for reading in page.readings]


def test_names_are_those_that_an_expression_finds_in_every_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = people(Page(texts()))
    assert sum(map(len, found)) > 900

    def all_hard(self: _Look) -> Flags:
        return np.ones(len(self.ids), dtype=np.bool_)

    monkeypatch.setattr(_Look, "_is_hard", all_hard)
    assert people(Page(texts())) == found


def test_twin_that_takes_every_ending_for_the_end_of_a_name_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = people(Page(texts()))
    joined = _Look._are_ended

    def hasty(self: _Look) -> Flags:
        near, self._near = self._near, np.zeros_like(self._near)
        ended = joined(self)
        self._near = near
        return ended

    monkeypatch.setattr(_Look, "_are_ended", hasty)
    assert people(Page(texts())) != found


def test_twin_that_goes_over_no_small_words_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    found = people(Page(texts()))
    monkeypatch.setattr(_Look, "_go_on", lambda self: np.zeros(len(self.ids), dtype=np.bool_))
    assert people(Page(texts())) != found


def named(page: Page) -> list[set[Found]]:
    return [set(Person().find(reading)) for reading in page.readings]


def test_bare_clusters_hold_the_names_that_come_of_cutting_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = named(Page(texts()))
    assert sum(one.rule == "person-again" for spans in found for one in spans) > 50
    made = Clusters.__init__

    def cut_all(self: Clusters, page: Page, tags: Sequence[frozenset[str]]) -> None:
        made(self, page, tags)
        self._bare = np.zeros_like(self._bare)

    monkeypatch.setattr(Clusters, "__init__", cut_all)
    assert named(Page(texts())) == found


def test_twin_that_takes_tags_of_speakers_for_words_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = "ANN: hi\nBOB: Hello Mary ANN Smith\nANN: bye\nBOB: bye"
    found = named(Page([page]))
    made = Clusters.__init__
    monkeypatch.setattr(Clusters, "__init__", lambda self, page, _: made(self, page, []))
    assert named(Page([page])) != found


def test_most_words_with_an_ending_are_plain() -> None:
    page = Page(["It's late, I'm tired and I do what Ann's friend said. He'll see."] * 3)
    assert not any(cluster.kind & HARD for cluster in Clusters(page, speaker_tags(page)).telling())


def test_a_name_with_an_ending_is_found_again() -> None:
    text = "My name is Bob'd. So Bob'd went home, and Bob'd Hale, too."
    (reading,) = Page([text]).readings
    found = {text[one.start : one.end] for one in Person().find(reading)}
    assert "Bob'd" in found
    assert sum(one.rule == "person-again" for one in Person().find(reading)) >= 1


def test_tags_are_heads_of_several_lines_in_capitals() -> None:
    draws = random.Random(5)
    heads = (
        "SYS:",
        "USR:",
        "AB :",
        "Ab:",
        "ÄÖ:",
        "ÄÜ:",
        "É :",
        "A:",
        "ABCD:",
        "xSYS:",
        "ß1:",
        "no",
    )
    made = ["\n".join(draws.choice(heads) + " hi" for _ in range(9)) for _ in range(200)]

    def naive(text: str) -> frozenset[str]:
        lines = [line.partition(":")[0] for line in text.split("\n") if ":" in line]
        shown = [head.removesuffix(" ") for head in lines]
        counted = Counter(head for head in shown if head.isalpha() and 2 <= len(head) <= 3)
        return frozenset(head for head, count in counted.items() if count > 1 and head.isupper())

    assert speaker_tags(Page(made)) == [naive(text) for text in made]
