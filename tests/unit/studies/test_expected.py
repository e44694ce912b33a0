"""Long studies: what comes first, what is expected to take how long, when to stop, what to tell."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument
from sfumato.results.row import RANDOM_OUTPUT
from sfumato.studies import worker
from sfumato.studies.cell import MEASURE, RELEASE, RUN, Cell
from sfumato.studies.expected import Durations, Estimate, read_end
from sfumato.studies.folder import StudyFolder
from sfumato.studies.grid import Grid, list_cells
from sfumato.studies.kinds.context import CellResult, Context
from sfumato.studies.letter import WIDTH
from sfumato.studies.study import Study
from small_study import SMALL, small_study

pytestmark = pytest.mark.usefixtures("small_vectors")

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
URGENT = SMALL.replace('name = "masks"', 'name = "masks"\npriority = 3')


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("work")
    return Study.parse(SMALL, folder=folder, name="small").run(workers=0)


def _comes_after_its_inputs(cells: list[Cell]) -> bool:
    places = {cell.key: number for number, cell in enumerate(cells)}
    return all(places[one.key] < places[cell.key] for cell in cells for one in cell.inputs)


def test_urgent_cells_come_first_and_keep_their_names(tmp_path: Path) -> None:
    usual, urgent = list_cells(small_study(tmp_path)), list_cells(small_study(tmp_path, URGENT))
    assert [cell.key for cell in usual.cells] == [cell.key for cell in urgent.cells]
    assert [cell.key for cell in usual.by_priority] == [cell.key for cell in usual.distinct]
    ordered = urgent.by_priority
    # The corpus, and a text and its measure for each of two seeds.
    assert [cell.method for cell in ordered[:5]] == ["", "masks", "masks", "masks", "masks"]
    assert {cell.key for cell in ordered} == {cell.key for cell in usual.distinct}
    assert _comes_after_its_inputs(ordered)


def test_twin_to_sort_by_the_own_priority_alone_would_put_a_cell_before_what_it_needs(
    tmp_path: Path,
) -> None:
    grid = list_cells(small_study(tmp_path, URGENT))
    assert not _comes_after_its_inputs(sorted(grid.distinct, key=lambda cell: -cell.priority))


def test_a_cell_that_two_methods_share_is_as_urgent_as_the_more_urgent_one() -> None:
    corpus = Cell(kind="corpus")
    late = Cell(kind=RELEASE, method="late", priority=-1, settings={"a": 1}, inputs=(corpus,))
    shared = Cell(kind=RELEASE, method="a", settings={"b": 1}, inputs=(corpus,))
    again = Cell(kind=RELEASE, method="b", settings={"b": 1}, inputs=(corpus,), priority=2)
    other = Cell(kind=RELEASE, method="c", settings={"c": 1}, inputs=(corpus,), priority=1)
    for order in ((corpus, late, shared, other, again), (corpus, late, again, other, shared)):
        ranked = [cell.key for cell in Grid(order).by_priority]
        assert ranked == [corpus.key, shared.key, other.key, late.key]


def test_a_priority_must_be_a_whole_number(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"masks\.priority"):
        list_cells(small_study(tmp_path, SMALL.replace('"masks"', '"masks"\npriority = "high"')))


def test_the_most_similar_cells_say_how_long_a_cell_takes() -> None:
    known = Durations()
    known.add(Cell(kind=MEASURE, name="text", method="A", seed=1), 10.0)
    known.add(Cell(kind=MEASURE, name="text", method="B", seed=1), 30.0)
    known.add(Cell(kind=MEASURE, name="meteor", method="B"), 200.0)
    assert known.expected(Cell(kind=MEASURE, name="text", method="A", seed=2)) == 10.0
    assert known.expected(Cell(kind=MEASURE, name="text", method="C")) == 20.0
    assert known.expected(Cell(kind=MEASURE, name="new", method="A")) == 80.0
    assert known.expected(Cell(kind=RELEASE, method="A")) is None
    cells = [Cell(kind=MEASURE, name="text", method="A"), Cell(kind=RELEASE, method="A")]
    assert Estimate.of(cells, known, workers=2) == Estimate(2, 5.0, (RELEASE,))


def test_a_model_that_is_never_trained_says_nothing_about_the_others() -> None:
    durations = Durations()
    untrained = Cell(kind=RUN, method=RANDOM_OUTPUT)
    assert durations.expected(untrained) == 0.0
    durations.add(untrained, 2.0)
    assert durations.expected(untrained) == 2.0
    assert durations.expected(Cell(kind=RUN, method="DP-SGD")) is None
    durations.add(Cell(kind=RUN, method="DP-SGD"), 100.0)
    assert durations.expected(Cell(kind=RUN, method="masks")) == 100.0


def test_what_is_left_is_estimated_from_this_study_and_from_earlier_ones(finished: Study) -> None:
    assert finished.estimate().sentence() == "nothing is left to compute"
    more = Study.parse(
        SMALL.replace("[1, 2]", "[1, 2, 3]"), folder=finished.folder.parent, name="small"
    )
    own = more.estimate()
    assert own.left == 10
    assert own.seconds > 0
    assert own.unknown == ()
    elsewhere = Study.parse(SMALL, folder=finished.folder.parent, name="other")
    assert not elsewhere.estimate().seconds
    assert "not known until" in elsewhere.estimate().sentence()
    told = elsewhere.estimate(like=[finished.folder], workers=2)
    assert told.left == finished.outcome.cells  # done there is not done here
    assert told.seconds > 0


def test_after_the_end_nothing_is_begun_and_another_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study.parse(SMALL, folder=tmp_path, name="small")
    now = [1000.0]
    monkeypatch.setattr("sfumato.studies.deadline.time.time", lambda: now[0])
    compute = worker.compute

    def one_minute(context: Context) -> CellResult:
        now[0] += 60.0
        return compute(context)

    monkeypatch.setattr(worker, "compute", one_minute)
    monkeypatch.setattr("sfumato.studies.study.read_end", lambda *_: 1000.0 + 5 * 60)
    assert study.run(workers=0, until="5m").outcome.done == 5
    monkeypatch.setattr("sfumato.studies.study.read_end", lambda *_: 0.0)
    assert study.run(workers=0, resume=True, until="5m").outcome.done == 5
    assert study.run(workers=0, resume=True).outcome.complete


def test_a_cell_that_would_end_too_late_is_not_begun_and_a_shorter_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study.parse(SMALL, folder=tmp_path, name="small")
    study.run(workers=0)
    monkeypatch.setattr(
        StudyFolder, "seconds", lambda _, key: 1e6 if key.startswith(MEASURE) else 0.0
    )
    more = Study.parse(SMALL.replace("[1, 2]", "[1, 2, 3]"), folder=tmp_path, name="small")
    found = more.run(workers=0, resume=True, until="20m")
    assert found.outcome.cells - found.outcome.done == 5
    assert {one.kind for one in found.status().left} == {MEASURE}


@pytest.mark.parametrize("written", ["", "soon", "25:00", "0m", "1:2:3", "9" * 30 + "h", "12:60"])
def test_what_is_no_time_is_refused(written: str) -> None:
    with pytest.raises(InvalidArgument, match=r"`until=\.\.\.` must be"):
        read_end(written, NOON)


def test_a_moment_that_is_over_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="over already"):
        read_end("2026-01-02T11:00", NOON)


def test_a_letter_says_what_was_found_in_narrow_lines(finished: Study) -> None:
    letter = finished.letter()
    assert all(len(line) <= WIDTH for line in letter.splitlines())
    assert "21 done, 0 failed" in letter
    assert "SMDP, epsilon 9" in letter
    assert "similarity" in letter
    assert "private text" not in letter  # this one is generated


def test_a_letter_about_private_text_says_so_and_repeats_none_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("Call Ottokar at 5551234.\nRoom 12 is Wilhelmina's.\n")
    corpus = '[corpus]\nkind = "file"\npath = "notes.txt"\n'
    text = SMALL[SMALL.index("[[methods]]") :]
    file = tmp_path / "own.toml"
    file.write_text(f'title = "A\\u001b[31m title"\n{corpus}{text}')
    Study.read(file).run(workers=0)
    assert main(["study", "letter", str(tmp_path / "own")]) == 0
    said = capsys.readouterr().out
    assert "measured on private text" in said
    assert "\x1b" not in said
    assert not any(word in said for word in ("Ottokar", "5551234", "Wilhelmina"))


def test_the_command_estimates_and_refuses_a_wrong_end(
    finished: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    assert main(["study", "estimate", str(file), "--like", str(finished.folder), "--json"]) == 0
    assert '"left": 21' in capsys.readouterr().out
    assert main(["study", "run", str(file), "--until", "late"]) == 2
    assert "--until" in capsys.readouterr().err
    assert not (tmp_path / "small").exists()
