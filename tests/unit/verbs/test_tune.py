"""``sfumato.tune`` and the command: refusals before anything is drawn, estimates, the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument

QUICK: dict[str, Any] = {
    "epsilon": 8.0,
    "trials_mean": 2.0,
    "model": "lstm",
    "settings": {"hidden": 4, "embedding": 4, "context": 12},
    "epochs": 0.5,
    "batch_size": 6,
    "accountant": "rdp",
    "seed": 3,
}
RATES = {"learning_rate": "1e-3..1e-1:log"}


@pytest.fixture
def private(tmp_path: Path) -> Path:
    path = tmp_path / "private.txt"
    path.write_text("".join(f"Note {n}: order {n}00 is late.\n" for n in range(12)))
    return path


@pytest.fixture
def public(tmp_path: Path) -> Path:
    path = tmp_path / "public.txt"
    path.write_text("All is well.\nNothing is late.\n")
    return path


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "one thing that decides"),
        ({"hold_out": 0.2, "valid": "public.txt"}, "one thing that decides"),
        ({"hold_out": 0.2, "score": "accuracy"}, "leave it out"),
        ({"valid": "public.txt", "score": "f1"}, "none of the figures"),
        ({"hold_out": 0.99}, "at least one is needed"),
        ({"hold_out": 0.2, "epsilon": float("inf")}, "epsilon"),
        ({"hold_out": 0.2, "accountant": "pure"}, "accountant"),
        ({"hold_out": 0.2, "search": {"hidden": "4,many"}}, "hidden"),
        ({"hold_out": 0.2, "search": {"nonsense": "4,5"}}, "nonsense"),
        ({"hold_out": 0.2, "search": {"learning_rate": "1..1e9"}}, "learning_rate"),
        ({"hold_out": 0.2, "search": {"optimizer": "adam,fast"}}, "optimizer"),
        ({"hold_out": 0.2, "trials": "fixed"}, "trials="),
        ({"valid": "private.txt"}, "private corpus itself"),
    ],
)
@pytest.mark.usefixtures("public")
def test_refusals_come_before_anything_is_drawn(
    private: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], problem: str
) -> None:
    monkeypatch.chdir(private.parent)
    with pytest.raises(InvalidArgument, match=problem):
        sfumato.tune(private.name, "run", **(QUICK | {"search": RATES} | given))
    assert {one.name for one in Path().iterdir()} == {"private.txt", "public.txt"}


def test_a_search_by_the_command_and_from_python(
    private: Path, public: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = private.parent / "run"
    found = sfumato.tune(private, folder, search=RATES, valid=public, estimate=True, **QUICK)
    assert not folder.exists()
    with pytest.raises(InvalidArgument, match="estimated, not made"):
        _ = found.run
    settings = [f"--set={key}={value}" for key, value in QUICK["settings"].items()]
    others = {key: value for key, value in QUICK.items() if key != "settings"}
    words = [f"--{key.replace('_', '-')}={value}" for key, value in others.items()]
    given = ["tune", str(private), "-o", str(folder), "--valid", str(public), *settings, *words]
    capsys.readouterr()
    assert main([*given, "--search", "learning-rate=1e-3..1e-1:log", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["search"] == json.loads(json.dumps(found.plan.compare()))
    assert told["guarantee"]["epsilon"] <= 8.0
    assert set(told["chosen"]) == {"learning_rate"}
    assert {row["corpus"] for row in told["results"]} == {"valid"}
    again = sfumato.tune(private, folder, search=RATES, valid=public, resume=True, **QUICK)
    assert again.chosen == told["chosen"]
    assert again.run.already_finished
    # The page of a run says that it is the best of a search, and guesses by its level.
    sfumato.report(folder, private.parent / "run.html")
    assert "the best of 2 trials on average" in (private.parent / "run.html").read_text()
