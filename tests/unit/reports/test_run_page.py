"""The page of a training run stands beside its folder, never inside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.histograms.thresholds import solve_noise
from sfumato.reports import write_report
from sfumato.training.methods.forms import CONTRIBUTION, Forms
from unit.reports.example_run import write_run
from unit.reports.reading import HOSTILE_LINE, assert_sound


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", model=HOSTILE_LINE)


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


def test_a_private_tokenizer_stands_beside_the_level_of_the_model(finished: Path) -> None:
    path = finished / "guarantee.json"
    content = json.loads(path.read_text())
    content["guarantee"]["notion"] = "approximate differential privacy"
    levels = {"tokenizer": 1.0, "model": 7.0, "together": 7.5}
    content["parts"] = {
        name: {"epsilon": level, "delta": 0.005} for name, level in levels.items()
    } | {"how": "the noise of both composed"}
    path.write_text(json.dumps(content))
    text = assert_sound(write_report(finished).path.read_bytes()).text()
    assert "tokenizer ε ≤ 1 at δ ≤ 0.005; model ε ≤ 7 at" in text
    assert "How often could a record be guessed?" in text
    content["parts"] = {"tokenizer": {}}
    path.write_text(json.dumps(content))
    write_report(finished, overwrite=True)


def test_learned_forms_are_listed(finished: Path) -> None:
    assert "made-up" not in assert_sound(write_report(finished).path.read_bytes()).text()
    noise = solve_noise(0.5, 1e-6, CONTRIBUTION)
    counts = {"NUMBER": {"0000": 300.0, "": 100.0}, "<b>CODE": {"**********": 50.0}}
    path = finished / "forms.json"
    path.write_text(json.dumps(Forms(counts, noise, 900).as_dict()))
    read = assert_sound(write_report(finished, overwrite=True).path.read_bytes())
    cells = [one.text for one in read.all("td", "th")]
    for row in (
        ("NUMBER", "0000", "75.0%"),
        ("NUMBER", "(no form)", "25.0%"),
        ("<b>CODE", "**********", "100.0%"),
    ):
        start = next(at for at in range(len(cells)) if tuple(cells[at : at + 3]) == row)
        assert start
    assert "ε ≤ 0.5, a part of the level of the model" in read.text()
    path.write_text(json.dumps(Forms({}, noise, 900).as_dict()))
    read = assert_sound(write_report(finished, overwrite=True).path.read_bytes())
    assert "none was frequent enough to be shown" in read.text()
    many = {"NUMBER": {"0" * length: 9.0 for length in range(1, 90)}}
    path.write_text(json.dumps(Forms(many, noise, 900).as_dict()))
    read = assert_sound(write_report(finished, overwrite=True).path.read_bytes())
    assert "The 60 first of 89 are listed." in read.text()
    path.write_text('{"schema": 1, "forms": {"NUMBER": {"0": "x"}}}')
    with pytest.raises(BadInput, match="damaged"):
        write_report(finished, overwrite=True)


def test_three_sentences_come_first_and_nothing_is_raw(finished: Path) -> None:
    read = assert_sound(write_report(finished).path.read_bytes())
    text = read.text()
    said = [text.index(one) for one in ("Protected:", "Found by attack:", "To decide:")]
    assert said == sorted(said)
    assert said[-1] < text.index("Figure 1. How sure can an attacker be?")
    assert "ε ≤ 7.5, δ ≤ 0.01 for one document" in text
    assert "e^7.5 ≈ 1,809" in text
    cells = [one.text for one in read.all("td", "th")]
    assert not [one for one in cells if one.startswith(("{", "["))]
    assert "settings: hidden 64 settings: tied yes" in text


def test_a_path_of_this_machine_is_not_told(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", model=str(tmp_path / "models" / "own"))
    text = assert_sound(write_report(run).path.read_bytes()).text()
    assert "A language model (own), trained on private text." in text
    assert str(tmp_path) not in text


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
