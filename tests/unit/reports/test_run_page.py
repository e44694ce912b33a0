"""The page of a training run stands beside its folder, never inside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.reports import write_report
from sfumato.training.folder import RunFolder
from unit.reports.reading import HOSTILE_LINE, assert_sound


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    folder = RunFolder(tmp_path / "run")
    folder.begin(
        {"model": HOSTILE_LINE, "kind": "causal", "policy": "digits", "seed": 3}, resume=False
    )
    guarantee = Guarantee(
        notion=Notion.SELECTIVE_DP, unit="document", neighbors="two corpora", epsilon=7.5,
        delta=0.01, uncovered=("what the policy digits does not find",),
    )  # fmt: skip
    paper = {
        "epsilon": 2.25,
        "delta": 0.01,
        "proven": False,
        "why": "not proven: states are left out",
    }
    folder.write_guarantee(
        guarantee, {"plan": {"steps": 54}, "epsilon_planned": 8.0, "as_in_the_paper": paper}
    )
    folder.add_results(
        [{"metric": "perplexity", "value": 31.5, "low": 30.0, "high": 33.0, "n": 900}]
    )
    folder.model.mkdir()
    return folder.path


def test_a_run_has_a_page_beside_it(finished: Path) -> None:
    before = sorted(path.name for path in finished.iterdir())
    written = write_report(finished)
    text = assert_sound(written.path.read_bytes()).text()
    assert written.path == finished.with_name("run.report.html")
    assert sorted(path.name for path in finished.iterdir()) == before
    assert "at most exp(7.5) times likelier" in text
    assert "planned ε 8" in text
    assert "not proven: states are left out" in text
    assert "perplexity 31.5 30 to 33 900" in text
    assert "What the policy digits finds in a document is protected" in text
    assert "window.hacked=1" in text


def test_no_page_is_put_inside(finished: Path) -> None:
    for place in (finished / "report.html", finished / "model" / "report.html"):
        with pytest.raises(InvalidArgument, match="inside the run"):
            write_report(finished, place)


def test_an_unfinished_run_has_none(finished: Path) -> None:
    (finished / "guarantee.json").unlink()
    with pytest.raises(BadInput, match="not finished"):
        write_report(finished)


def test_another_version_is_refused(finished: Path) -> None:
    content = json.loads((finished / "guarantee.json").read_text())
    (finished / "guarantee.json").write_text(json.dumps(content | {"schema": 7}))
    with pytest.raises(BadInput, match="was not written by this version"):
        write_report(finished)


def test_a_run_has_no_text_to_show(finished: Path) -> None:
    with pytest.raises(InvalidArgument, match="keeps no text"):
        write_report(finished, samples=2)


def test_the_name_of_a_folder_given_as_a_dot(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(finished)
    assert write_report(".").path == finished.with_name("run.report.html")
