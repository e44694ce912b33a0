"""A unit moves the histogram by at most √k: by search, and with sabotaged twins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.synthesis import voting
from sfumato.synthesis.voting import Candidates, Cell, Unit, ballot, chosen_records, tally
from sfumato.text.document import Document
from sfumato.vectors.means import unit_rows

Ballot = Callable[[Unit, Candidates, int], Sequence[Cell]]


def candidates(rng: np.random.Generator, *, labels: int, texts: int) -> Candidates:
    """Few directions, so that many are tied; some texts stand under one label only."""
    vectors = unit_rows(rng.integers(-1, 2, (texts, 3)).astype(float))
    under = rng.random((labels, texts)) < 0.8
    under[:, 0] = True
    return Candidates(tuple(f"t{n}" for n in range(texts)), vectors, under)


def units(rng: np.random.Generator, *, labels: int, count: int) -> list[Unit]:
    found = []
    for _ in range(count):
        records = int(rng.integers(1, 4))
        vectors = unit_rows(rng.integers(-1, 2, (records, 3)).astype(float))
        if rng.random() < 0.5:  # records that agree
            vectors[:] = vectors[0]
        found.append(Unit(vectors, tuple(int(one) for one in rng.integers(labels, size=records))))
    return found


def repeating(unit: Unit, standing: Candidates, votes: int) -> list[Cell]:
    """The twin: k votes, and nobody looks whether they are for different candidates."""
    cast = [
        voting._nearest(vector, standing, label, 1)
        for vector, label in zip(unit.vectors, unit.labels, strict=True)
    ]
    return ([cell for one in cast for cell in one] * votes)[:votes]


def unbounded(unit: Unit, standing: Candidates, votes: int) -> list[Cell]:
    """Another twin: every record of an author votes."""
    cast = [
        voting._nearest(vector, standing, label, votes)
        for vector, label in zip(unit.vectors, unit.labels, strict=True)
    ]
    return list(dict.fromkeys(cell for one in cast for cell in one))


def farthest(ballots: Ballot, votes: int, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """The largest squared distance that adding and exchanging a unit was found to make."""
    monkeypatch.setattr(voting, "ballot", ballots)
    rng = np.random.default_rng(1)
    added = exchanged = 0.0
    for _ in range(60):
        labels = int(rng.integers(1, 4))
        standing = candidates(rng, labels=labels, texts=int(rng.integers(2, 9)))
        people = units(rng, labels=labels, count=5)
        whole = tally(people, standing, votes)
        without = [tally(people[:n] + people[n + 1 :], standing, votes) for n in range(5)]
        added = max(added, *(float(((whole - one) ** 2).sum()) for one in without))
        exchanged = max(
            exchanged, *(float(((one - two) ** 2).sum()) for one in without for two in without)
        )
    return added, exchanged


@pytest.mark.parametrize("votes", [1, 2, 3])
def test_a_unit_moves_the_histogram_by_the_root_of_its_votes(
    votes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    added, exchanged = farthest(ballot, votes, monkeypatch)
    # The bound is met, and not only kept: less noise would be too little.
    assert (added, exchanged) == (votes, 2 * votes)


@pytest.mark.parametrize("twin", [repeating, unbounded])
def test_votes_for_one_candidate_and_unbounded_authors_are_found(
    twin: Ballot, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert farthest(twin, 2, monkeypatch)[0] > 2


def test_no_vote_depends_on_another_unit() -> None:
    rng = np.random.default_rng(2)
    vectors = unit_rows(rng.standard_normal((40, 30)))
    vectors[1::2] = unit_rows(vectors[::2] + 1e-16 * rng.standard_normal((20, 30)))  # near ties
    standing = Candidates(tuple(map(str, range(40))), vectors, np.ones((1, 40), dtype=bool))
    people = [Unit(unit_rows(rng.standard_normal((1, 30))), (0,)) for _ in range(50)]
    alone = sum(tally([one], standing, 2) for one in people)
    assert np.array_equal(tally(people, standing, 2), alone)
    assert np.array_equal(tally(people[::-1], standing, 2), alone)


def test_a_record_votes_for_the_nearest_of_its_label_and_without_a_vector_for_none() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    under = np.array([[True, True, False], [True, True, True]])
    standing = Candidates(("a", "b", "c"), vectors, under)
    near = np.array([[0.6, 0.8]])
    assert ballot(Unit(near, (0,)), standing, 1) == [(0, 1)]
    assert ballot(Unit(near, (1,)), standing, 1) == [(1, 2)]
    assert ballot(Unit(near, (1,)), standing, 9) == [(1, 2), (1, 1), (1, 0)]
    assert ballot(Unit(near * 0, (1,)), standing, 3) == []
    # Records of one author take turns.
    both = Unit(np.array([[1.0, 0.0], [1.0, 0.0]]), (0, 1))
    assert ballot(both, standing, 2) == [(0, 0), (1, 0)]


def test_an_author_votes_with_few_records_chosen_without_looking_at_them() -> None:
    documents = [Document(f"text {n}", author=f"a{n % 3}") for n in range(30)]
    draws = Randomness.reproducible(3)
    chosen = chosen_records(documents, unit="author", votes=2, randomness=draws)
    assert [len(one) for one in chosen] == [2, 2, 2]
    assert all(place % 3 == number for number, own in enumerate(chosen) for place in own)
    again = [Document("other", author=one.author) for one in documents]
    same = chosen_records(again, unit="author", votes=2, randomness=Randomness.reproducible(3))
    assert same == chosen
    with pytest.raises(BadInput, match="record 2 has no author"):
        chosen_records([documents[0], Document("x")], unit="author", votes=1, randomness=draws)
