"""Studies that make a synthetic corpus and train on it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.studies.folder import StudyFolder
from sfumato.studies.grid import list_cells
from sfumato.studies.parsing import parse_spec
from sfumato.studies.spec import StudySpec
from sfumato.studies.worker import Work, work_on

pytestmark = pytest.mark.usefixtures("small_vectors")

ROOT = Path(__file__).parents[3]
SYNTHETIC = 'synthesis = "evolution"'
STUDY = """
seeds = [1]
anchors = false

[corpus]
path = "in.jsonl"
public = true

[test]
path = "in.jsonl"
public = true

[model]
name = "lstm"
settings = {{ hidden = 4, embedding = 4, context = 16 }}
epochs = 0.1
{model}

[[methods]]
name = "made"
{synthesis}
epsilon = [50]
texts = 2
candidates = 4
rounds = 1
settings = {{ pool = "{pool}", whole = {whole} }}
{more}

[measures.perplexity]
[measures.text]
"""
# Two kinds of texts, of two lines each; private ones have all of one kind.
HEALTH = ("The doctor saw\nfever and pain.", "A nurse came\nwith pain and fever.")
MUSIC = ("The song was\nmusic to dance.", "A dance and\na song with music.")


def study(
    folder: Path,
    more: str = "",
    *,
    private: str = "doctor fever pain",
    pool: str = "pool.jsonl",
    **other: str,
) -> StudySpec:
    records = [{"text": f"{private} {number}"} for number in range(40)]
    _write(folder / "in.jsonl", records)
    _write(folder / "pool.jsonl", [{"text": one} for one in (*HEALTH, *MUSIC)])
    asked = {"model": "", "synthesis": 'synthesis = "evolution"', "whole": "true"} | other
    return parse_spec(STUDY.format(more=more, pool=pool, **asked), folder, "small")


def _write(path: Path, records: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


def computed(folder: Path, spec: StudySpec) -> dict[str, dict[str, Any]]:
    """The records of all cells by kind, and the text that was made."""
    grid = list_cells(spec)
    work = Work(spec, grid, StudyFolder(folder / "out"))
    work_on(work)
    found: dict[str, dict[str, Any]] = {}
    for cell in grid.distinct:
        record = json.loads(work.folder.record(cell.key).read_text())
        assert record["state"] == "done", record["error"]
        found[cell.kind] = record | {"looked at by": cell.name}
        if cell.kind == "synthetic":
            lines = (work.folder.cell(cell.key) / "synthetic.jsonl").read_text().splitlines()
            found["text"] = {"texts": sorted(json.loads(line)["text"] for line in lines)}
    return found


def test_a_model_is_trained_on_what_records_chose(tmp_path: Path) -> None:
    found = computed(tmp_path, study(tmp_path))
    assert found["text"]["texts"] == sorted(HEALTH)
    assert found["synthetic"]["guarantee"]["epsilon"] == 50
    assert found["run"]["guarantee"] == found["synthetic"]["guarantee"]
    assert found["run"]["details"]["plan"]["units"] == 2
    # Nothing compares a synthetic text with an original: there is none for it.
    assert found["measure"]["looked at by"] == "perplexity"


def test_votes_are_those_of_the_records(tmp_path: Path) -> None:
    """The sabotaged twin of the test above: other records, other texts."""
    found = computed(tmp_path, study(tmp_path, private="music song dance"))
    assert found["text"]["texts"] == sorted(MUSIC)


def test_a_control_is_chosen_without_looking_at_records(tmp_path: Path) -> None:
    texts = []
    for number, private in enumerate(("doctor fever pain", "music song dance")):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = computed(folder, study(folder, "control = true", private=private))
        assert found["run"]["guarantee"]["notion"] == "independence from the original"
        assert found["run"]["guarantee"]["epsilon"] == 0
        texts.append(found["text"]["texts"])
        assert not list(folder.rglob("chosen-*"))
    assert texts[0] == texts[1]


def test_a_pool_is_cut_into_sentences_unless_it_is_whole(tmp_path: Path) -> None:
    found = computed(tmp_path, study(tmp_path, whole="false"))
    assert all("\n" not in one for one in found["text"]["texts"])


@pytest.mark.parametrize(
    ("more", "other", "said"),
    [
        ("", {"synthesis": 'synthesis = "prediction"'}, "must be 'evolution'"),
        ("sentences = 3", {}, "unknown key of the synthetic method made"),
        ('mechanism = "laplace"', {}, "no mechanism"),
        ('generator = "pol"', {}, "did you mean 'pool'"),
        ('encoder = "nothing"', {}, "there is no file"),
        ("votes = 0", {}, "votes"),
        ("", {"pool": "/etc/passwd"}, "outside its folder"),
        ("", {"model": 'classes = ["0", "1"]'}, "label_field|without classes"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_computed(
    tmp_path: Path, more: str, other: dict[str, str], said: str
) -> None:
    with pytest.raises((InvalidArgument, UnknownName, OSError), match=said):
        list_cells(study(tmp_path, more, **other))


def test_the_private_text_is_no_pool(tmp_path: Path) -> None:
    long = "the doctor saw fever and pain in every patient of the ward that week"
    spec = study(tmp_path, private=long, pool="in.jsonl")
    grid = list_cells(spec)
    work = Work(spec, grid, StudyFolder(tmp_path / "out"))
    work_on(work)
    (cell,) = [one for one in grid.distinct if one.kind == "synthetic"]
    record = json.loads(work.folder.record(cell.key).read_text())
    assert record["state"] == "failed"
    assert "private input" in record["error"]["message"]


def test_an_account_does_not_pay_for_it(tmp_path: Path) -> None:
    from dataclasses import replace

    with pytest.raises(InvalidArgument, match="not charged by a study"):
        list_cells(replace(study(tmp_path), charged=True))


def test_the_study_of_the_documentation_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to-study.md").read_text("utf-8")
    (text,) = [one for one in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if SYNTHETIC in one]
    _write(tmp_path / "public.jsonl", [{"text": one} for one in (*HEALTH, *MUSIC)])
    cells = list_cells(parse_spec(text, tmp_path, "small")).distinct
    assert sum(cell.kind == "synthetic" for cell in cells) == 3


def test_the_study_of_equal_leakage_trains_the_same_network_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ROOT / "studies" / "equal-leakage.toml"
    text = re.sub(r'name = "\$\{SFUMATO_PUBLIC\}.*"', 'name = "lstm"', file.read_text("utf-8"))
    monkeypatch.setenv("SFUMATO_EQUAL", str(tmp_path))
    for name in ("train", "test", "others", "pool", "same-kind"):
        _write(tmp_path / f"{name}.jsonl", [{"text": one} for one in (*HEALTH, *MUSIC)])
    (tmp_path / "train.jsonl.canaries.json").write_text("{}")
    cells = list_cells(parse_spec(text, tmp_path, "equal")).distinct
    runs = [cell for cell in cells if cell.kind == "run"]
    assert {json.dumps(cell.settings["model"]) for cell in runs} == {
        json.dumps(runs[0].settings["model"])
    }
    looks = [cell for cell in cells if cell.kind in ("attack", "measure")]
    assert {cell.name for cell in looks} == {"exposure", "membership", "perplexity"}
    assert len(looks) == 3 * len(runs)
    # A text or votes come from a pool that is public, and never from the corpus itself.
    pools = {
        cell.settings["settings"]["pool"] for cell in cells if "pool" in str(cell.settings)
        and cell.kind in ("release", "synthetic")
    }  # fmt: skip
    assert pools == {"${SFUMATO_EQUAL}/pool.jsonl", "${SFUMATO_EQUAL}/same-kind.jsonl"}
