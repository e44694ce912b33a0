"""Authorship: authors who differ are told apart, authors who do not are not, and why not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.attacks.attack import Inputs, run_attack
from sfumato.attacks.authorship import Authorship
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.text.document import Document

SEED = Randomness.reproducible
STYLES = {
    "ada": ["whilst", "indeed", "color", "perhaps", "rather"],
    "bob": ["gonna", "yeah", "color", "maybe", "kinda"],
    "cy": ["verily", "thou", "hast", "thine", "doth"],
}
COMMON = ["the", "ship", "sails", "to", "a", "far", "shore", "and", "back"]
ATTACK = Authorship(folds=3, characters=3, words=1)


def written(authors: list[str], *, style: bool, seed: int = 1) -> list[Document]:
    """Short documents, with words of their author's own or with everybody's only."""
    random = np.random.default_rng(seed)
    documents = []
    for author in authors:
        words = list(random.choice(COMMON, 8))
        words += list(random.choice(STYLES[author] if style else COMMON, 3))
        documents.append(Document(" ".join(random.permutation(words)), author=author))
    return documents


AUTHORS = ["ada", "bob", "cy"] * 12 + ["ada"] * 6


def test_authors_with_a_style_are_told_apart() -> None:
    scores = ATTACK.score(written(AUTHORS, style=True), None, SEED(1))
    figure = scores.figure("adaptive")
    assert figure.value > 0.9
    assert figure.n == len(AUTHORS)
    assert scores.chance["adaptive"] == pytest.approx(18 / 42)
    assert len(scores.figures) == 1
    # Dealt out at random nobody has a style, and the control is near chance or below.
    control = scores.control.figures[0]
    assert control.low is not None
    assert control.low <= scores.chance["adaptive"]
    assert figure.low is not None
    assert control.high is not None
    assert control.high < figure.low
    assert any("`originals=IN`" in note for note in scores.notes)


def test_privatized_text_without_style_hides_its_author() -> None:
    originals, released = written(AUTHORS, style=True), written(AUTHORS, style=False, seed=2)
    scores = ATTACK.score(released, originals, SEED(1))
    assert [one.metric for one in scores.figures] == ["adaptive", "static", "originals"]
    assert scores.figure("originals").value > 0.9
    for name in ("adaptive", "static"):
        figure = scores.figure(name)
        assert figure.low is not None
        assert figure.low <= scores.chance[name]


def test_the_adaptive_attacker_sees_what_the_static_one_misses() -> None:
    """A code that replaces each author's words alike hides them from the static one only."""
    originals = written(AUTHORS, style=True)
    code = {word: f"{word[::-1]}x" for words in [*STYLES.values(), COMMON] for word in words}
    released = [
        Document(" ".join(code[word] for word in one.text.split()), author=one.author)
        for one in originals
    ]
    scores = Authorship(folds=3, characters=0, words=1).score(released, originals, SEED(1))
    assert scores.figure("adaptive").value > 0.9
    assert scores.figure("static").value < 0.6


def test_nobody_is_tested_on_what_was_learned() -> None:
    """Every document is unlike all others: only a model that has seen it could know its author."""
    random = np.random.default_rng(5)
    documents = [
        Document("".join(random.choice(list("abcdefghij"), 30)), author=author)
        for author in ["ada", "bob"] * 30
    ]
    scores = Authorship(folds=5).score(documents, documents, SEED(1))
    for figure in scores.figures:
        assert figure.low is not None
        assert figure.low < 0.5


def test_few_documents_are_left_out_and_counted() -> None:
    documents = [*written(AUTHORS, style=True), Document("lone", author="dora")]
    scores = ATTACK.score(documents, None, SEED(1))
    assert scores.figure("adaptive").n == len(AUTHORS)
    assert any(note.startswith("1 documents were left out") for note in scores.notes)
    with pytest.raises(MissingInput, match="at least two authors with 3 documents"):
        ATTACK.score(documents[:3], None, SEED(1))


def test_two_authors_with_two_documents_each_are_enough() -> None:
    documents = written(["ada", "bob", "ada", "bob"], style=True)
    for seed in range(8):
        assert Authorship(folds=2).score(documents, None, SEED(seed)).figure("adaptive").n == 4


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(
        "".join(
            json.dumps({"text": one.text, "who": one.author}) + "\n"
            for one in written(AUTHORS, style=True)
        )
    )
    with pytest.raises(MissingInput, match="`author_field=NAME`"):
        run_attack(ATTACK, Inputs(target=path), SEED(1))
    with pytest.raises(MissingInput, match="not a file of documents"):
        run_attack(ATTACK, Inputs(target=tmp_path), SEED(1))
    inputs = Inputs(target=path, layout=Layout(author_field="who"))
    done: list[tuple[int, int]] = []
    scores = run_attack(ATTACK, inputs, SEED(1), lambda *now: done.append(now))
    assert scores.figure("adaptive").value > 0.9
    assert done == [(0, 1), (1, 2), (2, 2)]
    assert "gonna" not in json.dumps(scores.as_dict())


def test_bad_documents_are_named_by_number() -> None:
    documents = written(AUTHORS, style=True)
    with pytest.raises(BadInput, match="document 2 has no author"):
        ATTACK.score([documents[0], Document("secret"), *documents], None, SEED(1))
    with pytest.raises(BadInput, match="41 documents and the privatized text has 42"):
        ATTACK.score(documents, documents[1:], SEED(1))
    empty = [Document("", author=author) for author in AUTHORS]
    with pytest.raises(BadInput, match="nothing can be learned"):
        ATTACK.score(empty, None, SEED(1))


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidArgument, match="folds=1"):
        Authorship(folds=1)
    with pytest.raises(InvalidArgument, match="words=0"):
        Authorship(characters=0, words=0)


def test_rewritten_files_are_attacked_like_others(tmp_path: Path) -> None:
    """What is drawn without a look at the text hides its author; near sentences do not."""
    authors = ["ada", "bob"] * 12
    source, pool = tmp_path / "in.jsonl", tmp_path / "pool.txt"
    lines = [f"{' '.join(STYLES[one][:3])} {COMMON[n % 9]}" for n, one in enumerate(authors)]
    source.write_text(
        "\n".join(
            json.dumps({"who": who, "text": text}) for who, text in zip(authors, lines, strict=True)
        )
    )
    pool.write_text("\n".join(f"{' '.join(STYLES[one][2:])} ship" for one in STYLES))
    found = {}
    for name, settings in {
        "near": {"beta": 40},
        "drawn": {"beta": 0},
    }.items():
        output = tmp_path / f"{name}.jsonl"
        told = {"pool": str(pool), **settings}
        sfumato.privatize(
            source, output, mechanism="sentences", settings=told, keep=["who"], seed=1
        )
        found[name] = sfumato.attack(
            "authorship", output, originals=source, author_field="who", settings={"folds": 3}
        )
    assert found["near"].figure("adaptive").value > 0.9
    control = found["drawn"].figure("adaptive")
    assert control.low is not None
    assert control.low <= found["drawn"].chance["adaptive"]
