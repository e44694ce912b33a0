"""Some cells of a study alone: those whose titles are given, and what they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument
from sfumato.studies import worker
from sfumato.studies.cell import Cell
from sfumato.studies.choice import fits
from sfumato.studies.grid import Grid, list_cells
from sfumato.studies.kinds.context import CellResult, Context
from sfumato.studies.study import Study
from small_study import SMALL, small_study

HERE = Path()


def titles(*only: str) -> set[str]:
    return {cell.title for cell in list_cells(small_study(HERE)).narrowed(only).cells}


def check_that_inputs_are_there(grid: Grid) -> None:
    kept = {cell.key for cell in grid.cells}
    assert {one.key for cell in grid.cells for one in cell.inputs} <= kept


@pytest.mark.parametrize("pattern", ["SMDP, epsilon 9, seed 1", "SMDP, epsilon 9, seed 1: text"])
def test_a_title_stands_for_its_cell_and_what_that_needs(pattern: str) -> None:
    first = "SMDP, epsilon 9, seed 1"
    assert titles(pattern) == {"the corpus", f"{first}: privatizing", f"{first}: text"}
    check_that_inputs_are_there(list_cells(small_study(HERE)).narrowed([pattern]))


def test_the_twin_that_leaves_out_what_is_needed_is_caught() -> None:
    every = list_cells(small_study(HERE)).cells
    with pytest.raises(AssertionError):
        check_that_inputs_are_there(Grid(tuple(one for one in every if "text" in one.title)))


def test_a_star_stands_for_anything_and_several_patterns_for_all_of_theirs() -> None:
    both = titles("SMDP*", "*, seed 2")
    assert "SMDP, epsilon 1, seed 1: text" in both
    assert "masks, seed 2: text" in both
    assert "masks, seed 1: text" not in both
    assert titles() == titles("*")


def test_nothing_but_a_star_is_special() -> None:
    named = SMALL.replace('"masks"', '"masks [all]?"')
    cells = list_cells(small_study(HERE, named))
    found = {cell.method for cell in cells.narrowed(["masks [all]?, seed 1"]).cells}
    assert found == {"", "masks [all]?"}
    with pytest.raises(InvalidArgument, match="no cell of this study is called"):
        cells.narrowed(["masks [a-z]*"])


@pytest.mark.parametrize("stars", [3, 40, 3000])
def test_many_stars_are_as_quick_as_one(stars: int) -> None:
    """A matcher that goes back would not come to an end."""
    cells = list_cells(small_study(HERE))
    assert cells.narrowed(["*" * stars]).cells == cells.cells
    with pytest.raises(InvalidArgument, match="no cell"):
        cells.narrowed(["*" * stars + "zz"])
    with pytest.raises(InvalidArgument, match="no cell"):
        cells.narrowed(["*s" * stars])


def test_a_colon_in_the_name_of_a_method_is_a_part_of_it() -> None:
    named = SMALL.replace('"masks"', '"masks: all"')
    cells = list_cells(small_study(HERE, named))
    assert len(cells.narrowed(["masks: all, seed 1"]).cells) == 3
    with pytest.raises(InvalidArgument, match="'masks: all, seed 1'"):
        cells.narrowed(["masks"])


@pytest.mark.parametrize(
    ("text", "pattern", "wanted"),
    [
        ("aba", "a*a", True),
        ("a", "a*a", False),
        ("abab", "*ab", True),
        ("abab", "ab*ab*", True),
        ("ab", "*b*b", False),
        ("", "*", True),
        ("", "", True),
        ("a\nb", "a*b", True),
    ],
)
def test_a_text_fits_a_pattern_or_does_not(text: str, pattern: str, wanted: bool) -> None:
    assert fits(text, pattern) is wanted


def test_the_rest_is_left_for_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Cell] = []
    compute = worker.compute

    def noted(context: Context) -> CellResult:
        computed.append(context.cell)
        return compute(context)

    monkeypatch.setattr(worker, "compute", noted)
    study = Study.parse(SMALL, folder=tmp_path, name="small")
    only = ["*, seed 2"]
    some = study.estimate(only=only).left
    found = study.run(workers=0, only=only)
    assert found.outcome.complete
    assert found.outcome.cells == len(computed) == some
    assert {row.seed for row in found.rows()} == {2}
    assert found.status().cells == study.estimate().left + some  # what is left is not forgotten
    whole = study.run(workers=0, resume=True)
    assert whole.outcome.complete
    assert whole.outcome.cells == len(computed) > some
    assert {row.seed for row in whole.rows()} == {1, 2}


def test_a_title_that_no_cell_has_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    for command in ("run", "estimate"):
        for title in ("SMPD*", "SMPD, epsilon 9, seed 1"):  # a long one is no text to hide
            assert main(["study", command, str(file), "--only", title]) == 2
            said = capsys.readouterr().err
            assert f"no cell of this study is called '{title}'; cells are called 'SMDP," in said
    assert not (tmp_path / "small").exists()
    with pytest.raises(InvalidArgument):
        Study.read(file).run(only=["SMPD*"], watch=lambda _: None)
    with pytest.raises(InvalidArgument, match="a list of titles"):
        Study.read(file).estimate(only="*")
    assert not (tmp_path / "small").exists()
    assert main(["study", "run", str(file), "--only", "masks, seed 1"]) == 0
    assert "3 of 3 cells done" in capsys.readouterr().out
