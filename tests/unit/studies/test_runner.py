from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from sfumato.core.errors import BadInput, OutputExists, StorageFailed
from sfumato.reports.samples import sample_texts
from sfumato.results.row import Row
from sfumato.studies import runner, worker
from sfumato.studies.folder import StudyFolder
from sfumato.studies.grid import list_cells
from sfumato.studies.kinds.context import CellResult, Context
from sfumato.studies.locks import hold_lock
from sfumato.studies.runner import StudyOutcome, run_study
from sfumato.studies.watch import Board
from sfumato.studies.worker import Work
from small_study import SMALL, small_study

# What is measured on few words is computed as it is on many.
pytestmark = pytest.mark.usefixtures("small_vectors")

CELLS = 1 + 2 * (2 * 2 + 3 * 2)


def test_a_number_of_threads_for_one_library_is_meant_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in runner.THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert set(runner._threads(4).values()) == {"2"}
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert runner._threads(4) == dict.fromkeys(runner.THREADS, "1")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = tmp_path_factory.mktemp("study") / "small"
    assert run_study(small_study(folder.parent), folder, workers=0) == StudyOutcome(CELLS, CELLS, 0)
    return StudyFolder(folder)


def test_every_cell_says_what_it_found_and_what_it_took(finished: StudyFolder) -> None:
    for cell in finished.cells():
        assert cell.state == "done"
        assert cell.seconds is not None
        assert cell.cpu_seconds is not None
        assert cell.peak_memory is not None
        assert cell.peak_memory > 1e7


def test_rows_carry_method_level_seed_and_guarantee(finished: StudyFolder) -> None:
    (row,) = (
        row
        for row in finished.rows()
        if (row.method, row.level, row.seed, row.metric) == ("SMDP", 9.0, 2, "similarity")
    )
    assert row.value is not None
    assert row.low is not None
    assert row.high is not None
    assert row.low <= row.value <= row.high <= 1
    assert row.n == 6
    assert row.guarantee is not None
    assert "digits" in row.guarantee
    assert row.seconds is not None


def test_more_noise_keeps_less(finished: StudyFolder) -> None:
    means = {}
    for level in (1.0, 9.0):
        values = [
            row.value
            for row in finished.rows()
            if row.level == level and row.metric == "word overlap" and row.value is not None
        ]
        means[level] = sum(values) / len(values)
    anchors = {
        row.method: row.value
        for row in finished.rows()
        if row.anchor and row.metric == "word overlap" and row.seed == 1
    }
    assert anchors["random output"] is not None
    assert max(anchors["random output"], means[1.0]) < means[9.0]
    assert abs(anchors["random output"] - means[1.0]) < 0.02
    assert anchors["no privacy"] == 1.0


def test_results_are_flat_files_with_all_rows(finished: StudyFolder) -> None:
    lines = finished.results.read_text().splitlines()
    assert [Row.from_dict(json.loads(line)) for line in lines] == finished.rows()
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(finished.results.with_suffix(".parquet"))
    assert table.num_rows == len(lines)
    assert {"metric", "value", "low", "high", "n", "seconds", "cpu_seconds", "guarantee"} <= set(
        table.column_names
    )


def test_the_folder_is_its_owners(finished: StudyFolder) -> None:
    assert finished.path.stat().st_mode & 0o077 == 0


