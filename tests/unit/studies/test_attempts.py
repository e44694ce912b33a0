"""The time of a cell is that of all attempts at it, also of those that were killed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from sfumato.studies import worker
from sfumato.studies.attempts import Spent, note_time
from sfumato.studies.folder import StudyFolder
from sfumato.studies.grid import list_cells
from sfumato.studies.kinds.context import CellResult, Context
from sfumato.studies.worker import Work, compute_cell
from small_study import small_study


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"seconds": 1}',
        b'{"seconds": "x", "cpu_seconds": 1}',
        b'{"seconds": -5, "cpu_seconds": 1}',
        b'{"seconds": NaN, "cpu_seconds": 1}',
        b'{"seconds": 1e999, "cpu_seconds": 1}',
        b"\xff",
    ],
)
def test_a_damaged_note_counts_nothing(content: bytes, tmp_path: Path) -> None:
    note = tmp_path / "spent.json"
    note.write_bytes(content)
    assert Spent.read(note) == Spent()


def test_a_block_that_is_stopped_leaves_what_it_took(tmp_path: Path) -> None:
    note = tmp_path / "spent.json"
    note.write_text('{"seconds": 100, "cpu_seconds": 50}')
    with pytest.raises(KeyboardInterrupt), note_time(note) as earlier:
        raise KeyboardInterrupt
    assert earlier == Spent(100.0, 50.0)
    left = Spent.read(note)
    assert left.seconds > 100.0
    assert left.cpu_seconds >= 50.0


def test_notes_are_written_while_a_block_runs(tmp_path: Path) -> None:
    """A process that is killed has no chance to write at its end."""
    note = tmp_path / "spent.json"
    with note_time(note, every=0.01):
        while not note.is_file():
            time.sleep(0.01)
        assert Spent.read(note).seconds > 0
    # What came to its end says so itself: nothing more is noted.
    note.unlink()
    with note_time(note, every=600.0):
        pass
    assert not note.exists()


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    nowhere = tmp_path / "none" / "spent.json"
    with pytest.raises(KeyboardInterrupt), note_time(nowhere):
        raise KeyboardInterrupt


@pytest.mark.usefixtures("small_vectors")
def test_a_record_counts_what_killed_attempts_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = small_study(tmp_path)
    grid = list_cells(study)
    folder = StudyFolder(tmp_path / "s")
    work, cell = Work(study, grid, folder), grid.distinct[0]
    note = folder.spent(cell.key)

    def stop(_: Context) -> CellResult:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(worker, "compute", stop)
        with pytest.raises(KeyboardInterrupt):
            compute_cell(work, cell)
    assert note.is_file()
    assert work.state(cell) is None
    note.write_text('{"seconds": 5000, "cpu_seconds": 4000}')
    assert compute_cell(work, cell)
    written = json.loads(folder.record(cell.key).read_bytes())
    assert written["seconds"] > 5000
    assert written["cpu_seconds"] > 4000
    assert not note.exists()
    # Sabotage: without the note it is the last attempt alone.
    folder.record(cell.key).unlink()
    assert compute_cell(work, cell)
    assert json.loads(folder.record(cell.key).read_bytes())["seconds"] < 5000
