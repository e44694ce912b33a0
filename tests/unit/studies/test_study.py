"""A study from Python: read, checked, run, asked, compared, and shown without a leak."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument, MissingExtra, OutputExists, StorageFailed
from sfumato.results.row import Row
from sfumato.studies.study import Study

pytestmark = pytest.mark.usefixtures("small_vectors")

MASKS = """
[corpus]
kind = "customersim"
count = 4

[[methods]]
name = "masks"
mechanism = "redact"
policy = "digits"

[measures.text]
"""


@pytest.fixture(scope="module")
def masks(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study.parse(MASKS, folder=tmp_path_factory.mktemp("work"), name="masks").run(workers=0)


def test_a_study_is_run_and_asked(masks: Study) -> None:
    rows = masks.rows()
    assert masks.outcome.complete
    assert {row.method for row in rows} == {"masks", "no privacy", "random output"}
    assert all(isinstance(row, Row) for row in rows)
    assert masks.status().counts() == {"done": 7, "failed": 0, "running": 0, "left": 0}
    assert (masks.name, masks.title, masks.folder.name) == ("masks", "masks", "masks")


def test_an_opened_study_gives_the_same(masks: Study) -> None:
    opened = Study.open(masks.folder)
    assert opened.rows() == masks.rows()
    assert (opened.name, opened.title, opened.outcome) == (masks.name, masks.title, masks.outcome)
    with pytest.raises(InvalidArgument, match="read its file"):
        opened.run(resume=True)
    with pytest.raises(StorageFailed, match="not the folder of a study"):
        Study.open(masks.folder.parent)


def test_a_frame_has_a_column_for_each_field(masks: Study) -> None:
    pandas = pytest.importorskip("pandas")
    frame = masks.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(masks.rows())
    overlap = frame[(frame.method == "no privacy") & (frame.metric == "word overlap")]
    assert list(overlap.value) == [1.0]


def test_without_pandas_it_is_said_what_to_install(
    masks: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[pandas\]"):
        masks.frame()


def test_a_study_is_compared_with_itself(masks: Study) -> None:
    found = masks.compare(masks.folder)
    assert len(found) == len([row for row in masks.rows() if row.role != "cost"])
    assert found.counts()["clearly different"] == 0
    assert repr(found).startswith("masks and masks: ")


@pytest.mark.usefixtures("studies_here")
def test_a_file_is_run_into_the_folder_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(MASKS)
    study = Study.read(file)
    assert study.folder == tmp_path / "one"
    assert [(one.purpose, one.path) for one in study.check()] == [("writes", study.folder)]
    assert "not begun" in repr(study)
    done = study.run(workers=0)
    with pytest.raises(OutputExists):
        study.run(workers=0)
    assert done.run(workers=0, resume=True).outcome == done.outcome
    other = study.run(tmp_path / "other", workers=0)
    assert other.folder == tmp_path / "other"
    # The command finds what Python has computed, and writes the same.
    before = (study.folder / "study.json").read_bytes()
    assert main(["study", "run", str(file), "--workers", "1", "--resume"]) == 0
    assert (study.folder / "study.json").read_bytes() == before.replace(
        b"--workers 0", b"--workers 1"
    )


def test_a_file_of_another_name_needs_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "one.txt"
    file.write_text(MASKS)
    study = Study.read(file)
    assert "not named yet" in repr(study)
    with pytest.raises(InvalidArgument, match="name a folder"):
        study.run()


def test_the_paths_that_are_allowed_are_those_of_the_call(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("Anna\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    text = MASKS.replace('"digits"', '"lexicon:../words.txt"')
    study = Study.parse(text, folder=inside)
    assert [one.where for one in study.check()] == ["outside", "inside"]
    with pytest.raises(InvalidArgument, match="outside its folder"):
        study.run(workers=0)
    assert study.run(workers=0, allow_path=[tmp_path / "words.txt"]).outcome.complete
    assert [one.where for one in study.check(allow_path=[tmp_path])] == ["allowed", "inside"]


def test_what_failed_is_in_the_repr(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"text": "a 1"}\n{"text": 5}\n')
    text = MASKS.replace('kind = "customersim"\ncount = 4', 'path = "notes.jsonl"')
    study = Study.parse(text, folder=tmp_path, name="<bad>").run(workers=0)
    assert not study.outcome.complete
    assert "1 failed" in repr(study)
    assert "the corpus: " in repr(study.status())
    assert "a 1" not in repr(study.status())
    shown = study._repr_html_()
    assert "<td>failed</td><td>1</td>" in shown
    assert "<bad>" not in shown


def test_a_damaged_folder_still_has_a_repr(tmp_path: Path) -> None:
    study = Study.parse(MASKS, folder=tmp_path).run(workers=0)
    (study.folder / "study.json").write_text("{")
    assert "not begun" in repr(study)


def test_the_template_is_a_study(tmp_path: Path) -> None:
    study = Study.init(tmp_path / "names.toml")
    assert study.title.startswith("How well")
    with pytest.raises(OutputExists):
        Study.init(tmp_path / "names.toml")
