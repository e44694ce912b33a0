"""Trains the models of ``dp-t5.toml`` further for two tasks: sentiment (SST-2) and grammar (CoLA).

    python studies/dp_t5_tasks.py STUDY OUTPUT --data ../shared/data

STUDY is the folder that 'sfumato study run' has filled. Every model is trained further in the same
way, without privacy and from the same seed, on the same records; a network that was never trained
stands beside them. The encoder of a model reads the text, and a new head decides. What is shown is
the accuracy on the development sentences of a task, and Matthews's correlation, because most
sentences of CoLA have one label.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator
from itertools import islice
from math import inf
from pathlib import Path

from sfumato import train
from sfumato.studies.cell import RUN
from sfumato.studies.folder import DONE, StudyFolder

# Records to learn from, and sentences to test on.
LEARNED, TESTED = 2000, 400
SETTINGS = {"layers": 1, "width": 64, "heads": 4, "inner": 128, "context": 48}
TASKS = ("SST-2", "CoLA")


def main() -> None:
    """Print one table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("study", type=Path, help="the folder of the study")
    parser.add_argument("output", type=Path, help="where to write")
    parser.add_argument("--data", type=Path, required=True, help="the folder of sst2 and cola")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for task in TASKS:
        parts = zip(("train", "test"), sentences(given.data, task), strict=True)
        for part, rows in parts:
            lines = (json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)
            (given.output / f"{task}-{part}.jsonl").write_text("".join(lines), encoding="utf-8")
    print(
        "| model before | " + " | ".join(f"{one}, accuracy | correlation" for one in TASKS) + " |"
    )
    print("|---|" + "---|---|" * len(TASKS))
    for place, (name, model) in enumerate(models(StudyFolder(given.study))):
        told = [said(given.output, task, model, f"{place}-{task}") for task in TASKS]
        print(f"| {name} | {' | '.join(told)} |", flush=True)


def models(folder: StudyFolder) -> Iterator[tuple[str, Path | None]]:
    """What is trained further; None is a network with fresh weights."""
    yield "none: fresh weights", None
    for cell in folder.cells():
        if cell.kind == RUN and cell.state == DONE:
            level = "" if cell.level is None else f", ε = {cell.level:g}"
            yield f"{cell.method}{level}", folder.cell(cell.key) / "run" / "model"


def sentences(data: Path, task: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Sentences with labels to learn from, and others to test on."""
    if task == "SST-2":
        learned, tested = (
            _table(data / "sst2" / f"{part}.tsv", 0, 1, 1) for part in ("train", "test")
        )
    else:
        learned, tested = (
            _table(data / "cola" / f"{part}.tsv", 3, 1, 0) for part in ("train", "dev")
        )
    return list(islice(learned, LEARNED)), list(islice(tested, TESTED))


def _table(path: Path, text: int, label: int, heads: int) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        for row in islice(rows, heads, None):
            yield row[text].strip(), row[label]


def said(output: Path, task: str, model: Path | None, name: str) -> str:
    """Accuracy and correlation after further training, with their intervals."""
    test = output / f"{task}-test.jsonl"
    run = train(
        output / f"{task}-train.jsonl",
        output / name,
        method="plain",
        epsilon=inf,
        model="t5-small-from-scratch" if model is None else model,
        settings=SETTINGS if model is None else None,
        classes=("0", "1"),
        label_field="label",
        epochs=3,
        batch_size=50,
        learning_rate=0.002,
        seed=1,
        resume=(output / name).is_dir(),
    )
    figures = {row.metric: row for row in run.evaluate(test, label_field="label").rows}
    return " | ".join(
        f"{row.value:.3f} ({row.low:.3f}–{row.high:.3f})" if row.low is not None else f"{row.value}"
        for row in (figures["accuracy"], figures["matthews"])
    )


if __name__ == "__main__":
    main()
