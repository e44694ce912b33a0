"""Attributes of authors: told by their documents together, at chance where there is nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.attacks import author_attributes
from sfumato.attacks.attack import Attempt, Inputs, chapter_of, needs_of, run_attack
from sfumato.attacks.attribute_guessing import ADAPTIVE, ORIGINALS, STATIC, Known
from sfumato.attacks.author_attributes import ONE, AuthorAttributes, People
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.results.measured import Measured
from sfumato.results.row import LEAKAGE
from sfumato.results.scores import Scores
from sfumato.studies.folder import StudyFolder
from sfumato.studies.runner import run_study
from sfumato.testing import check_attack
from sfumato.text.document import Document
from small_study import small_study
from unit.models.folders import masked_bert, with_word_pieces

SEED = Randomness.reproducible
ATTACK = AuthorAttributes(folds=4, characters=0, words=1)
AUTHORS, EACH, LEAN = 40, 10, 0.65
WORDS = ("lovely", "shiny", "cheap", "heavy"), ("rapid", "sturdy", "quiet", "plain")
MARKS = [f"habit{number}" for number in range(AUTHORS)]


def written(*, lean: float = LEAN, seed: int = 1, first: int = 0) -> list[Document]:
    """Two words a document, each from the words that an author's group prefers with ``lean``.

    A document also has a word that nobody but its author uses, which tells nothing about others.
    """
    random = np.random.default_rng(seed)
    found = []
    for author in range(AUTHORS):
        group = author % 2
        for _ in range(EACH):
            sides = [group if random.random() < lean else 1 - group for _ in range(2)]
            words = [random.choice(WORDS[side]) for side in sides]
            found.append(
                Document(
                    " ".join([*words, MARKS[author]]),
                    author=f"a{first + author}",
                    labels=("old" if group else "young",),
                )
            )
    order = random.permutation(len(found)).tolist()
    return [found[one] for one in order]


def blank(documents: list[Document]) -> list[Document]:
    """As a release: text alone."""
    return [Document(one.text) for one in documents]


def scored(documents: list[Document], seed: int = 1, attack: AuthorAttributes = ATTACK) -> Scores:
    return attack.score(blank(documents), {"age": Known(documents)}, SEED(seed))


@pytest.fixture(scope="module")
def found() -> Scores:
    return scored(written())


def test_what_documents_hardly_tell_their_author_does(found: Scores) -> None:
    adaptive, alone = found.figure(ADAPTIVE), found.figure(ONE)
    assert adaptive.n == alone.n == AUTHORS
    assert found.chance == pytest.approx(dict.fromkeys((STATIC, ADAPTIVE, ORIGINALS, ONE), 0.5))
    assert adaptive.low is not None
    assert alone.high is not None
    assert adaptive.low > 0.5
    assert adaptive.value > alone.value
    (control,) = found.control.figures
    assert control.low is not None
    assert control.low <= 0.5
    assert "over authors" in found.control.what
    assert "other authors" in found.knowledge
    assert any("10 times the level" in note for note in found.notes)
    assert found.details["attributes"]["age"]["authors"] == AUTHORS


def test_where_groups_write_alike_nothing_is_told() -> None:
    for figure in scored(written(lean=0.5)).figures:
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low <= 0.5 <= figure.high


def test_whoever_has_seen_the_author_would_find_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the test above: documents of one author in several folds."""

    def split(self: People, documents: list[Document], described: list[Document]) -> list[Document]:
        del self
        return [
            Document(one.text, labels=other.labels)
            for one, other in zip(documents, described, strict=True)
        ]

    monkeypatch.setattr(author_attributes.People, "pool", split)
    beside = Measured(ONE, 0.5, 0.4, 0.6, AUTHORS)
    monkeypatch.setattr(AuthorAttributes, "_one_document", lambda *_: beside)
    peeking = scored(written(lean=0.5)).figure(ADAPTIVE)
    assert peeking.low is not None
    assert peeking.low > 0.9


