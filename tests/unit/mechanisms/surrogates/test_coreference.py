"""How well mentions of one person go together, on a labeled set of invented documents.

A pair of mentions of one person goes together if their surrogates have a word (or the first letter
of one, for initials) in common, or if one name of the document holds both: "Priya" and "Ms.
Raghunathan" beside "Priya Raghunathan". A pair of mentions of different people stays apart if their
surrogates have no word in common that the originals had not. The figures stand in the
documentation, and this test holds them there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest

from sfumato.core.keys import Key
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.surrogates.surrogate import Surrogate
from sfumato.policies.patterns import Regex
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans, Stretch, stretches
from sfumato.text.words import Words

ROOT = Path(__file__).parents[4]
MARKED = re.compile(r"\[([^|\]]+)\|(\d+)\]")
TITLES = {"Mr.", "Mrs.", "Ms.", "Dr.", "Prof.", "Sir"}
SEEDS = range(5)

Labeled = tuple[list[Stretch], list[str]]


def read_documents() -> list[Labeled]:
    path = ROOT / "tests" / "data" / "coreference.txt"
    lines = path.read_text("utf-8").splitlines()
    return [read(line) for line in lines if not line.startswith("#")]


def read(line: str) -> Labeled:
    """The stretches of a document as they are cut everywhere, and whose each of them is."""
    text, spans, people = "", [], []
    reached = 0
    for match in MARKED.finditer(line):
        text += line[reached : match.start()]
        spans.append(Span(len(text), len(text) + len(match[1]), "PERSON"))
        people.append(match[2])
        text += match[1]
        reached = match.end()
    text += line[reached:]
    found = stretches(Spans.of(spans), Words.of(text), "en")
    assert len(found) == len(people)
    return found, people


def words_of(name: str) -> set[str]:
    bare = name.removesuffix("'s").replace(",", "").casefold()
    return {word for word in bare.split() if word not in {title.casefold() for title in TITLES}}


def common(one: str, two: str) -> set[str]:
    """Words that two names share, an initial counting for a word that begins with it."""
    first, second = words_of(one), words_of(two)
    shared = first & second
    for mine, theirs in ((first, second), (second, first)):
        shared |= {
            word for word in mine for other in theirs if other.endswith(".") and word[0] == other[0]
        }
    return shared


def score(mechanism: Surrogate, documents: Sequence[Labeled]) -> tuple[float, float, int, int]:
    """The share of pairs that go together and that stay apart, and how many there are."""
    together, apart = [], []
    for seed in SEEDS:
        for found, people in documents:
            drawn = mechanism.replace(found, Randomness.reproducible(seed))
            for one, two in combinations(range(len(people)), 2):
                shared = common(drawn[one], drawn[two])
                if people[one] == people[two]:
                    linked = any(common(drawn[one], m) and common(drawn[two], m) for m in drawn)
                    together.append(bool(shared) or linked)
                else:
                    had = common(found[one].text, found[two].text)
                    apart.append(len(shared) <= len(had))
    pairs = len(together) // len(SEEDS), len(apart) // len(SEEDS)
    return sum(together) / len(together), sum(apart) / len(apart), *pairs


DOCUMENTS = read_documents()
PAIRS_OF_ONE, PAIRS_OF_TWO = 54, 84


def test_the_set_is_large_enough_and_holds_hard_cases() -> None:
    assert len(DOCUMENTS) >= 20
    _, _, one, two = score(Surrogate(), DOCUMENTS)
    assert (one, two) == (PAIRS_OF_ONE, PAIRS_OF_TWO)


def test_within_a_document_mentions_go_together_as_the_documentation_says() -> None:
    together, apart, _, _ = score(Surrogate(consistent="document"), DOCUMENTS)
    page = (ROOT / "docs" / "mechanisms.md").read_text("utf-8")
    said = re.search(r"([\d.]+) % of (\d+) pairs of mentions of one person", page)
    kept = re.search(r"([\d.]+) % of (\d+) pairs of different people", page)
    assert said
    assert kept
    assert said.groups() == (f"{100 * together:.1f}", str(PAIRS_OF_ONE))
    assert kept.groups() == (f"{100 * apart:.1f}", str(PAIRS_OF_TWO))


KEYED = Surrogate(consistent="corpus").under(Key(b"k" * 32))


@pytest.mark.parametrize("mechanism", [Surrogate(consistent="document"), KEYED])
def test_it_is_far_better_than_drawing_anew(mechanism: Surrogate) -> None:
    together, apart, _, _ = score(mechanism, DOCUMENTS)
    anew, _, _, _ = score(Surrogate(), DOCUMENTS)
    assert together > 0.85
    assert apart > 0.9
    assert anew < 0.2


def test_the_marks_are_found_by_a_policy_as_well() -> None:
    """The stretches are those that a policy would give for the same places."""
    (first, _), *_ = DOCUMENTS
    policy = Regex("Priya Raghunathan|Raghunathan|Priya|Dalby", label="PERSON")
    text = MARKED.sub(r"\1", "[Priya Raghunathan|1] called about her invoice. [Priya|1] had")
    spans = policy.find(Document(text))
    assert [one.text for one in stretches(spans, Words.of(text))] == [one.text for one in first[:2]]
