"""Attributes: told where they show, at chance where they do not, and what is missing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.attacks.attack import Inputs, run_attack
from sfumato.attacks.attribute_guessing import ADAPTIVE, ORIGINALS, STATIC, Known
from sfumato.attacks.attribute_inference import AttributeInference
from sfumato.attacks.guessed_labels import deal_folds, shuffle
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.mechanisms.rewriting.candidates import Candidates
from sfumato.mechanisms.rewriting.sentences import Sentences
from sfumato.testing import check_attack
from sfumato.text.document import Document
from unit.models.folders import masked_bert, with_word_pieces

SEED = Randomness.reproducible
TOPICS = {
    "sick": ["doctor", "fever", "hospital", "nurse", "pain", "medicine"],
    "well": ["football", "beach", "mountain", "holiday", "music", "dance"],
}
VALUES = ["sick", "well"] * 20 + ["sick"] * 4
ATTACK = AttributeInference(folds=3, characters=3, words=1)


def texts(values: list[str], *, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return [
        f"The {random.choice(TOPICS[one])} and the {random.choice(TOPICS[one])}." for one in values
    ]


def known(values: list[str], *, seed: int) -> list[Document]:
    return [
        Document(text, labels=(value,))
        for text, value in zip(texts(values, seed=seed), values, strict=True)
    ]


@pytest.fixture
def pool(tmp_path: Path) -> str:
    path = tmp_path / "pool.txt"
    path.write_text("\n".join(dict.fromkeys(texts(["sick", "well"] * 40, seed=9))))
    return str(path)


def released(mechanism: Sentences | Candidates, originals: list[Document]) -> list[Document]:
    return [Document(one) for one in mechanism.rewrite([one.text for one in originals], SEED(4))]


@pytest.mark.parametrize("held_out", [False, True])
def test_what_a_rewritten_text_is_about_tells_the_attribute(pool: str, held_out: bool) -> None:
    originals = known(VALUES, seed=1)
    others = known(["well", "sick"] * 30, seed=2) if held_out else None
    new = released(Sentences(pool=pool, beta=40.0, low=0.1, high=0.7), originals)
    scores = ATTACK.score(new, Known(originals, others), SEED(1))
    assert {one.metric for one in scores.figures} == {STATIC, ADAPTIVE, ORIGINALS}
    assert scores.chance[STATIC] == pytest.approx(24 / 44)
    for metric in (STATIC, ADAPTIVE, ORIGINALS):
        figure = scores.figure(metric)
        assert figure.low is not None
        assert figure.low > scores.chance[metric]
        assert figure.n == len(VALUES)
    control = scores.control.figures[0]
    assert control.low is not None
    assert control.low <= scores.chance[STATIC]
    assert ("other text of the same kind" in scores.knowledge) == held_out


@pytest.mark.parametrize("kind", [Sentences, Candidates])
def test_without_a_weight_nothing_is_told(
    pool: str, kind: type[Sentences] | type[Candidates]
) -> None:
    originals = known(VALUES, seed=1)
    scores = ATTACK.score(released(kind(pool=pool, beta=0.0), originals), Known(originals), SEED(1))
    for metric in (STATIC, ADAPTIVE):
        figure = scores.figure(metric)
        assert figure.low is not None
        assert figure.low <= scores.chance[metric]
    assert scores.figure(ORIGINALS).value > 0.9


def test_vectors_of_documents_can_take_the_place_of_words(tmp_path: Path) -> None:
    folder = str(with_word_pieces(masked_bert(), tmp_path / "encoder"))
    originals = [
        Document("the film was good" if value == "well" else "bad bad film", labels=(value,))
        for value in VALUES
    ]
    attack = AttributeInference(folds=3, encoder=folder)
    scores = attack.score([Document(one.text) for one in originals], Known(originals), SEED(1))
    assert scores.figure(ADAPTIVE).value == 1.0
    assert scores.control.figures[0].value < 1.0


def test_it_runs_on_files_without_the_attribute(pool: str, tmp_path: Path) -> None:
    source, output, other = (tmp_path / name for name in ("in.jsonl", "out.jsonl", "more.jsonl"))
    for path, seed in ((source, 1), (other, 2)):
        path.write_text(
            "\n".join(
                json.dumps({"text": one.text, "state": one.labels[0]})
                for one in known(VALUES, seed=seed)
            )
        )
    settings = {"pool": pool, "beta": 40}
    sfumato.privatize(source, output, mechanism="sentences", settings=settings, drop=["state"])
    assert "state" not in output.read_text()
    for others in (None, other):
        found = sfumato.attack(
            "attribute-inference", output, originals=source, others=others, label_field="state",
            settings={"folds": 3},
        )  # fmt: skip
        assert found.figure(STATIC).value > 0.7
    inputs = Inputs(target=output, originals=source, layout=Layout(label_field="state"))
    check_attack(ATTACK, inputs)
    with pytest.raises(MissingInput, match="label_field"):
        run_attack(ATTACK, Inputs(target=output, originals=source), SEED(1))
    with pytest.raises(MissingInput, match="originals"):
        run_attack(ATTACK, Inputs(target=output), SEED(1))


def test_what_cannot_be_attacked_is_said() -> None:
    originals = known(VALUES, seed=1)
    new = [Document(one.text) for one in originals]
    with pytest.raises(BadInput, match="same documents"):
        ATTACK.score(new[1:], Known(originals), SEED(1))
    with pytest.raises(MissingInput, match="two values"):
        ATTACK.score(new, Known([Document(one.text, labels=("a",)) for one in new]), SEED(1))
    with pytest.raises(BadInput, match="document 1 has no value"):
        ATTACK.score(new, Known(new), SEED(1))
    with pytest.raises(BadInput, match="one value"):
        ATTACK.score(new, Known(originals, [Document("x", labels=("sick",))] * 9), SEED(1))
    rare = [*originals, Document("odd", labels=("rare",))]
    scores = ATTACK.score([*new, Document("odd")], Known(rare), SEED(1))
    assert any("1 documents were left out" in note for note in scores.notes)
    empty = [Document("") for _ in new]
    with pytest.raises(BadInput, match="nothing can be learned"):
        ATTACK.score(empty, Known(originals), SEED(1))
    with pytest.raises(InvalidArgument, match="folds"):
        AttributeInference(folds=1)
    assert "originals" in repr(Known(originals))


def by_people(*, told: bool = False) -> list[Document]:
    """15 documents of each of 20 people, with a value that nothing tells but who wrote them."""
    random = np.random.default_rng(0)
    words = [f"w{number}" for number in range(300)]
    found = []
    for person in range(20):
        own, value = random.choice(words, 12), str(random.integers(2))
        for _ in range(15):
            text = " ".join(random.choice(own, 8)) + (f" shows{value}" if told else "")
            found.append(Document(text, labels=(value,), author=f"person {person}"))
    return found


PEOPLE = AttributeInference(characters=0, words=1)


def test_who_wrote_a_document_is_not_its_attribute() -> None:
    originals = by_people()
    scores = PEOPLE.score(originals, Known(originals), SEED(1))
    for metric in (STATIC, ADAPTIVE, ORIGINALS):
        figure, chance = scores.figure(metric), scores.chance[metric]
        assert figure.value < 0.75
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low < chance
        # Over 20 people, not over 300 documents, of which Wilson's interval is 0.11 wide.
        assert figure.high - figure.low > 0.2
    assert scores.details["folds_by"] == "author"
    assert scores.details["authors"] == 20
    assert scores.control.what.endswith("over authors")
    assert "documents by other authors" in scores.knowledge
    assert any("by author" in note for note in scores.notes)


def test_the_twin_with_folds_by_document_takes_authors_for_attributes() -> None:
    originals = [replace(one, author=None) for one in by_people()]
    scores = PEOPLE.score(originals, Known(originals), SEED(1))
    assert scores.figure(ADAPTIVE).value > 0.95
    assert scores.control.figures[0].value < 0.65
    assert scores.details["folds_by"] == "document"
    assert any("by one person" in note for note in scores.notes)


def test_an_attribute_that_texts_tell_is_told_of_new_people_too() -> None:
    originals = by_people(told=True)
    scores = PEOPLE.score(originals, Known(originals), SEED(1))
    told, (control,) = scores.figure(ADAPTIVE), scores.control.figures
    assert told.low is not None
    assert control.low is not None
    assert told.low > scores.chance[ADAPTIVE] > control.low


def test_other_text_by_the_same_people_is_left_out() -> None:
    originals = by_people()
    new = [replace(one, author=f"new {one.author}") for one in by_people(told=True)]
    scores = PEOPLE.score(originals, Known(originals, [*originals, *new]), SEED(1))
    assert any("300 documents of the other text" in note for note in scores.notes)
    with pytest.raises(BadInput, match="by other people"):
        PEOPLE.score(originals, Known(originals, originals), SEED(1))


def test_authors_must_be_enough_and_of_all_documents() -> None:
    originals = by_people()
    some = [originals[0], replace(originals[1], author=None), *originals[2:]]
    with pytest.raises(BadInput, match="document 2 has no author"):
        PEOPLE.score(originals, Known(some), SEED(1))
    with pytest.raises(MissingInput, match=r"5 authors each.*without `author_field`"):
        PEOPLE.score(originals[:60], Known(originals[:60]), SEED(1))


def test_people_are_dealt_and_permuted_as_a_whole() -> None:
    people = [f"p{number % 12}" for number in range(60)]
    labels = ["ab"[int(one[1:]) % 2] for one in people]
    folds = deal_folds(labels, 3, SEED(1), people)
    at_random = shuffle(labels, SEED(2), people)
    for person in set(people):
        mine = [place for place, one in enumerate(people) if one == person]
        assert len({int(folds[place]) for place in mine}) == 1
        assert len({at_random[place] for place in mine}) == 1
    assert sorted(at_random) == sorted(labels)
    assert at_random != labels
    for label in "ab":
        assert np.bincount(folds[[one == label for one in labels]]).tolist() == [10, 10, 10]
    # The twin without people parts them.
    assert len(set(deal_folds(labels, 3, SEED(1))[::12].tolist())) > 1
    # Labels of documents: somebody with few of them is given as many as there are documents.
    uneven = shuffle(["a", "b", "c"], SEED(3), ["one", "two", "two"])
    assert len(uneven) == 3


def test_files_with_authors_are_folded_by_author(pool: str, tmp_path: Path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [
        json.dumps({"text": one.text, "state": one.labels[0], "who": f"p{place // 2}"})
        for place, one in enumerate(known(sorted(VALUES), seed=1))
    ]
    source.write_text("\n".join(lines))
    sfumato.privatize(
        source, output, mechanism="sentences", settings={"pool": pool, "beta": 40},
        drop=["state", "who"],
    )  # fmt: skip
    found = sfumato.attack(
        "attribute-inference", output, originals=source, label_field="state", author_field="who",
        settings={"folds": 3},
    )  # fmt: skip
    assert found.details["folds_by"] == "author"
    assert found.figure(ADAPTIVE).value > 0.7
