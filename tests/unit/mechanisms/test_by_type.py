"""Tables of mechanisms by type: each place goes to the mechanism of its type, and to no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion, independent
from sfumato.mechanisms.by_type import LANGUAGE_LEAK, ByType
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mechanism import StretchMechanism
from sfumato.mechanisms.pseudonym import Pseudonym
from sfumato.mechanisms.redact import TYPE_LEAK, Redact
from sfumato.mechanisms.selective import STRETCH_LEAK, STRUCTURE_LEAK, Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.parsing import combine_policies
from sfumato.policies.patterns import Everything
from sfumato.text.document import Document
from sfumato.text.span import Stretch
from sfumato.vectors.space import Space

TEXT = "Ask Ada Lovelace (ada@example.org) about paris and rome."
POLICY = combine_policies(["pii:person,email", "regex:paris and rome"])


@dataclass(frozen=True)
class Numbered:
    """Writes down how often it was called, and with how many stretches."""

    mark: str = "x"

    def guarantee(self) -> Guarantee:
        return independent()

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        draw = int(randomness.integers(10**6, 1)[0])
        return [f"{self.mark}{draw}-{place}" for place in range(len(stretches))]


@pytest.fixture
def words(small_space: Space) -> OverVocabulary:
    return OverVocabulary(points=Laplace(space=small_space, epsilon=1e6))


def test_each_place_goes_to_the_mechanism_of_its_type(words: OverVocabulary) -> None:
    table = ByType(parts=(("PERSON", Numbered("p")), ("EMAIL", Redact())), otherwise=words)
    result = Selective(policy=POLICY, mechanism=table).privatize(
        [Document(TEXT)], Randomness.reproducible(3)
    )[0]
    name, mail, *cities = result.edited.edits
    assert name.replacement.startswith("p")
    assert mail.replacement == "[EMAIL]"
    # "and" is unknown to the small space, and is replaced by some word of it.
    assert [cities[0].replacement, cities[2].replacement] == ["paris", "rome"]
    assert result.types == {"PERSON": 1, "EMAIL": 1, "MATCH": 1}
    assert "Ada" not in result.text
    assert result.text.startswith("Ask ")


def test_the_order_in_a_table_does_not_decide_the_places(words: OverVocabulary) -> None:
    one = ByType(parts=(("EMAIL", Redact()), ("PERSON", words)), otherwise=Redact())
    other = ByType(parts=(("PERSON", words), ("EMAIL", Redact())), otherwise=Redact())
    results = [
        Selective(policy=POLICY, mechanism=table).privatize([Document(TEXT)], Randomness.secure())
        for table in (one, other)
    ]
    first, second = ([edit[:2] for edit in found[0].edited.edits] for found in results)
    assert first == second


@given(st.lists(st.integers(min_value=1, max_value=3), min_size=1, max_size=4))
def test_the_texts_of_a_record_are_one_document(together: list[int]) -> None:
    """One draw for each record, however many texts it has."""
    documents = [Document(f"Ask Ada Lovelace, text {n}") for n in range(sum(together))]
    selective = Selective(
        policy=combine_policies(["pii:person"]), mechanism=ByType(parts=(), otherwise=Numbered())
    )
    results = selective.privatize(documents, Randomness.reproducible(1), together)
    draws = [one.edited.edits[0].replacement.split("-")[0] for one in results]
    reached = 0
    for count in together:
        assert len(set(draws[reached : reached + count])) == 1
        reached += count
    assert len(set(draws)) == len(together)


def test_the_guarantee_has_a_part_for_each_mechanism(words: OverVocabulary) -> None:
    mask = Redact()
    table = ByType(parts=(("EMAIL", mask), ("PERSON", mask), ("CODE", words)), otherwise=words)
    guarantee = Selective(policy=POLICY, mechanism=table).guarantee()
    assert [part.types for part in guarantee.parts] == [("EMAIL", "PERSON"), ()]
    masks, others = (part.guarantee for part in guarantee.parts)
    assert masks.notion is Notion.INDEPENDENT
    assert others.notion is Notion.SELECTIVE_METRIC_DP
    assert STRUCTURE_LEAK in others.leaks
    assert {TYPE_LEAK, STRETCH_LEAK, STRUCTURE_LEAK} <= set(guarantee.leaks)
    assert "whatever the policy does not select" in guarantee.uncovered
    whole = Selective(policy=Everything(), mechanism=table).guarantee()
    assert "whatever the policy does not select" not in whole.uncovered


def test_one_part_without_a_proof_makes_the_whole_unfit_for_release() -> None:
    table = ByType(parts=(("PERSON", Pseudonym()),), otherwise=Redact())
    assert not Selective(policy=POLICY, mechanism=table).guarantee().for_release


def test_a_table_that_cannot_be_is_refused() -> None:
    inner = ByType(parts=(), otherwise=Redact())
    with pytest.raises(InvalidArgument, match="two mechanisms"):
        ByType(parts=(("A", Redact()), ("A", Redact())), otherwise=Redact())
    with pytest.raises(InvalidArgument, match="another one"):
        ByType(parts=(("A", inner),), otherwise=Redact())  # type: ignore[arg-type]
    assert not isinstance(inner, StretchMechanism)


def test_tables_are_told_apart_by_what_is_in_them() -> None:
    def table(label: str, mark: str) -> ByType:
        return ByType(parts=((label, Redact()),), otherwise=Redact())

    same = [mechanism_identity(table("A", "x")) for _ in range(2)]
    assert same[0] == same[1] is not None
    assert mechanism_identity(table("B", "x")) != same[0]


def test_words_by_language_show_the_language_whichever_is_the_usual_one(
    words: OverVocabulary,
) -> None:
    other = OverVocabulary(points=words.points)
    table = ByType(parts=(), otherwise=words, by_language=(("de", other),))
    assert table.route("X", "de") is not table.route("X", "")
    assert LANGUAGE_LEAK in table.guarantee().leaks
    assert LANGUAGE_LEAK in Selective(policy=POLICY, mechanism=table).guarantee().leaks
    alone = ByType(parts=(), otherwise=words)
    assert LANGUAGE_LEAK not in alone.guarantee().leaks
