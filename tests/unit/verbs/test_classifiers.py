"""Classifiers from a table without a header to figures by group, from Python and by command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.cli.main import main
from sfumato.core.errors import CannotResume, InvalidArgument
from sfumato.models.bpe import default_tokenizer
from sfumato.studies.study import Study
from sfumato.text.document import Document
from sfumato.training.batches import physical_batches
from sfumato.training.records import Cut, make_labeled_records, weigh_classes
from sfumato.training.run import Run
from sfumato.verbs.measure import measure
from sfumato.verbs.model import evaluate
from sfumato.verbs.train import train

SIZES: dict[str, object] = {"layers": 2, "width": 8, "heads": 2, "context": 16}
QUICK: dict[str, Any] = {
    "model": "gpt-small", "settings": SIZES, "epsilon": 8, "delta": 0.01, "epochs": 1,
    "batch_size": 4, "seed": 1, "accountant": "rdp", "classes": [0, 1],
}  # fmt: skip
# As in CoLA: the source, the label, a mark, the sentence; no header.
ROWS = [
    (f"source{number % 2}", str(number % 2), "", "they was here" if number % 2 else "they were")
    for number in range(12)
]
FIELDS: dict[str, Any] = {"field": "4", "label_field": "2", "header": False}
METRICS = ["accuracy", "matthews", "f1, macro", "f1, 0", "f1, 1"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("classes") / "cola.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in ROWS))
    return path


@pytest.fixture(scope="module")
def run(table: Path) -> Run:
    other = table.with_name("dev.tsv")
    other.write_text("".join("\t".join(row) + "\n" for row in ROWS[:6]))
    return train(
        table, table.with_name("run"), trainable="head", valid=other, class_weights=(1, 3),
        **FIELDS, **QUICK,
    )  # fmt: skip


def test_a_head_is_trained_on_columns_by_number(run: Run) -> None:
    assert [one.metric for one in run.measured] == METRICS
    assert run.measured[0].n == 6
    told = run.files.settings()
    assert told["trainable"] == "head"
    assert told["classes"] == ["0", "1"]
    assert told["course"]["class_weights"] == [1, 3]
    assert told["corpus"]["header"] is False
    assert run.model.classes == ("0", "1")


def test_figures_are_shown_for_every_group(run: Run, table: Path) -> None:
    found = run.evaluate(table, group_field="1", author_field="1", **FIELDS)
    assert {row.group for row in found.rows} == {None, "source0", "source1"}
    whole = [row for row in found.rows if row.group is None]
    assert [row.metric for row in whole] == METRICS
    assert whole[0].n == 12
    shares = [row.value for row in found.rows if row.group and row.metric == "accuracy"]
    assert np.mean([share or 0 for share in shares]) == pytest.approx(whole[0].value)
    assert "labels, source1" in repr(found)
    again = evaluate(run.folder, table, **FIELDS)
    assert [row.value for row in again.rows] == [row.value for row in whole]
    taken = measure("classification", run.folder, corpus=table, **FIELDS)
    assert [row.metric for row in taken.rows] == METRICS
    assert taken.rows[0].value == whole[0].value


def test_what_is_not_read_is_said(run: Run, tmp_path: Path) -> None:
    long = tmp_path / "long.tsv"
    long.write_text("x\t1\t\t" + "they were here and there " * 20 + "\nx\t0\t\tthey\n")
    (line,) = run.evaluate(long, **FIELDS).notes
    assert line.startswith("1 of 2 documents are longer than the 16 tokens")


def test_the_command_does_the_same(
    run: Run, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = ["--no-header", "--field", "4", "--label-field", "2"]
    options = ["--corpus", str(table), *there, "--group-field", "1", "--json"]
    assert main(["evaluate", str(run.folder), *options]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["group"] for row in rows} == {None, "source0", "source1"}
    assert main(
        [
            "train", str(table), "-o", str(table.with_name("last")), "--model", "gpt-small", *there,
            *(f"--set={key}={value}" for key, value in SIZES.items()), "--classes", "0,1",
            "--class-weights", "1,2", "--trainable", "last:1", "--epsilon", "8", "--epochs", "1",
            "--batch-size", "4", "--accountant", "rdp", "--delta", "0.01", "--json",
        ]
    ) == 0  # fmt: skip
    told = Run.open(table.with_name("last")).files.settings()
    assert told["trainable"] == "last:1"
    assert told["course"]["class_weights"] == [1, 2]


def test_a_run_is_attacked_with_a_table_like_the_one_it_was_trained_on(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "rows.tsv"
    table.write_text("".join(f"source\t{number % 2}\t\tthey {number}\n" for number in range(5)))
    command = ["attack", "gradient-candidates", str(run.folder), "--members", str(table), "--json"]
    columns = ["--field", "4", "--no-header"]
    # Its losses have weights that the attack does not know.
    assert main([*command, *columns, "--label-field", "2", "--set", "noise=run"]) == 2
    assert "weights of classes" in capsys.readouterr().err
    assert main([*command, *columns, "--label-field", "2"]) == 0
    # The first row is a document, too.
    assert json.loads(capsys.readouterr().out)["figures"][0]["n"] == 5
    assert main([*command, *columns]) == 3
    assert (
        "no label (0, 1); name the field that holds it: --label-field NAME"
        in capsys.readouterr().err
    )


def test_weights_that_count_labels_are_refused_where_there_is_a_guarantee(
    table: Path, tmp_path: Path
) -> None:
    for method in ("private", "directional"):
        with pytest.raises(InvalidArgument, match="counts the labels, which are private"):
            train(
                table, tmp_path / "run", method=method, class_weights="balanced", **FIELDS, **QUICK
            )
    assert not (tmp_path / "run").exists()
    plain = {key: value for key, value in QUICK.items() if key != "epsilon"}
    done = train(
        table, tmp_path / "run", method="plain", class_weights="balanced", **FIELDS, **plain
    )
    assert done.files.settings()["course"]["class_weights"] == "balanced"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"class_weights": (1,)}, "1 numbers for 2 classes"),
        ({"class_weights": (1, 0)}, "class_weights=0"),
        ({"class_weights": "heavy"}, "'balanced'"),
        ({"trainable": "tail"}, "last:K"),
        ({"trainable": "head", "lora_rank": 2}, "give one of them"),
        ({"trainable": "last:3"}, "has 2 layers"),
    ],
)
def test_wrong_settings_are_refused(
    given: dict[str, Any], problem: str, table: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        train(table, tmp_path / "run", **given, **FIELDS, **QUICK)


def test_weights_are_for_classifiers(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("a\nb\n")
    with pytest.raises(InvalidArgument, match="is for classifiers"):
        train(notes, tmp_path / "run", epsilon=8, class_weights=(1, 2))


def test_weights_scale_the_losses_of_their_class_before_clipping() -> None:
    documents = [Document("they were here", labels=(str(number % 2),)) for number in range(4)]
    cut = Cut(context=16, long="truncate")
    records = make_labeled_records(documents, default_tokenizer(), cut, ("0", "1"))
    ((plain,),) = physical_batches(records, range(4), most_tokens=100)
    ((heavy,),) = physical_batches(weigh_classes(records, 2, (1, 3)), range(4), most_tokens=100)
    assert (heavy.weights / plain.weights).tolist() == [1, 3, 1, 3]
    skewed = [Document("a", labels=(one,)) for one in "0001"]
    uneven = make_labeled_records(skewed, default_tokenizer(), cut, ("0", "1"))
    balanced = weigh_classes(uneven, 2, "balanced").class_weights
    assert balanced is not None
    assert balanced * [3, 1] == pytest.approx([2, 2])  # both classes weigh the same


STUDY = """
seeds = [1]
groups = "1"
anchors = false

