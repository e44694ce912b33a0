"""Attributes: told where they show, at chance where they do not, and what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.attacks.attack import Inputs, run_attack
from sfumato.attacks.attribute_inference import (
    ADAPTIVE,
    ORIGINALS,
    STATIC,
    AttributeInference,
    Known,
)
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
