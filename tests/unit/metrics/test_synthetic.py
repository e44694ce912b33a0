"""Figures about synthetic corpora: copies are found out, honest ones are not accused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.cli.main import main
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.metrics.rewriting import public_encoder
from sfumato.metrics.synthetic import NOT_PRIVATE, SyntheticEvaluation, evaluate_corpus
from sfumato.text.document import Document

pytestmark = pytest.mark.usefixtures("small_vectors")

WORDS = ("day", "house", "water", "team", "music", "school", "money", "story", "film", "war")
KINDS = {"good": "good best great happy", "bad": "bad worst wrong poor"}


def corpus(count: int, seed: int, *, flipped: bool = False) -> list[Document]:
    rng = np.random.default_rng(seed)
    found = []
    for n in range(count):
        label = ("good", "bad")[n % 2]
        said = KINDS[("bad" if label == "good" else "good") if flipped else label].split()
        words = [*rng.choice(WORDS, 5), *rng.choice(said, 2)]
        found.append(Document(" ".join(words), labels=(label,)))
    return found


def judge(synthetic: list[Document], control: list[Document] | None = None) -> SyntheticEvaluation:
    return evaluate_corpus(
        synthetic,
        corpus(200, 1),
        corpus(150, 2),
        control=control or (),
        encoder=public_encoder,
        randomness=Randomness.reproducible(1),
    )


def test_an_honest_corpus_is_useful_and_no_nearer_to_its_originals() -> None:
    found = judge(corpus(120, 3), control=corpus(120, 4, flipped=True))
    assert found.figure("accuracy").value > 0.9
    assert found.figure("accuracy, control").value < 0.2
    above = found.figure("above the control")
    assert above.low is not None
    assert above.low > 0.5
    for metric in ("nearer to originals", "membership", "membership, control"):
        one = found.figure(metric)
        assert one.low is not None
        assert one.high is not None
        assert one.low <= 0.5 <= one.high
    assert 0 < found.figure("distinct pairs").value < 1


def test_a_copy_is_found_out() -> None:
    found = judge(corpus(200, 1))
    assert found.figure("membership").value > 0.95
    assert found.figure("nearer to originals").value > 0.7
    mine, others = (found.figure(f"shared 4-grams, {one}") for one in ("originals", "held-out"))
    assert mine.value > 10 * others.value
    assert found.figure("nearest original").value < found.figure("nearest held-out").value


def test_figures_say_that_they_are_not_private() -> None:
    found = judge(corpus(20, 3))
    assert NOT_PRIVATE in repr(found)
    assert NOT_PRIVATE in found._repr_html_()
    assert found.as_dict()["care"] == NOT_PRIVATE


def test_without_labels_there_is_no_accuracy_and_without_texts_nothing() -> None:
    plain = [Document(one.text) for one in corpus(30, 3)]
    assert "accuracy" not in {one.metric for one in judge(plain).figures}
    with pytest.raises(BadInput, match="one of them is empty"):
        judge([])


def test_the_command_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, documents in (("in", corpus(80, 1)), ("held", corpus(60, 2)), ("out", corpus(40, 3))):
        lines = [json.dumps({"text": one.text, "label": one.labels[0]}) for one in documents]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    command = ["evaluate-synthetic", "out.jsonl", "--originals", "in.jsonl", "--held-out",
               "held.jsonl", "--label-field", "label", "--seed", "1"]  # fmt: skip
    assert main(command) == 0
    assert "NOT PRIVATE" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["figures"][0]["metric"] == "accuracy"
    assert len(list(tmp_path.iterdir())) == 3
    found = sfumato.evaluate_synthetic(
        "out.jsonl", originals="in.jsonl", held_out="held.jsonl", label_field="label", seed=1
    )
    assert found.as_dict() == told
