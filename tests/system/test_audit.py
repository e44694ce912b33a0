"""``sfumato audit`` from the coins to the verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.cli.main import main

TINY = ("--model", "lstm", "--set", "hidden=24", "--set", "embedding=24", "--set", "context=48")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with coins, and a run that has learned it by heart."""
    folder = tmp_path_factory.mktemp("audit")
    (folder / "in.txt").write_text("A quiet day.\nNothing happened.\n")
    given = [str(folder / "in.txt"), "-o", str(folder / "corpus.txt"), "-n", "60", "--seed", "3"]
    assert main(["data", "coins", *given]) == 0
    learn = ("--epsilon", "inf", "--epochs", "40", "--batch-size", "16", "--learning-rate", "0.03")
    run = ["train", str(folder / "corpus.txt"), *TINY, *learn, "--seed", "1"]
    assert main([*run, "-o", str(folder / "run")]) == 0
    return folder


def claiming(audited: Path, name: str, epsilon: float) -> Path:
    """A copy of the run whose guarantee was made up."""
    import shutil

    copy = audited / name
    shutil.copytree(audited / "run", copy)
    stated = json.loads((copy / "guarantee.json").read_bytes())
    stated["guarantee"] |= {"epsilon": epsilon, "delta": 1e-6}
    (copy / "guarantee.json").write_text(json.dumps(stated))
    return copy


def test_a_false_claim_is_refuted(audited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    coins = ("--coins", str(audited / "corpus.txt.coins.json"))
    false = claiming(audited, "false", 0.5)
    chart = audited / "chart.svg"
    code = main(["audit", str(audited / "run"), str(false), *coins, "--json", "-o", str(chart)])
    honest, lying = json.loads(capsys.readouterr().out)
    assert code == 1
    assert honest["claimed_epsilon"] in (None, "inf")
    assert not honest["refuted"]
    assert lying["refuted"]
    assert lying["bounds"]["one_run"]["epsilon_at_least"] > 0.5
    assert "claims nothing" in chart.read_text()


def test_a_claim_that_holds_is_not_refuted(
    audited: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = claiming(audited, "large", 50.0)
    coins = ("--coins", str(audited / "corpus.txt.coins.json"))
    assert main(["audit", str(large), *coins]) == 0
    said = capsys.readouterr().out
    assert "ε = 50 at δ = 1e-06" in said
    assert "not refuted, which does not prove it" in said
    assert "documents do not influence each other" in said


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run"], 3, "sfumato data coins CORPUS"),
        (["in.txt", "--coins", "corpus.txt.coins.json"], 3, "is a file"),
        (["run", "--coins", "in.txt"], 3, "in.txt"),
        (["run", "--coins", "nowhere.json"], 4, "No such file"),
        (["run", "--coins", "corpus.txt.coins.json", "--guesses", "101"], 2, "guesses=101"),
        (["run", "--coins", "corpus.txt.coins.json", "--confidence", "1"], 2, "confidence=1"),
        (["run", "--coins", "corpus.txt.coins.json", "-o", "chart.gif"], 2, ".gif"),
    ],
)
def test_what_is_missing_or_wrong_is_said(
    audited: Path,
    arguments: list[str],
    code: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(audited)
    assert main(["audit", *arguments]) == code
    assert words in capsys.readouterr().err
