"""One public sentence for a document: the level against the worst documents, twins, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest

from sfumato.attacks.reidentification import (
    BY_LAW,
    Reidentification,
    most_right,
)
from sfumato.attacks.rewriting_laws import candidate_chances
from sfumato.audits.verify import Effort, refute
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.guarantees.wording import at_most
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.rewriting.candidate_law import (
    MORE_GAP,
    ByCosine,
    ByDepth,
    CandidateLaw,
    OnDocuments,
)
from sfumato.mechanisms.rewriting.candidates import Candidates
from sfumato.mechanisms.rewriting.depth import depths, public_directions
from sfumato.mechanisms.rewriting.pool import Pool, in_singles
from sfumato.testing import check_mechanism
from sfumato.verbs.attack import attack
from sfumato.verbs.privatize import privatize
from sfumato.verbs.verify import verify
from statistical import budget

SENTENCES = (
    "The red wine is good.",
    "A white house stands there.",
    "Red grapes grow slowly.",
    "He runs home.",
    "They sing a song!",
    "Nobody knows the doctor.",
    "Cold water helps.",
)


@pytest.fixture
def pool(tmp_path: Path) -> str:
    path = tmp_path / "pool.txt"
    path.write_text("\n".join(SENTENCES))
    return str(path)


def pool_of(vectors: Floats) -> Pool:
    names = tuple(f"sentence {number}" for number in range(len(vectors)))
    return Pool("made up", names, in_singles(vectors), np.zeros(vectors.shape[1]))


def on_circle(count: int) -> Floats:
    angles = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def largest_losses(law: CandidateLaw, inputs: Floats) -> tuple[float, float]:
    """Over all documents of these sentences: that of one sentence, and that of any two documents.

    A document is a list of numbers, in any order; −1 is a place without a sentence.
    """
    documents = list(combinations_with_replacement(range(-1, len(inputs)), law.most))
    rows = {
        one: law.log_row(np.array([inputs[place] for place in one if place >= 0]).reshape(-1, 2))
        for one in documents
    }
    change = 0.0
    for rest in combinations_with_replacement(range(-1, len(inputs)), law.most - 1):
        beside = [rows[tuple(sorted((*rest, one)))] for one in range(-1, len(inputs))]
        change = max(change, float(max((a - b).max() for a, b in product(beside, repeat=2))))
    every = np.stack(list(rows.values()))
    return change, float((every.max(axis=0) - every.min(axis=0)).max())


OPPOSITE = np.array([[1.0, 0.0], *[[-1.0, 0.0]] * 4])


@pytest.mark.parametrize(("beta", "most"), [(1.0, 1), (1.5, 2), (6.0, 3), (0.4, 4)])
def test_the_worst_documents_by_cosine_reach_both_levels(beta: float, most: int) -> None:
    law = ByCosine(pool=pool_of(OPPOSITE), beta=beta, most=most, low=0.1, high=0.7)
    found = largest_losses(law, np.vstack([OPPOSITE[:2], on_circle(3)]))
    for loss, level in zip(found, (law.level, law.document_level), strict=True):
        assert loss <= level
        assert loss == pytest.approx(level, rel=1e-9)
    assert law.level <= 2 * law.part_range * (1 + 1e-12)


@pytest.mark.parametrize(("beta", "most"), [(1.0, 2), (0.7, 3), (2.0, 4), (0.5, 5)])
def test_the_worst_documents_by_depth_reach_the_level(beta: float, most: int) -> None:
    # One candidate at the end of the sentences, the others among them: the proof names that case.
    places = np.array([[-0.9, 0.0], *[[0.3, 0.0]] * 4])
    law = ByDepth(pool=pool_of(places), beta=beta, most=most, components=1, projections=3)
    # Directions along the line only, so that three places stand for all.
    assert np.allclose(law.directions[1], 0.0)
    inputs = np.array([[-1.0, 0.0], [0.0, 0.0], [0.9, 0.0]])
    change, whole = largest_losses(law, inputs)
    assert change <= law.level
    assert change == pytest.approx(law.level, rel=1e-9)
    assert whole <= law.document_level


def test_depths_change_by_one_at_most() -> None:
    generator = np.random.default_rng(4)
    for _ in range(200):
        many = int(generator.integers(1, 8))
        # Few different numbers, so that there are ties.
        sentences = generator.integers(0, 4, (many, 3)).astype(float)
        candidates = generator.integers(0, 4, (9, 3)).astype(float)
        before = depths(sentences, candidates)
        assert before.max() <= many // 2
        other = sentences.copy()
        other[0] = generator.integers(0, 4, 3)
        assert np.abs(depths(other, candidates) - before).max() <= 1
        assert np.abs(depths(sentences[1:], candidates) - before).max() <= 1
    assert depths(np.empty((0, 2)), np.zeros((3, 2))).tolist() == [0.0, 0.0, 0.0]


class ForgetsPlaces(ByCosine):
    """Claims the level of a mean over all sentences, and weighs it like one sentence."""

    def scores(self, vectors: Floats) -> Floats:
        return super().scores(vectors) * self.most


class OwnNumber(ByCosine):
    """Divides by the number of sentences that there are, and claims what holds for ``most``."""

    def scores(self, vectors: Floats) -> Floats:
        return super().scores(vectors) * self.most / max(1, len(vectors))


class OwnDirections(ByDepth):
    """Directions along the sentences themselves, with the claim of public ones."""

    def scores(self, vectors: Floats) -> Floats:
        own = vectors.sum(axis=0)[:, None] if len(vectors) else np.zeros((2, 1))
        return self.beta * depths(vectors @ own, self.pool.vectors.astype(float) @ own)


def test_a_sentence_that_counts_more_than_once_exceeds_the_level() -> None:
    cosine = {"pool": pool_of(OPPOSITE), "beta": 1.5, "most": 3, "low": 0.1, "high": 0.7}
    inputs = np.vstack([OPPOSITE[:2], on_circle(3)])
    for twin in (ForgetsPlaces, OwnNumber):
        made = twin(**cosine)  # type: ignore[arg-type]
        assert largest_losses(made, inputs)[0] > made.level * 1.2
    depth = {"pool": pool_of(on_circle(5) * 0.5), "beta": 2.0, "most": 4}
    honest = ByDepth(**depth, components=None, projections=6)  # type: ignore[arg-type]
    inputs = np.vstack([on_circle(5), on_circle(4) * 0.3])
    assert largest_losses(honest, inputs)[0] <= honest.level
    own = OwnDirections(**depth, components=None, projections=6)  # type: ignore[arg-type]
    assert largest_losses(own, inputs)[0] > own.level * 1.2


def test_directions_are_those_of_the_pool() -> None:
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(40, 6)) * [3, 2, 1, 0.1, 0.1, 0.1]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    pool = pool_of(vectors)
    found = public_directions(pool, 2, 9)
    assert np.array_equal(found, public_directions(pool_of(vectors), 2, 9))
    assert np.linalg.matrix_rank(found) == 2
    assert np.linalg.matrix_rank(public_directions(pool, None, 9)) == 6
    assert not np.array_equal(found, public_directions(pool_of(vectors[:39]), 2, 9))


def test_verify_spares_the_law_and_refutes_its_twins(pool: str) -> None:
    effort, noise = Effort(draws=1000), Randomness.reproducible(2)
    sure = 1 - budget.level("rewriting: one candidate", "true claims") / 4
    settings = {"pool": pool_of(on_circle(6)), "beta": 2.0, "low": 0.1, "high": 0.7, "most": 3}
    honest = ByCosine(**settings)  # type: ignore[arg-type]
    by_depth = ByDepth(pool=honest.pool, beta=1.0, most=4, components=None, projections=5)
    twice = np.repeat(on_circle(6)[:1], 2, axis=0)
    for number, law in enumerate((honest, by_depth)):
        for whole, beside in ((False, twice), (True, twice[:0])):
            on_documents = OnDocuments(law=law, beside=beside, whole=whole)
            source = noise.stream(2 * number + whole)
            found = refute(on_documents, confidence=sure, effort=effort, randomness=source)
            assert not found.refuted
    for number, twin in enumerate((ForgetsPlaces, OwnNumber), start=4):
        broken = OnDocuments(law=twin(**settings), beside=twice[:0])  # type: ignore[arg-type]
        assert refute(broken, effort=effort, randomness=noise.stream(number)).refuted
    made = Candidates(pool=pool, epsilon=2.0)
    assert len(made.points()) == 3
    documents = Candidates(pool=pool, epsilon=9.0, whole=True)
    assert [one.guarantee().unit for one in documents.points()] == ["document"]
    assert not verify(made, draws=1000, seed=1, confidence=sure).refuted


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 6.0, 30.0])
@pytest.mark.parametrize(
    "more", [{}, {"whole": True}, {"score": "depth"}, {"score": "depth", "whole": True}]
)
def test_the_weight_is_the_largest_for_the_level(
    pool: str, epsilon: float, more: dict[str, object]
) -> None:
    made = Candidates(pool=pool, epsilon=epsilon, **more)  # type: ignore[arg-type]
    assert epsilon * (1 - 1e-6) <= made.guarantee().epsilon <= epsilon * (1 + 1e-9)


def test_a_guarantee_names_its_unit_and_nothing_shows(pool: str) -> None:
    each = Candidates(pool=pool, epsilon=3.0).guarantee()
    assert (each.unit, each.notion, each.leaks) == ("sentence", Notion.PURE_DP, ())
    assert "one sentence more" in each.neighbors
    assert MORE_GAP in each.uncovered
    whole = Candidates(pool=pool, epsilon=3.0, whole=True).guarantee()
    assert MORE_GAP not in whole.uncovered
    assert (whole.unit, whole.neighbors, whole.leaks) == ("document", "any two documents", ())
    told = Candidates(pool=pool, epsilon=3.0).public_facts()
    assert 3.0 < told["document_epsilon"] <= 12 * 3.0
    none = Candidates(pool=pool, beta=0.0).guarantee()
    assert (none.notion, none.unit) == (Notion.INDEPENDENT, "document")
    for one in (each, whole, none):
        assert one.sentence().endswith(".")


def test_every_document_becomes_one_sentence_and_the_rest_of_it_counts_nothing(pool: str) -> None:
    made = Candidates(pool=pool, beta=30.0, most=2)
    texts = ["", " \n ", "😀", "One. Two. Three.", "A glass of wine. Red wine. Water."]
    for text in made.rewrite(texts, Randomness.secure()):
        assert text in SENTENCES
    same = [
        made.law.log_row(made.vectors_of(one)) for one in ("Wine. Cold. He ran.", "Cold. Wine.")
    ]
    assert np.allclose(same[0], same[1], atol=1e-12)  # neither their order nor what is left out
    assert np.allclose(made.law.log_row(made.vectors_of("")), -np.log(len(SENTENCES)))
    flat = Candidates(pool=pool, beta=0.0).law
    assert np.allclose(flat.log_row(made.vectors_of(texts[4])), -np.log(len(SENTENCES)))
    wine = made.law.log_row(made.vectors_of("I like red wine."))
    assert SENTENCES[int(wine.argmax())] == SENTENCES[0]


def test_the_attacker_knows_the_law(pool: str, tmp_path: Path) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("Red wine is good. I drink it.\nThe house is white.\nShe sang songs.\n")
    for settings in ({"score": "cosine"}, {"score": "depth", "most": 4}, {"whole": True}):
        told = {"pool": pool, **settings}
        privatize(source, output, mechanism="candidates", epsilon=4, settings=told, overwrite=True)
        side = json.loads(output.with_name("out.txt.guarantee.json").read_text())
        found = attack("reidentification", output, originals=source, settings={"pool": pool})
        assert found.figure(BY_LAW).n == 3
        known = side["settings"]["mechanism_settings"]
        level = 4.0 if "whole" in settings else known["document_epsilon"]
        bound = at_most(most_right(level, 3)[0], 3)
        assert any(f"right in {bound} of all" in note for note in found.notes)
    made = Candidates(pool=pool, beta=20.0)
    originals = source.read_text().splitlines()
    logs = candidate_chances(made, [SENTENCES[0], "nothing of the pool"], originals)
    assert logs[0].argmax() == 0
    assert logs[1].tolist() == [0.0, 0.0, 0.0]
    assert Reidentification(pool=pool).pool == pool


def test_it_does_all_that_a_mechanism_must(pool: str) -> None:
    check_mechanism("candidates", settings={"pool": pool, "beta": 3.0})
    check_mechanism("candidates", settings={"pool": pool, "epsilon": 3.0, "score": "depth"})
    made = Candidates(pool=pool, beta=3.0)
    for other in (replace(made, beta=3.5), replace(made, most=3), replace(made, score="depth")):
        assert mechanism_identity(made) != mechanism_identity(other)
    identity = mechanism_identity(made)
    assert identity is not None
    assert not identity.private
    assert identity == mechanism_identity(Candidates(pool=pool, beta=3))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epsilon": 1.0}, "public pool"),
        ({"pool": "p"}, "not both"),
        ({"pool": "p", "epsilon": 1.0, "beta": 1.0}, "not both"),
        ({"pool": "p", "beta": -1.0}, "negative"),
        ({"pool": "p", "beta": 1000.0}, "no numbers"),
        ({"pool": "p", "epsilon": 0.0}, "epsilon"),
        ({"pool": "p", "epsilon": 1.0, "low": 0.7, "high": 0.1}, "cosines"),
        ({"pool": "p", "epsilon": 1.0, "score": "mean"}, "'cosine' or 'depth'"),
        ({"pool": "p", "epsilon": 1.0, "most": 0}, "most"),
        ({"pool": "p", "epsilon": 1.0, "most": 1, "score": "depth"}, "most"),
        ({"pool": "p", "epsilon": 1.0, "projections": 0}, "projections"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        Candidates(**wrong)  # type: ignore[arg-type]


def test_a_level_that_no_draw_has_is_refused(pool: str) -> None:
    with pytest.raises(InvalidArgument, match="more than one draw"):
        Candidates(pool=pool, epsilon=999.0).guarantee()