[corpus]
path = "cola.tsv"
field = "4"
label_field = "2"
header = false
{public}

[test]
path = "cola.tsv"
field = "4"
label_field = "2"
header = false
{public}

[model]
name = "gpt-small"
settings = {{ layers = 2, width = 8, heads = 2, context = 16 }}
classes = ["0", "1"]
trainable = "head"
epochs = 1
batch_size = 4
delta = 0.01
accountant = "rdp"
class_weights = [1, 2]

[[methods]]
name = "head"
training = "private"
epsilon = 8

[measures.classification]
"""


@pytest.mark.parametrize("public", ["", "public = true"])
def test_a_study_trains_and_measures_classifiers(public: str, table: Path, tmp_path: Path) -> None:
    (tmp_path / "cola.tsv").write_text(table.read_text())
    study = Study.parse(STUDY.format(public=public), folder=tmp_path, name="classes")
    rows = study.run(workers=0).rows()
    assert {row.metric for row in rows} >= set(METRICS)
    assert {row.group for row in rows if row.metric == "accuracy"} == {None, "source0", "source1"}
    whole = next(row for row in rows if row.metric == "accuracy" and row.group is None)
    assert whole.n == 12


def test_a_study_of_classes_needs_labels(tmp_path: Path) -> None:
    text = STUDY.format(public="").replace('label_field = "2"\n', "")
    with pytest.raises(InvalidArgument, match="need a path and label_field"):
        Study.parse(text, folder=tmp_path, name="classes")


def test_attacks_compare_with_the_others_that_a_study_names(tmp_path: Path) -> None:
    """Members against others; without these it is the test text, of which none is new here."""
    for name, start in (("cola", 0), ("others", 12)):
        lines = (f"x\t{one % 2}\t\tnumber {one} is here\n" for one in range(start, start + 12))
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    text = STUDY.format(public="public = true") + '[attacks.membership]\nsignals = ["loss"]\n'
    table = text.partition("[test]")[2].partition("[model]")[0].replace("cola", "others")
    for name, more, complete in (("named", f"[others]{table}", True), ("unnamed", "", False)):
        head, methods = text.split("[[methods]]")
        study = Study.parse(f"{head}{more}[[methods]]{methods}", folder=tmp_path, name=name)
        found = study.run(workers=0)
        assert found.outcome.complete is complete
        rows = [row for row in found.rows() if row.metric == "auc loss" and row.group is None]
        assert [row.n for row in rows] == ([24] * len(rows) if complete else [])
        assert bool(rows) is complete


def test_what_the_head_reads_is_chosen_and_kept(table: Path, tmp_path: Path) -> None:
    run = train(table, tmp_path / "run", trainable="head", pooling="mean", **FIELDS, **QUICK)
    assert run.files.settings()["pooling"] == "mean"
    found = evaluate(run, table, **FIELDS)
    again = evaluate(tmp_path / "run", table, **FIELDS)  # read from the folder
    assert [one.value for one in found.rows] == [one.value for one in again.rows]
    with pytest.raises(CannotResume):
        train(
            table, tmp_path / "run", trainable="head", pooling="first", resume=True,
            **FIELDS, **QUICK,
        )  # fmt: skip
    finished = train(
        table, tmp_path / "run", trainable="head", pooling="mean", resume=True, **FIELDS, **QUICK
    )
    assert finished.already_finished
    assert finished.model.pooling == "mean"
    with pytest.raises(InvalidArgument, match="reads every token"):
        train(
            table, tmp_path / "other", pooling="mean", field="4", header=False,
            **(QUICK | {"classes": []}),
        )  # fmt: skip


def test_training_says_what_the_head_reads(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "train", str(table), "-o", str(tmp_path / "run"), "--model", "gpt-small", "--no-header",
        "--field", "4", "--label-field", "2", "--classes", "0,1", "--trainable", "head",
        "--pooling", "mean", "--set", "private.sigma=1", "--epochs", "1", "--batch-size", "4",
        "--accountant", "rdp", "--delta", "0.01", "--seed", "1",
        *(part for key, value in SIZES.items() for part in ("--set", f"{key}={value}")),
    ]  # fmt: skip
    assert main(command) == 0
    assert "the head reads the mean of all tokens" in capsys.readouterr().err


def test_a_group_that_is_not_there_is_asked_for_by_its_own_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"text": "one"}\n' * 4)
    asked = ["--group-field", "g", "--group-weights", "a=1,b=2", "--epsilon", "8"]
    assert main(["train", str(notes), "-o", str(tmp_path / "run"), *asked]) == 3
    said = capsys.readouterr().err
    assert "--group-field NAME" in said
    assert "--label-field" not in said
