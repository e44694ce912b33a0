"""The folder of a run: made once, resumed with the same settings only, results in flat rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import BadInput, CannotResume, OutputExists, StorageFailed
from sfumato.guarantees.guarantee import Guarantee
from sfumato.training.folder import SCHEMA, RunFolder, open_run, versions
from unit.training.runs import small_plan

SETTINGS: dict[str, Any] = {"model": "lstm", "plan": {"units": 6}, "classes": ("a", "b")}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "deep" / "run")
    made.begin(SETTINGS, resume=False)
    return made


def finish(folder: RunFolder) -> None:
    folder.model.mkdir()
    folder.write_guarantee(small_plan().guarantee(), {})


def test_settings_and_versions_are_written_down(folder: RunFolder) -> None:
    content = json.loads(folder.config.read_bytes())
    assert content["schema"] == SCHEMA
    assert content["settings"] == folder.settings() == SETTINGS | {"classes": ["a", "b"]}
    assert content["versions"] == versions()
    assert {"python", "sfumato", "torch", "transformers", "dp-accounting"} <= set(versions())


def test_resuming_needs_the_same_settings(folder: RunFolder) -> None:
    before = folder.config.read_bytes()
    folder.begin(SETTINGS, resume=True)
    with pytest.raises(OutputExists, match="`resume=True` goes on with it"):
        folder.begin(SETTINGS, resume=False)
    for change, names in (
        ({"model": "gpt-small"}, "model"),
        ({"plan": {"units": 7}, "model": "x"}, "model, plan"),
        ({"new": 1}, "new"),
    ):
        with pytest.raises(CannotResume, match=f"another {names};"):
            folder.begin(SETTINGS | change, resume=True)
    fewer = {key: value for key, value in SETTINGS.items() if key != "classes"}
    with pytest.raises(CannotResume, match="another classes"):
        folder.begin(fewer, resume=True)
    assert folder.config.read_bytes() == before


def test_a_run_of_an_older_version_is_read_and_resumed(folder: RunFolder) -> None:
    content = json.loads(folder.config.read_bytes())
    content["settings"] |= {"plan": {"neighbours": "zero-out"}, "course": {"optimiser": "sgd"}}
    folder.config.write_text(json.dumps(content))
    now = SETTINGS | {"plan": {"neighbors": "zero-out"}, "course": {"optimizer": "sgd"}}
    assert folder.settings() == json.loads(json.dumps(now))
    folder.begin(now, resume=True)
    with pytest.raises(CannotResume, match="another course"):
        folder.begin(now | {"course": {"optimizer": "adam"}}, resume=True)


def test_a_place_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    for name in ("file", "full"):
        for resume in (False, True):
            with pytest.raises(OutputExists, match="is no run"):
                RunFolder(tmp_path / name).begin(SETTINGS, resume=resume)
    assert (tmp_path / "file").read_text() == "mine"
    assert [one.name for one in (tmp_path / "full").iterdir()] == ["mine.txt"]
    RunFolder(tmp_path / "empty").begin(SETTINGS, resume=False)


def test_a_run_killed_while_its_folder_was_made_begins_again(tmp_path: Path) -> None:
    left = tmp_path / "run"
    left.mkdir()
    (left / "config.json.unfinished").write_text('{"schem')
    RunFolder(left).begin(SETTINGS, resume=True)
    assert [one.name for one in left.iterdir()] == ["config.json"]


def test_no_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageFailed, match="cannot write"):
        RunFolder(tmp_path / "file" / "run").begin(SETTINGS, resume=False)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a run's configuration"),
        (b"[]", "not a run's configuration"),
        (b'{"schema": 1}', "not a run's configuration"),
        (b'{"schema": 1, "settings": 3}', "another version"),
        (b'{"schema": 99, "settings": {}}', "another version"),
    ],
)
def test_a_configuration_that_cannot_be_read(
    folder: RunFolder, content: bytes, complaint: str
) -> None:
    folder.config.write_bytes(content)
    with pytest.raises(BadInput, match=complaint):
        folder.begin(SETTINGS, resume=True)


def test_only_a_finished_run_is_opened(folder: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match=r"no config\.json"):
        open_run(tmp_path)
    with pytest.raises(BadInput, match="not finished"):
        open_run(folder.path)
    folder.model.mkdir()
    with pytest.raises(BadInput, match="not finished"):
        open_run(folder.path)
    folder.write_guarantee(small_plan().guarantee(), {})
    assert open_run(folder.path) == folder


def test_the_guarantee_is_written_with_its_sentence(folder: RunFolder) -> None:
    promised = small_plan().guarantee().reproducible()
    folder.write_guarantee(promised, {"plan": small_plan().as_dict()})
    content = json.loads(folder.guarantee.read_bytes())
    assert Guarantee.from_dict(content["guarantee"]) == promised
    assert content["sentence"] == promised.sentence()
    assert content["for_release"] is False
    assert content["plan"] == small_plan().as_dict()


def test_results_are_rows_and_newer_ones_take_the_place_of_older(folder: RunFolder) -> None:
    assert folder.measured() == []
    folder.add_results([{"metric": "steps", "value": 3}])
    first = {"metric": "perplexity", "value": 9.5, "corpus": "valid"}
    folder.add_results([first, {"metric": "accuracy", "value": 0.5, "corpus": "valid"}])
    folder.add_results([first | {"value": 8.0}, {"metric": "perplexity", "value": 1.0}])
    lines = folder.results.read_text().splitlines()
    assert [json.loads(line) for line in lines] == folder.measured()
    assert [(row["metric"], row.get("corpus"), row["value"]) for row in folder.measured()] == [
        ("steps", None, 3),
        ("accuracy", "valid", 0.5),
        ("perplexity", "valid", 8.0),
        ("perplexity", None, 1.0),
    ]
    folder.results.write_text("{}\nnot a row")
    with pytest.raises(BadInput, match="one JSON object a line"):
        folder.add_results([first])
    assert folder.results.read_text() == "{}\nnot a row"


def test_what_only_an_unfinished_run_needs_is_removed_at_the_end(folder: RunFolder) -> None:
    finish(folder)
    for name in ("checkpoint.pt", "checkpoint.pt.unfinished", "guarantee.json.unfinished"):
        (folder.path / name).write_bytes(b"left over")
    folder.ledger.write_bytes(b"kept")
    folder.clear()
    assert {one.name for one in folder.path.iterdir()} == {
        "config.json", "guarantee.json", "ledger.jsonl", "model",
    }  # fmt: skip
