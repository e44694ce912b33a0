"""The page of a study: complete, partial, empty, hostile, and without the libraries that draw."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.main import main
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.reports import write_report
from sfumato.reports.sections.groups import Gap
from sfumato.reports.series import SeriesPoint
from unit.reports.example_study import LEVELS, Said, nothing, partly, write_study
from unit.reports.reading import HOSTILE, Read, assert_sound

QUESTIONS = ["safe", "useful", "groups-of-people", "wrong", "made"]
SECTIONS = [
    "methods", "tradeoff", "recognition", "secrets", "hiding", "claims", "attackers", "texts",
    "groups", "limits", "cost", "figures", "provenance",
]  # fmt: skip


def sections(read: Read) -> list[str]:
    """Those about the study; the last one explains the terms."""
    found = [one.attributes["id"] for one in read.all("section")]
    assert found[-1] == "terms"
    return found[:-1]


def charts(read: Read) -> dict[str, Any]:
    (block,) = (one for one in read.all("script") if one.attributes.get("id") == "charts")
    found: dict[str, Any] = json.loads(block.text)
    return found


def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)


def test_a_finished_study_has_every_section_in_order(study_report: Path) -> None:
    read = assert_sound(study_report.read_bytes())
    assert sections(read) == SECTIONS
    folded = [one for one in read.all("details") if one.attributes["class"] == "question"]
    assert [one.attributes["id"] for one in folded] == QUESTIONS
    assert [one.text for one in read.all("h1")] == ["Private customer service"]
    assert "35 of 35 computations finished" in read.text()
    assert "missing" not in sections(read)


def test_every_method_has_a_sentence_and_its_guarantee(study_report: Path) -> None:
    text = Read.of(study_report.read_bytes()).text()
    assert "at most exp(2·d) times likelier" in text
    assert "at most exp(2) times likelier (up to a probability of 0.001)" in text
    assert "Utility: perplexity 72.5 at ε = 2, 50 at ε = 8." in text
    assert "not covered: what digits does not find" in text


def test_every_chart_has_its_data_and_a_description(study_report: Path) -> None:
    read = Read.of(study_report.read_bytes())
    drawn = charts(read)
    holders = [
        one.attributes["data-chart"] for one in read.elements if "data-chart" in one.attributes
    ]
    assert list(drawn) == holders
    assert len(holders) + len(read.all("svg")) // 2 >= 13
    data = [one for one in read.all("details") if one.attributes["class"] == "data"]
    assert len(data) == len(holders) + len(read.all("svg")) // 2
    assert all(spec["description"] for spec in drawn.values())
    # What is drawn stands in the page: nothing is fetched.
    assert '"url"' not in json.dumps(drawn)


def test_secrets_are_shown_as_the_attacker_ranks_them(study_report: Path) -> None:
    text = Read.of(study_report.read_bytes()).text()
    assert "My ID is ·····." in text
    assert "482" in text
    assert "The attacker knows the sentence around the secret" in text


def test_groups_have_a_gap(study_report: Path) -> None:
    text = Read.of(study_report.read_bytes()).text()
    assert "By country: perplexity." in text
    assert "The widest gap is 12 (no privacy): US fares best, JP worst." in text
    assert "its interval" in text


def test_a_gap_has_the_interval_of_a_difference() -> None:
    point = SeriesPoint(
        method="m", parameter=None, level=None, group="a", value=0.75, low=0.7, high=0.79, n=9,
        seeds=1, chance=None,
    )  # fmt: skip
    worse = replace(point, group="b", value=0.5, low=0.38, high=0.62)
    low, high = Gap("m", point, worse).interval or (0, 0)
    assert (round(low, 3), round(high, 3)) == (0.12, 0.376)
    # Where less is better the best is the smaller figure; the width is the same.
    assert Gap("m", worse, point).interval == (low, high)
    assert Gap("m", point, replace(worse, low=None)).interval is None
    assert Gap("m", point, replace(worse, low=None)).said == "–"


def test_groups_that_an_attack_left_out_are_named(study_report: Path) -> None:
    text = Read.of(study_report.read_bytes()).text()
    said = text[text.index("Groups that could not be attacked alone: 1 case") :]
    assert "JP" in said[:140]
    assert "2 documents are too few" in said[:140]


def test_the_same_folder_gives_the_same_bytes(study_report: Path, tmp_path: Path) -> None:
    again = write_report(study_report.parent, tmp_path / "again.html").path
    assert again.read_bytes() == study_report.read_bytes()


def test_a_partial_study_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_charts(monkeypatch)
    page = write_report(write_study(tmp_path / "study", state=partly)).path.read_bytes()
    text = assert_sound(page).text()
    # At the larger level of two methods: a run, an audit and a membership attack each, a release.
    assert "9 of 35 computations are not here. 2 computations failed and 7 are missing" in text
    assert (
        "SMDP, ε = 8 attack exposure 1 BadInput the corpus of the study holds no document" in text
    )
    assert "DP-SGD, ε = 8 run 1" in text


def test_an_empty_study_has_a_page(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", state=nothing, public=False)
    read = assert_sound(write_report(folder).path.read_bytes())
    text = read.text()
    assert sections(read) == ["methods", "texts", "missing", "limits", "provenance"]
    assert "35 of 35 computations are not here" in text
    assert "Nothing is measured yet: of 16 computations 0 failed and 16 are missing." in text
    assert "These figures were measured on private text" in text


def test_a_grid_without_cells_has_a_page(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", state=nothing)
    about = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps({"schema": about["schema"], "cells": []}))
    text = assert_sound(write_report(folder).path.read_bytes()).text()
    assert "Untitled study" in text
    assert "by no method: the grid of this study holds none." in text


def test_hostile_text_is_shown_and_never_markup(hostile_report: Path) -> None:
    page = hostile_report.read_bytes()
    read = assert_sound(page)
    text = read.text()
    for free in ("title", "corpus", "text", "training", "field", "one", "type", "message", "note"):
        assert f"{free} </script><script>window.hacked=1;alert(1)</script><img src=x" in text, free
    for free in ("command", "file", "setting"):
        assert f"{free} </script>" in text, free
    # And it is in the charts as data, where it is text as well.
    assert "window.hacked=1;alert(1)" in json.dumps(charts(read))


def test_a_page_that_does_not_escape_is_caught(study_report: Path) -> None:
    """The sabotaged twin: one text put in as it is, and the checks above must object."""
    page = study_report.read_bytes().replace(
        b"600 generated", HOSTILE.encode("utf-8", "replace"), 1
    )
    with pytest.raises(AssertionError):
        assert_sound(page)


def test_without_the_extra_there_are_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_study(tmp_path / "study")
    without_charts(monkeypatch)
    read = assert_sound(write_report(folder).path.read_bytes())
    assert sections(read) == SECTIONS
    assert charts(read) == {}
    assert "pip install 'sfumato[charts]'" in read.text()
    assert len(read.scripts()) == 1
    # What the page draws by itself stays; every other chart is a table that is open.
    drawn = [one for one in read.all("details") if one.attributes["class"] == "data"]
    assert len(drawn) == len(read.all("svg")) // 2 >= 2
    assert "US (n = 450)" in read.text()


def test_another_version_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = write_study(tmp_path / "study", state=nothing)
    about = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps(about | {"schema": 99}))
    assert main(["report", str(folder)]) == 3
    assert "was not written by this version" in capfd.readouterr().err
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize("damage", [{"cells": None}, {"cells": [1]}, {"cells": [{"kind": "run"}]}])
def test_a_damaged_description_is_refused(tmp_path: Path, damage: dict[str, Any]) -> None:
    folder = write_study(tmp_path / "study", state=nothing)
    about = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps(about | damage))
    with pytest.raises(BadInput):
        write_report(folder)


def test_details_of_another_version_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_charts(monkeypatch)
    folder = write_study(tmp_path / "study")
    for path in folder.glob("cells/*/cell.json"):
        cell = json.loads(path.read_text())
        cell["details"] = {"keep": {"low": "?"}, "bounds": {"one_run": 3}}
        if cell["scores"]:
            cell["scores"]["details"] = {"roc": 7, "canaries": [{}], "means": [{}], "success": [{}]}
        path.write_text(json.dumps(cell))
    read = assert_sound(write_report(folder).path.read_bytes())
    assert {"recognition", "secrets", "hiding"}.isdisjoint(sections(read))


def test_samples_of_a_private_study_need_the_originals(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", state=nothing, public=False)
    with pytest.raises(InvalidArgument, match="needs `originals=FILE`"):
        write_report(folder, samples=2)


def test_samples_of_a_private_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_charts(monkeypatch)
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.releases.job import Job, run_job
    from sfumato.releases.privatizer import Privatizer

    folder = write_study(tmp_path / "study", public=False)
    originals = tmp_path / "notes.jsonl"
    originals.write_text('{"text": "Call <b>555</b> please"}\n{"text": "No secret"}\n')
    release = next(folder.glob("cells/release-*"))
    job = Job(source=Source.of(originals, Layout()), target=release / "text.jsonl")
    run_job(job, Privatizer(policy="digits", mechanism="laplace", epsilon=1, seed=3))
    written = write_report(folder, samples=1, originals=originals)
    read = assert_sound(written.path.read_bytes())
    assert written.private_text
    assert "This page contains private text." in read.text()
    assert [one.text for one in read.all("mark")][3] == "555"
    assert f"SMDP, ε = {LEVELS[0]:g}" in read.text()
    # Without samples no text is there, even if the originals are named.
    quiet = write_report(folder, originals=originals)
    assert not quiet.private_text
    assert "555" not in Read.of(quiet.path.read_bytes()).text()


def test_a_public_study_needs_no_originals(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", Said(), state=nothing)
    with pytest.raises(InvalidArgument, match="leave out `originals="):
        write_report(folder, originals=tmp_path / "x.jsonl")


def test_levels_of_two_notions_share_no_axis(study_report: Path) -> None:
    """Each method has a panel of its own, which says what its levels are of."""
    said = [one.text for one in Read.of(study_report.read_bytes()).all("text")]
    for notion in ("metric DP", "approximate DP"):
        assert f"ε ({notion})" in said
    assert "ε" not in said


def test_the_page_decides_only_by_what_it_has(study_report: Path) -> None:
    """Membership tells the ends apart here; both methods leak by it at the larger level."""
    read = Read.of(study_report.read_bytes())
    text = read.text()
    said = [text.index(one) for one in ("Protected:", "Found by attack:", "To decide:")]
    assert said == sorted(said)
    assert said[-1] < text.index("Figure 1. What is kept, against what leaks.")
    interval = r"0\.8\d* \(0\.8\d* to 0\.9\d*\)"
    assert re.search(
        rf"auc min-k \(membership\) is {interval} without privacy and 0\.5 by chance", text
    )
    verdicts = [one for one in read.all("strong") if "verdict" in one.attributes.get("class", "")]
    # Where another attack finds something, the first chart's being quiet is not enough.
    assert [one.text for one in verdicts] == ["No", "Yes"]
    assert "another attack, or one on a group, finds more than by chance" in text
    assert "take DP-SGD at ε = 2" in text


def test_the_widest_gap_is_said_to_be_too_wide(study_report: Path) -> None:
    text = Read.of(study_report.read_bytes()).text()
    assert "tends to be overestimated" in text


def test_a_private_page_says_that_groups_go_by_their_names(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", public=False)
    text = Read.of(write_report(folder).path.read_bytes()).text()
    assert "Groups have the names that they have in the data" in text
