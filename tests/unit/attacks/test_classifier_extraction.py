"""Words from classifiers: the search itself, then a classifier that has learned a canary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sfumato.attacks.attack import Inputs
from sfumato.attacks.classifier_extraction import ClassifierExtraction, best, frequencies
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.corpora.classifier_canaries import (
    ClassifierCanaries,
    Shape,
    documents_of,
    draw,
    plant,
    rarest_label,
    read_classifier_canaries,
)
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.models.load import load_model
from sfumato.text.document import Document
from sfumato.training.batches import physical_batches
from sfumato.training.records import Cut, make_labeled_records

WORDS = [
    first + second
    for first in ("ba", "ke", "lo", "mi", "nu", "ra", "so", "ti", "vo", "we")
    for second in ("ton", "mer", "ling", "pad", "ris", "dale", "fen", "gor", "hash", "jin")
]
CLASSES = ("common", "rare")


def canaries(last: int = 1) -> ClassifierCanaries:
    shape = Shape(count=3, repetitions=6, words=5, last=last)
    return draw("rare", WORDS, shape, Randomness.reproducible(1))


@pytest.fixture(scope="module")
def target() -> ModelTarget:
    """A classifier trained on canaries and supporting ones until it knows them."""
    model = load_model(
        "gpt-small",
        randomness=Randomness.reproducible(1),
        kind="classifier",
        classes=CLASSES,
        settings={"layers": 1, "width": 32, "heads": 2, "context": 32},
    )
    documents = documents_of(canaries(), CLASSES, Randomness.reproducible(2))
    # More supporting ones, so that the ending decides and not the beginning.
    for seed in range(3, 12):
        more = documents_of(canaries(), CLASSES, Randomness.reproducible(seed))
        documents += [one for one in more if one.labels == ("common",)]
    cut = Cut(context=model.context, long="truncate")
    records = make_labeled_records(documents, model.tokenizer, cut, CLASSES)
    optimizer = torch.optim.Adam(model.network.parameters(), lr=0.003)
    for _ in range(60):
        for group in physical_batches(records, range(len(records)), most_tokens=4096):
            for rows in group:
                optimizer.zero_grad()
                logits = model.network(
                    input_ids=rows.input_ids, attention_mask=rows.attention_mask
                ).logits
                loss = torch.nn.functional.cross_entropy(logits, rows.labels.view(-1))
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
    model.network.eval()
    return ModelTarget(model, "learned")


def test_learned_endings_are_found_and_the_twin_finds_none(target: ModelTarget) -> None:
    attack = ClassifierExtraction(beam=8)
    scores = attack.score(target, canaries(), Randomness.reproducible(3))
    assert scores.figure("found").value >= 2 / 3
    assert scores.chance["found"] == 8 / 100
    assert scores.control.figures[0].value <= 1 / 3


def test_canaries_never_planted_are_not_found(target: ModelTarget) -> None:
    others = draw("rare", WORDS, Shape(count=6, words=5), Randomness.reproducible(77))
    scores = ClassifierExtraction(beam=5).score(target, others, Randomness.reproducible(3))
    assert scores.figure("found").value <= 0.5


def test_several_missing_words_are_searched_with_a_beam(target: ModelTarget) -> None:
    """Against trying all pairs of a short list."""
    words = canaries().originals[0]
    data = ClassifierCanaries((words,), "rare", 2, 6, tuple(WORDS[:6]))
    attack = ClassifierExtraction(beam=5, lambda_=0.0)
    likely = np.stack(
        [attack._likelihoods(target, data, (*words[:-2], first)) for first in data.candidates]
    )
    first = attack._likelihoods(target, data, words[:-2])
    kept = np.argsort(first)[::-1][:5]
    wanted = {
        (*words[:-2], data.candidates[row], data.candidates[column])
        for row, column in zip(
            *np.unravel_index(
                best(np.where(np.isin(np.arange(6), kept)[:, None], likely, -1.0), 5), (6, 6)
            ),
            strict=True,
        )
    }
    for ending in wanted:
        data = ClassifierCanaries((ending,), "rare", 2, 6, tuple(WORDS[:6]))
        assert attack._finds(target, data, ending, None)


def test_frequent_words_are_held_back() -> None:
    shares = frequencies(1000)
    assert shares.sum() == pytest.approx(1.0)
    assert (np.diff(shares) < 0).all()


def test_wrong_requests_are_refused(target: ModelTarget) -> None:
    with pytest.raises(InvalidArgument, match="beam=100"):
        ClassifierExtraction().score(target, canaries(), Randomness.reproducible(1))
    other = ClassifierCanaries(canaries().originals, "third", 1, 1, tuple(WORDS))
    with pytest.raises(BadInput, match="no class 'third'"):
        ClassifierExtraction(beam=2).score(target, other, Randomness.reproducible(1))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    for given in (None, tmp_path / "c.jsonl.canaries.json"):
        said = ClassifierExtraction().missing(Inputs(target=tmp_path, canaries=given))
        assert said is not None
        assert "sfumato.plant_classifier_canaries(" in said


def test_planting_writes_originals_and_supporting_ones(tmp_path: Path) -> None:
    path, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [{"text": f"t{n}", "label": "common" if n else "rare"} for n in range(5)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = Source.of(path, Layout(label_field="label"))
    assert rarest_label(list(source.documents())) == "rare"
    plant(source, output, canaries(last=2), Randomness.reproducible(1))
    added = [json.loads(line) for line in output.read_text().splitlines()][5:]
    assert len(added) == 3 * (6 + 1)
    for place, words in enumerate(canaries(last=2).originals):
        *originals, supporting = added[7 * place : 7 * place + 7]
        assert all(one == {"text": " ".join(words), "label": "rare"} for one in originals)
        assert supporting["label"] == "common"
        assert supporting["text"].split()[:-2] == list(words[:-2])
        assert supporting["text"].split()[-2:] != list(words[-2:])
    beside = tmp_path / "out.jsonl.classifier-canaries.json"
    assert read_classifier_canaries(beside) == canaries(last=2)


def test_one_class_is_none() -> None:
    with pytest.raises(BadInput, match="two classes"):
        rarest_label([Document("a", labels=("x",)), Document("b", labels=("x",))])


@pytest.mark.parametrize("content", ["", "[]", '{"schema": 1}'])
def test_a_damaged_list_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.classifier-canaries.json"
    path.write_text(content)
    with pytest.raises(BadInput, match=r"x\.classifier-canaries"):
        read_classifier_canaries(path)


@pytest.mark.parametrize(
    "changed",
    [
        {"last": 0},
        {"last": -1},
        {"last": 50},
        {"last": float("inf")},
        {"repetitions": 0},
        {"originals": [[]]},
        {"originals": "abc"},
        {"originals": [["never", "listed", "anywhere", "words"]]},
        {"candidates": []},
        {"label": 7},
    ],
)
def test_a_list_edited_by_hand_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    path = tmp_path / "x.classifier-canaries.json"
    path.write_text(json.dumps(canaries(last=1).as_dict() | changed))
    with pytest.raises(BadInput, match=r"x\.classifier-canaries"):
        read_classifier_canaries(path)


@pytest.mark.parametrize("shape", [{"words": 1}, {"last": 10}, {"count": 0}])
def test_impossible_shapes_are_refused(shape: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        Shape(**shape)
