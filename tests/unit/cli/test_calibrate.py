"""``sfumato calibrate`` on the folder of a study."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from sfumato.cli.main import main
from sfumato.results.row import Row
from unit.calibration.sweeps import (
    LEVELS,
    Noise,
    anchors,
    logistic,
    row,
    sweep,
    useful,
    write_study,
)


def made() -> list[Row]:
    leaking = sweep(logistic, LEVELS, 3, Noise(0.2), np.random.default_rng(3))
    endless = [row(math.inf, 6.0 + 0.1 * seed, seed) for seed in range(3)]
    use = useful(leaking, lambda level: 60 - 5 * math.log(level))
    return [*leaking, *endless, *use, *anchors(7.0, 0.0)]


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("public"), made(), public=True)


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("private"), made(), public=False)


def test_it_prints_levels_utility_anchors_and_what_it_is_not(
    public: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["calibrate", str(public), "--target", "3,20", "--target", "-9"])
    said = capsys.readouterr()
    assert code == 0
    for expected in (
        "no privacy", "random output", "exposure = 3", "exposure = 20", "exposure = -9", "fit",
        "leaks less at every level tried", "leaks more at every level tried", "not a guarantee",
    ):  # fmt: skip
        assert expected in said.out
    assert "leakage is exposure as measured by exposure" in said.err


def test_json_holds_the_same(public: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["calibrate", str(public), "--attack", "exposure", "--metric", "exposure"]
    assert main([*arguments, "--target", "3", "--utility", "perplexity", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (method,) = found["methods"]
    (at,) = method["targets"]
    assert method["fitness"]["verdict"] == "fit"
    assert at["low"] < math.exp(1.5) < at["high"]
    assert at["utility"]["low"] < 60 - 5 * 1.5 < at["utility"]["high"]
    assert "not a guarantee" in found["sentence"]


def test_a_chart_is_written_once(
    public: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "chart.svg"
    arguments = ["calibrate", str(public), "--target", "3", "-o", str(target)]
    assert main(arguments) == 0
    assert b"random output" in target.read_bytes()
    assert main(arguments) == 4
    assert "--overwrite" in capsys.readouterr().err
    assert main([*arguments, "--overwrite"]) == 0


def test_private_figures_are_refused_unless_a_public_stand_in_is_named(
    private: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = tmp_path / "chart.svg"
    assert main(["calibrate", str(private), "--target", "3", "-o", str(chart)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "--public-proxy" in said.err
    assert "cannot be charged" in said.err
    assert not chart.exists()
    assert main(["calibrate", str(private), "--target", "3", "--public-proxy", "WikiText-2"]) == 0
    assert "WikiText-2" in capsys.readouterr().out


def test_a_study_that_does_not_say_whether_it_is_public_is_private(
    private: Path, tmp_path: Path
) -> None:
    description = json.loads((private / "study.json").read_text("utf-8"))
    for said in ({}, {"public": "yes"}, {"public": None}):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        kept = {key: value for key, value in description.items() if key != "public"}
        (folder / "study.json").write_text(json.dumps(kept | said), encoding="utf-8")
        assert main(["calibrate", str(folder), "--target", "3"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--target", "much"], 2, "--target takes numbers"),
        (["--target", "nan"], 2, "target"),
        (["--attack", "exposur"], 2, "did you mean 'exposure'"),
        (["--utility", "bleu"], 2, "figure of utility"),
        (["-o", "chart.bmp"], 2, "format of charts"),
    ],
)
def test_what_is_wrong_is_said(
    public: Path,
    arguments: list[str],
    code: int,
    expected: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["calibrate", str(public), *arguments]) == code
    assert expected in capsys.readouterr().err


def test_a_file_or_another_folder_is_not_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.toml").write_text("", encoding="utf-8")
    assert main(["calibrate", str(tmp_path / "study.toml")]) == 3
    assert "give the folder" in capsys.readouterr().err
    assert main(["calibrate", str(tmp_path)]) == 4
    assert "not the folder of a study" in capsys.readouterr().err
