from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfumato.studies.cell import Cell
from sfumato.studies.grid import list_cells
from small_study import SMALL, small_study

MODEL = """
[model]
name = "lstm"
epochs = 2
[test]
kind = "customersim"
count = 2
[[methods]]
name = "DP-SGD"
training = "private"
epsilon = [1, 2]
[measures.perplexity]
[attacks.exposure]
[canaries]
repetitions = [3]
"""
HERE = Path()


def _keys(text: str, folder: Path = HERE) -> dict[tuple[str, float | None, int, str, str], str]:
    return {
        (cell.method, cell.level, cell.seed, cell.kind, cell.name): cell.key
        for cell in list_cells(small_study(folder, text)).cells
    }


def test_inputs_stand_before_what_needs_them() -> None:
    seen: set[str] = set()
    for cell in list_cells(small_study(HERE, SMALL + MODEL)).cells:
        assert {one.key for one in cell.inputs} <= seen
        seen.add(cell.key)


def test_each_level_and_seed_is_privatized_once_and_attacked_many_times() -> None:
    cells = list_cells(small_study(HERE, SMALL + MODEL)).cells
    of_smdp = [cell for cell in cells if cell.method == "SMDP" and cell.level == 9]
    assert [(cell.kind, cell.name, cell.seed) for cell in of_smdp] == [
        (kind, name, seed)
        for seed in (1, 2)
        for kind, name in (
            ("release", ""),
            ("measure", "text"),
            ("run", ""),
            ("measure", "perplexity"),
            ("attack", "exposure"),
        )
    ]


def test_both_anchors_are_there_for_texts_and_for_models() -> None:
    kinds = {
        (cell.method, cell.kind, cell.name)
        for cell in list_cells(small_study(HERE, SMALL + MODEL)).cells
        if cell.level is None
    }
    for anchor in ("no privacy", "random output"):
        assert (anchor, "measure", "text") in kinds
        assert (anchor, "measure", "perplexity") in kinds
        assert (anchor, "attack", "exposure") in kinds


def test_without_anchors_there_are_none() -> None:
    methods = {
        cell.method for cell in list_cells(small_study(HERE, "anchors = false" + SMALL)).cells
    }
    assert methods == {"", "SMDP", "masks"}


def test_a_name_is_only_a_name() -> None:
    before = set(_keys(SMALL).values())
    after = set(_keys(SMALL.replace('"SMDP"', '"Selective"').replace("Small", "Large")).values())
    assert before == after


@pytest.mark.parametrize(
    ("changed", "stays"),
    [
        (("epsilon = [1, 9]", "epsilon = [1, 8]"), ("SMDP", 1.0, 1, "release", "")),
        (("seeds = [1, 2]", "seeds = [1, 3]"), ("SMDP", 1.0, 1, "measure", "text")),
        (("[measures.text]", "[measures.deniability]"), ("SMDP", 1.0, 1, "release", "")),
        (('mechanism = "redact"', 'mechanism = "pseudonym"'), ("SMDP", 9.0, 2, "release", "")),
    ],
)
def test_a_change_leaves_what_it_does_not_touch(
    changed: tuple[str, str], stays: tuple[str, float, int, str, str]
) -> None:
    before, after = _keys(SMALL), _keys(SMALL.replace(*changed))
    assert before[stays] == after[stays]
    assert set(before.values()) != set(after.values())


def test_another_corpus_changes_everything() -> None:
    before, after = _keys(SMALL), _keys(SMALL.replace("seed = 3", "seed = 4"))
    assert not set(before.values()) & set(after.values())


def test_a_corpus_file_written_again_is_another(tmp_path: Path) -> None:
    text = SMALL.replace('kind = "customersim"\ncount = 6', 'path = "x.txt"')
    (tmp_path / "x.txt").write_text("My ID is 7.\n")
    before = _keys(text, tmp_path)
    assert before == _keys(text, tmp_path)
    os.utime(tmp_path / "x.txt", ns=(1, 1))
    assert not set(before.values()) & set(_keys(text, tmp_path).values())


def test_the_key_tells_nothing_of_a_private_text(tmp_path: Path) -> None:
    text = SMALL.replace('kind = "customersim"\ncount = 6', 'path = "x.txt"')
    keys = []
    for secret in ("My ID is 7.\n", "My ID is 8, and more.\n"):
        (tmp_path / "x.txt").write_text(secret)
        os.utime(tmp_path / "x.txt", ns=(5, 5))
        keys.append(_keys(text, tmp_path))
    assert keys[0] == keys[1]


def test_training_settings_decide_the_run_and_not_the_text() -> None:
    before, after = (
        _keys(text) for text in (SMALL + MODEL, SMALL + MODEL.replace("epochs = 2", "epochs = 3"))
    )
    assert before["SMDP", 9.0, 1, "release", ""] == after["SMDP", 9.0, 1, "release", ""]
    assert before["SMDP", 9.0, 1, "run", ""] != after["SMDP", 9.0, 1, "run", ""]


def test_seeds_of_a_method_come_on_top() -> None:
    text = SMALL.replace('name = "masks"', 'name = "masks"\nseeds = [2, 5]')
    seeds = {
        cell.seed for cell in list_cells(small_study(HERE, text)).cells if cell.method == "masks"
    }
    assert seeds == {2, 5}


def test_a_plain_method_shares_the_cells_of_the_anchor() -> None:
    text = SMALL + MODEL + '[[methods]]\nname = "nothing"\ntraining = "plain"\n'
    cells = list_cells(small_study(HERE, text)).cells
    runs: dict[str, Cell] = {c.method: c for c in cells if c.kind == "run" and c.seed == 1}
    assert runs["nothing"].key == runs["no privacy"].key
    assert len(list_cells(small_study(HERE, text)).distinct) < len(cells)


def test_methods_of_one_name_are_one_curve() -> None:
    more = '[[methods]]\nname = "SMDP"\nmechanism = "laplace"\nepsilon = 4\nseeds = [1, 2, 3]\n'
    cells = list_cells(small_study(HERE, SMALL + more)).cells
    found = {(cell.level, cell.seed) for cell in cells if cell.method == "SMDP"}
    assert found == {(1.0, 1), (1.0, 2), (9.0, 1), (9.0, 2), (4.0, 1), (4.0, 2), (4.0, 3)}