def test_several_attributes_have_figures_of_their_own() -> None:
    documents = written()
    towns = [replace(one, labels=("ab"[int(str(one.author)[1:]) // 2 % 2],)) for one in documents]
    data = {"age": Known(documents), "town": Known(towns)}
    steps: list[tuple[int, int]] = []
    scores = ATTACK.score(blank(documents), data, SEED(1), lambda *step: steps.append(step))
    assert {one.metric for one in scores.figures} == set(scores.chance)
    assert scores.figure("adaptive, age").value > scores.figure("adaptive, town").value
    assert {one.metric for one in scores.control.figures} == {"adaptive, age", "adaptive, town"}
    assert steps[-1] == (10, 10)
    assert sum("over authors" in note for note in scores.notes) == 1
    needs = needs_of(ATTACK)
    left = [one.metric for one in scores.figures if not needs.is_about_the_data(one.metric)]
    assert "originals, age" not in left
    assert "one document, town" in left


def test_text_by_other_people_may_be_learned_from() -> None:
    documents, public = written(), written(seed=2, first=AUTHORS - 4)
    data = {"age": Known(documents, public)}
    scores = ATTACK.score(blank(documents), data, SEED(1))
    assert scores.figure(STATIC).value > 0.5
    assert any(f"{4 * EACH} documents of the other text" in note for note in scores.notes)
    with pytest.raises(BadInput, match="by other people"):
        ATTACK.score(blank(documents), {"age": Known(documents, documents)}, SEED(1))


def test_vectors_of_lines_can_take_the_place_of_words(tmp_path: Path) -> None:
    folder = str(with_word_pieces(masked_bert(), tmp_path / "encoder"))
    said = ("the film was good", "bad bad film")
    documents = [
        Document(said[author % 2], author=f"a{author}", labels=("ab"[author % 2],))
        for author in range(12)
        for _ in range(2)
    ]
    attack = AuthorAttributes(folds=3, encoder=folder)
    assert scored(documents, attack=attack).figure(ADAPTIVE).value == 1.0


def test_it_runs_on_files_and_in_a_chart(tmp_path: Path, small_vectors: None) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"text": one.text, "who": one.author, "age": one.labels[0], "town": str(one.author)[-1]}
        for one in written(lean=1.0)[:120]
    ]
    source.write_text("\n".join(map(json.dumps, rows)))
    drop = ["who", "age", "town"]
    sfumato.privatize(source, output, mechanism="custom", epsilon=50, policy="digits", drop=drop)
    settings = {"folds": 2, "characters": 0, "words": 1, "attributes": ["age"]}
    found = sfumato.attack(
        "author-attributes", output, originals=source, author_field="who", settings=settings
    )
    assert found.figure(ADAPTIVE).value > 0.5
    layout = Layout(label_field="age", author_field="who")
    inputs = Inputs(target=output, originals=source, layout=layout)
    check_attack(ATTACK, inputs)
    picture = ATTACK.chart(found).content("svg").decode()
    assert ">one document<" in picture
    attempt = Attempt(method="custom", scores=found)
    assert chapter_of("author-attributes", AuthorAttributes, [attempt]) is not None
    for lacking, word in (
        (Layout(label_field="age"), "author_field"),
        (Layout(author_field="who"), "label_field"),
    ):
        with pytest.raises(MissingInput, match=word):
            run_attack(ATTACK, replace(inputs, layout=lacking), SEED(1))


STUDY = """
title = "Authors"
seeds = [1]
anchors = false

[corpus]
path = "people.jsonl"
author_field = "who"
label_field = "age"
public = true

[[methods]]
name = "masks"
mechanism = "redact"
policy = "digits"

[attacks.author-attributes]
folds = 3
characters = 0
"""


def test_a_study_attacks_authors_and_counts_no_figure_of_the_originals(tmp_path: Path) -> None:
    rows = [
        {"text": one.text, "who": one.author, "age": one.labels[0]} for one in written(lean=1.0)
    ]
    (tmp_path / "people.jsonl").write_text("\n".join(map(json.dumps, rows[:90])))
    run_study(small_study(tmp_path, STUDY), tmp_path / "out", workers=0)
    found = [row for row in StudyFolder(tmp_path / "out").rows() if row.role == LEAKAGE]
    assert {row.metric for row in found} == {STATIC, ADAPTIVE, ONE}
    assert all(row.chance is not None and row.by == ATTACK.name for row in found)


def test_what_cannot_be_attacked_is_said_without_names() -> None:
    documents = written()
    with pytest.raises(BadInput, match="same documents"):
        ATTACK.score(blank(documents)[1:], {"age": Known(documents)}, SEED(1))
    place = next(n for n, one in enumerate(documents[1:], 1) if one.author == documents[0].author)
    both = [*documents]
    both[place] = replace(both[place], labels=("ageless",))
    with pytest.raises(BadInput, match=rf"documents 1 and {place + 1} are by one author") as error:
        scored(both)
    assert "ageless" not in str(error.value)
    assert str(documents[0].author) not in str(error.value)
    with pytest.raises(BadInput, match="document 3 has no author"):
        scored([*documents[:2], replace(documents[2], author=None), *documents[3:]])
    with pytest.raises(BadInput, match="no value"):
        scored([replace(one, labels=()) for one in documents])
    with pytest.raises(MissingInput, match="30 authors each"):
        scored(documents[:40], attack=replace(ATTACK, folds=30))
    with pytest.raises(InvalidArgument, match="different columns"):
        AuthorAttributes(attributes=("age", "age"))
    with pytest.raises(InvalidArgument, match="by its name"):
        ATTACK.score(blank(documents), {}, SEED(1))


def test_authors_of_one_document_have_nothing_to_put_together() -> None:
    documents = [replace(one, author=f"b{place}") for place, one in enumerate(written()[:120])]
    scores = scored(documents)
    assert ONE not in scores.chance
    assert any("those of documents" in note for note in scores.notes)
