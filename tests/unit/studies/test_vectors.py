"""Studies of noisy vectors: methods, anchors, attacks and the measure, from one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.studies.folder import StudyFolder
from sfumato.studies.grid import list_cells
from sfumato.studies.parsing import parse_spec
from sfumato.studies.spec import StudySpec
from sfumato.studies.worker import Work, work_on

pytestmark = pytest.mark.usefixtures("small_vectors")

STUDY = """
seeds = [1]

[corpus]
path = "in.jsonl"
label_field = "label"
public = {public}

[[methods]]
name = "noise"
representation = "{noise}"
epsilon = [1, 1000]
{more}

[attacks.vector-reidentification]
[measures.vectors]
pairs = 200
"""


def study(folder: Path, noise: str = "laplace", more: str = "", public: str = "true") -> StudySpec:
    if not (folder / "in.jsonl").exists():
        words = {"a": ["doctor", "fever", "pain"], "b": ["music", "song", "dance"]}
        lines = [
            json.dumps({"text": " ".join([*words["ab"[n % 2]], f"{n}", "wine" * (n % 3)]),
                        "label": "ab"[n % 2]})
            for n in range(30)
        ]  # fmt: skip
        (folder / "in.jsonl").write_text("\n".join(lines))
    text = STUDY.format(noise=noise, more=more, public=public)
    return parse_spec(text, folder, "small")


def test_a_study_sweeps_levels_between_its_anchors(tmp_path: Path) -> None:
    spec = study(tmp_path)
    grid = list_cells(spec)
    work = Work(spec, grid, StudyFolder(tmp_path / "out"))
    work_on(work)
    found = {}
    for cell in grid.distinct:
        record = json.loads(work.folder.record(cell.key).read_text())
        assert record["state"] == "done", record["error"]
        for row in record["rows"]:
            found[cell.method, cell.level, row["metric"]] = row["value"]
        if cell.kind == "vectors":
            assert record["guarantee"]["unit"] == "document"
            assert not record["guarantee"]["for_release"]
    assert found["no privacy", None, "task accuracy"] == 1.0
    assert found["no privacy", None, "similarity"] > 0.999
    assert abs(found["random output", None, "similarity"]) < 0.3
    assert found["noise", 1000.0, "similarity"] > 0.9
    assert found["noise", 1.0, "re-identified"] < found["noise", 1000.0, "re-identified"]


def test_vectors_without_noise_are_made_of_copied_text_only(tmp_path: Path) -> None:
    methods = {cell.method for cell in list_cells(study(tmp_path, public="false")).cells}
    assert methods == {"", "noise", "random output"}


@pytest.mark.parametrize(
    ("noise", "more", "said"),
    [
        ("laplase", "", "did you mean 'laplace'"),
        ("gaussian", "", "the method 'noise': Gaussian noise proves nothing without a delta"),
        ("laplace", 'mechanism = "laplace"', "no mechanism and no training"),
        ("laplace", "pad_to = 3", "is for vectors of words"),
        ("laplace", "layers = 3", "unknown key of the vector method noise"),
        ("laplace", 'encoder = "nothing"', "there is no file"),
        ("laplace", "tokens = 1", "must be true or false"),
        ("laplace", 'encoder = "/etc"', "outside its folder"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_computed(
    tmp_path: Path, noise: str, more: str, said: str
) -> None:
    with pytest.raises((InvalidArgument, UnknownName, OSError), match=said):
        list_cells(study(tmp_path, noise, more))