def test_a_finished_study_computes_nothing_again(
    finished: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(context: Context) -> CellResult:
        raise AssertionError(context.cell.title)

    monkeypatch.setattr(worker, "compute", refuse)
    study = small_study(finished.path.parent)
    assert run_study(study, finished.path, workers=0, resume=True).complete
    with pytest.raises(OutputExists, match="`resume=True`"):
        run_study(study, finished.path, workers=0)


def test_a_changed_study_computes_only_what_is_new(
    finished: StudyFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import shutil

    folder = tmp_path / "small"
    shutil.copytree(finished.path, folder)
    computed: list[tuple[str, float | None]] = []
    compute = worker.compute

    def noted(context: Context) -> CellResult:
        computed.append((context.cell.method, context.cell.level))
        return compute(context)

    monkeypatch.setattr(worker, "compute", noted)
    study = small_study(tmp_path, SMALL.replace("[1, 9]", "[1, 4, 9]"))
    assert run_study(study, folder, workers=0, resume=True).complete
    assert set(computed) == {("SMDP", 4.0)}
    assert len(computed) == 4


def test_what_fails_is_recorded_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = worker.compute

    def failing(context: Context) -> CellResult:
        if context.cell.kind == "release" and context.cell.level == 9:
            raise BadInput("line 3 is broken")
        if context.cell.kind == "release" and context.cell.method == "masks":
            raise ValueError("the secret text of line 3")
        return compute(context)

    monkeypatch.setattr(worker, "compute", failing)
    study = small_study(tmp_path, SMALL.replace("[1, 2]", "[1]"))
    found = run_study(study, tmp_path / "s", workers=0)
    assert (found.failed, found.done) == (2, 11 - 4)
    folder = StudyFolder(tmp_path / "s")
    errors = {cell.method: cell.error for cell in folder.cells() if cell.error is not None}
    assert errors["SMDP"] == {"type": "BadInput", "message": "line 3 is broken"}
    # Somebody else's message may quote text.
    assert errors["masks"] is not None
    assert errors["masks"]["type"] == "ValueError"
    assert not any("secret text" in path.read_text() for path in folder.path.rglob("*.json"))
    states = {(cell.level, cell.kind): cell.state for cell in folder.cells()}
    assert states[9.0, "measure"] == "missing"
    assert states[1.0, "measure"] == "done"
    monkeypatch.setattr(worker, "compute", compute)
    assert run_study(study, tmp_path / "s", workers=0, resume=True).complete


def test_the_board_counts_what_is_done_running_and_left(
    finished: StudyFolder, tmp_path: Path
) -> None:
    study = small_study(tmp_path)
    wanted = list_cells(study)
    folder = StudyFolder(tmp_path / "none")
    work = Work(study, wanted, folder)
    first = wanted.distinct[0]
    with hold_lock(folder.lock(first.key)):
        reached = Board(work).look()
    assert (reached.done, reached.running, reached.left) == (0, (first,), CELLS - 1)
    assert reached.seconds_left is None
    reached = Board(Work(study, wanted, finished)).look()
    assert (reached.done, reached.left, reached.seconds_left) == (CELLS, 0, 0.0)


def test_no_time_is_told_of_cells_that_none_finished_is_like(
    finished: StudyFolder, tmp_path: Path
) -> None:
    """Reading a corpus takes seconds, and says nothing of the hours that a model takes."""
    study = small_study(tmp_path)
    wanted = list_cells(study)
    folder = StudyFolder(tmp_path / "part")
    shutil.copytree(finished.path, folder.path)
    for cell in wanted.distinct:
        if cell.kind != "corpus":
            shutil.rmtree(folder.cell(cell.key))
    reached = Board(Work(study, wanted, folder)).look()
    assert (reached.done, reached.left) == (1, CELLS - 1)
    assert reached.seconds_left is None


@pytest.mark.usefixtures("small_vectors")
def test_a_private_corpus_is_never_copied(tmp_path: Path) -> None:
    corpus = tmp_path / "notes.txt"
    corpus.write_text("Zephyrine Quill has the number 471108159.\nNobody else does.\n")
    text = SMALL.replace('kind = "customersim"\ncount = 6', 'path = "notes.txt"')
    text = text.replace("[1, 2]", "[1]").replace(
        "[measures.text]", "[measures.deniability]\nwords = 5\ndraws = 50"
    )
    study = small_study(tmp_path, "anchors = false\n" + text.replace('name = "masks"', 'name="m"'))
    assert run_study(study, tmp_path / "s", workers=0).failed == 0
    folder = StudyFolder(tmp_path / "s")
    assert not folder.study()["public"]
    # Privatized texts are releases; what the policy left alone stands there, the number does not.
    for path in folder.path.rglob("*"):
        if path.is_file() and path.name != "text.txt":
            assert b"Zephyrine" not in path.read_bytes()
            assert b"471108159" not in path.read_bytes()
        elif path.is_file():
            assert b"471108159" not in path.read_bytes()
    assert sample_texts(folder, 2) == []


def test_samples_come_from_public_texts(finished: StudyFolder) -> None:
    samples = sample_texts(finished, 2)
    assert {(one.method, one.level) for one in samples} == {
        ("SMDP", 1.0),
        ("SMDP", 9.0),
        ("masks", None),
    }
    for one in samples:
        assert all(label for _, _, label in one.spans)
        assert all(one.before[start:end].strip() for start, end, _ in one.spans)
        assert one.before not in repr(one)
    masks = [one for one in samples if one.method == "masks"]
    assert all("[NUMBER]" in one.after for one in masks if one.spans)


def test_a_folder_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(OutputExists, match="not a study"):
        run_study(small_study(tmp_path), tmp_path / "mine", workers=0)
    with pytest.raises(StorageFailed, match="not the folder of a study"):
        StudyFolder(tmp_path / "mine").study()


def test_a_damaged_record_is_named(tmp_path: Path, finished: StudyFolder) -> None:
    import shutil

    folder = tmp_path / "small"
    shutil.copytree(finished.path, folder)
    broken = next(folder.glob("cells/measure-*/cell.json"))
    broken.write_text('{"state": "done", "rows": [{"no": "row"}]}')
    with pytest.raises(BadInput, match="damaged"):
        StudyFolder(folder).cells()
    broken.write_text("{")
    with pytest.raises(BadInput, match="not the record of a cell"):
        StudyFolder(folder).cells()


def test_levels_without_end_survive_being_written(tmp_path: Path) -> None:
    row = Row(cell="c", method="m", role="leakage", by="x", metric="y", better="lower", value=1.0,
              level=math.inf, group="nan")  # fmt: skip
    again = Row.from_dict(json.loads(json.dumps(row.as_dict(), allow_nan=False)))
    assert again == row
