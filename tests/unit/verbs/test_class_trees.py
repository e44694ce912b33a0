"""Classifiers of paths in a tree, from Python, by command and in a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.load import load_model
from sfumato.studies.study import Study
from sfumato.training.run import Run
from sfumato.verbs.measure import measure
from sfumato.verbs.train import train

CLASSES = ["health/flu", "health/pain", "sport/ball"]
SIZES: dict[str, object] = {"layers": 1, "width": 8, "heads": 2, "context": 16}
QUICK: dict[str, Any] = {
    "model": "gpt-small", "settings": SIZES, "epsilon": 8, "delta": 0.01, "epochs": 1,
    "batch_size": 4, "seed": 1, "accountant": "rdp", "label_field": "topic",
}  # fmt: skip
LEVELS = ["accuracy, level 1", "accuracy, level 2"]
PATHS = ["precision, hierarchical", "recall, hierarchical", "f1, hierarchical"]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tree") / "notes.jsonl"
    lines = [
        {"text": f"on {CLASSES[one % 3][-4:]}", "topic": CLASSES[one % 3]} for one in range(12)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


@pytest.fixture(scope="module")
def run(notes: Path) -> Run:
    return train(
        notes, notes.with_name("run"), classes=CLASSES, class_separator="/", trainable="head",
        **QUICK,
    )  # fmt: skip


def test_every_level_is_measured(run: Run, notes: Path) -> None:
    assert run.files.settings()["class_separator"] == "/"
    found = {row.metric: row.value for row in run.evaluate(notes, label_field="topic").rows}
    assert [one for one in found if one.startswith("accuracy, level")] == LEVELS
    assert set(PATHS) <= set(found)
    assert found["accuracy, level 2"] == found["accuracy"]
    assert (found["accuracy, level 1"] or 0) >= (found["accuracy"] or 0)
    # The folder of the model says it, whoever opens it.
    again = load_model(
        str(run.files.model), randomness=Randomness.reproducible(1), kind="classifier"
    )
    assert again.separator == "/"
    taken = measure("classification", run.folder, corpus=notes, label_field="topic")
    assert {row.metric: row.value for row in taken.rows}[PATHS[2]] == found[PATHS[2]]


def test_the_command_and_what_it_refuses(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "train", str(notes), "-o", str(notes.with_name("other")), "--model", "gpt-small",
        *(f"--set={key}={value}" for key, value in SIZES.items()), "--label-field", "topic",
        "--classes", ",".join(CLASSES), "--epsilon", "8", "--delta", "0.01", "--epochs", "1",
        "--batch-size", "4", "--accountant", "rdp", "--json",
    ]  # fmt: skip
    assert main([*command, "--class-separator", ">"]) == 2
    assert "there is no tree" in capsys.readouterr().err
    assert main([*command, "--class-separator", "/"]) == 0
    assert Run.open(notes.with_name("other")).model.separator == "/"
    with pytest.raises(InvalidArgument, match="is for classifiers"):
        train(notes, notes.with_name("none"), epsilon=8, class_separator="/")


STUDY = """
seeds = [1]
anchors = true
[corpus]
path = "notes.jsonl"
label_field = "topic"
public = true
[test]
path = "notes.jsonl"
label_field = "topic"
public = true
[model]
name = "gpt-small"
settings = { layers = 1, width = 8, heads = 2, context = 16 }
classes = ["health/flu", "health/pain", "sport/ball"]
class_separator = "/"
trainable = "head"
epochs = 1
batch_size = 4
delta = 0.01
accountant = "rdp"
[[methods]]
name = "head"
training = "private"
epsilon = 8
[measures.classification]
"""


def test_a_study_measures_the_levels(notes: Path) -> None:
    study = Study.parse(STUDY, folder=notes.parent, name="tree")
    rows = study.run(workers=0).rows()
    assert {row.metric for row in rows} >= {*LEVELS, *PATHS}
    assert len({row.method for row in rows if row.metric == PATHS[2]}) == 3, "anchors, too"
    with pytest.raises(InvalidArgument, match="no tree"):
        Study.parse(STUDY.replace('"/"', '">"'), folder=notes.parent, name="tree").run(workers=0)
