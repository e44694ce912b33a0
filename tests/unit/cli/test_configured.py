"""Settings files and presets of commands: who wins, what is said, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.catalog import entries
from sfumato.cli.main import main
from sfumato.core.config import presets
from sfumato.core.errors import UnknownName

Shown = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "in.txt").write_text("Room 12 and zanzibar\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def settle(folder: Path, text: str, name: str = "sfumato.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def run(*arguments: str) -> int:
    return main(["privatize", "in.txt", "-o", "out.txt", "--overwrite", *arguments])


def used(capsys: Shown, *arguments: str) -> dict[str, Any]:
    """The settings that a run was made with."""
    capsys.readouterr()
    assert run(*arguments, "--json") == 0
    settings: dict[str, Any] = json.loads(capsys.readouterr().out)["settings"]
    return settings


def test_a_row_that_is_typed_leaves_the_other_rows_of_a_table(here: Path, capsys: Shown) -> None:
    settle(
        here,
        '[privatize]\npolicy = "pii"\n[privatize.by_type]\nPERSON = "redact"\nDATE = "redact"\n'
        '[privatize.settings]\n"pii.regions" = ["DE", "FR"]\nplace_epsilon = 0.5\n',
    )
    (here / "in.txt").write_text("Ann Smith on 5 May 2021 in Paris\n", encoding="utf-8")
    found = used(capsys, "--by-type", "PERSON=pseudonym", "--set", "age_epsilon=0.3")
    assert (found["by_type"]["PERSON"], found["by_type"]["DATE_TIME"]) == ("pseudonym", "redact")
    other = used(capsys, "--by-type", "DATE_TIME=surrogate")["by_type"]
    assert (other["PERSON"], other["DATE_TIME"]) == ("redact", "surrogate")
    assert "0.5" in json.dumps(found)
    # What belongs to another mechanism goes with it.
    assert not used(capsys, "-m", "redact").get("by_type")


def test_the_command_line_wins_then_a_named_file_then_a_found_one_then_a_preset(
    here: Path, capsys: Shown
) -> None:
    settle(here.parent, '[privatize]\npolicy = "digits"\nmechanism = "redact"\nencoding = "ascii"')
    named = settle(here, '[privatize]\npolicy = "everything"', "mine.toml")
    found = used(capsys)
    assert (found["policy"], found["mechanism"], found["encoding"]) == ("digits", "redact", "ascii")
    assert used(capsys, "--encoding", "utf-8")["encoding"] == "utf-8"
    assert used(capsys, "--preset", "chat-logs")["policy"] == "digits"
    mine = used(capsys, "--config", str(named), "-m", "redact")
    assert (mine["policy"], mine["encoding"]) == ("everything", "utf-8")
    assert (
        used(capsys, "--config", str(named), "-m", "redact", "-p", "digits")["policy"] == "digits"
    )
    bare = used(capsys, "--no-config", "-m", "redact")
    assert (bare["policy"], bare["encoding"]) == ("pii", "utf-8")


def test_the_file_in_use_is_named_and_nothing_of_it_is_quoted(here: Path, capsys: Shown) -> None:
    path = settle(here, '[privatize]\npolicy = "regex:zanzibar"\nmechanism = "redact"')
    assert run() == 0
    said = capsys.readouterr()
    assert f"settings from {path}: policy, mechanism" in said.err
    assert "zanzibar" not in said.out + said.err
    assert run("-q") == 0
    assert capsys.readouterr().err == ""
    assert run("--no-config", "-m", "redact") == 0
    assert "settings from" not in capsys.readouterr().err


def test_another_mechanism_does_not_inherit_the_settings_of_the_first(
    here: Path, capsys: Shown
) -> None:
    settle(
        here,
        '[privatize]\nmechanism = "vickrey"\nepsilon = 50.0\n'
        '[privatize.settings]\nt = 0.3\n"pii.regions" = ["DE"]\n',
    )
    assert used(capsys, "-m", "redact")["mechanism"] == "redact"
    assert run("-m", "laplace") == 2
    assert "epsilon is missing" in capsys.readouterr().err


def test_levels_take_the_place_of_a_policy(here: Path, capsys: Shown) -> None:
    settle(here, '[privatize]\npolicy = "digits"\nepsilon = 3\nmechanism = "laplace"')
    assert [one["epsilon"] for one in used(capsys, "--level", "2=digits")["levels"]] == [2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[privatize]\npolcy = "pii"', "did you mean 'policy'?"),
        ("[privatise]\nworkers = 2", "did you mean 'privatize'?"),
        ("[privatize]\nseed = 7", "is for one run"),
        ("[privatize]\noverwrite = true", "is for one run"),
        ('[privatize]\noutput = "x"', "is for one run"),
        ("[privatize]\nwhole_file = 1", "must be true or false"),
        ('[privatize]\nworkers = "many"', "privatize.workers"),
        ("[privatize]\npolicy = [{a = 1}]", "must be a text"),
        ('[privatize]\nmechanism = "shy.py:Shy"', "would run code"),
    ],
)
def test_a_wrong_file_stops_the_command(here: Path, capsys: Shown, text: str, said: str) -> None:
    settle(here, text)
    assert run("-m", "redact") == 2
    assert said in capsys.readouterr().err
    assert not (here / "out.txt").exists()


def test_files_that_it_names_lie_beside_it(here: Path, capsys: Shown) -> None:
    settle(here.parent, "zanzibar\n", "words.txt")
    settle(here.parent, '[privatize]\npolicy = "lexicon:words.txt"\nmechanism = "redact"')
    assert run() == 0
    assert "zanzibar" not in (here / "out.txt").read_text()


def test_help_needs_no_valid_file(here: Path, capsys: Shown) -> None:
    settle(here, "[nonsense]")
    assert main(["privatize", "--help"]) == 0
    assert "--preset" in capsys.readouterr().out


@pytest.mark.parametrize("name", presets())
def test_presets_are_files_that_can_be_printed_and_written(
    name: str, here: Path, capsys: Shown
) -> None:
    assert main(["init", "--print", "--preset", name]) == 0
    printed = capsys.readouterr().out
    assert not (here / "sfumato.toml").exists()
    assert main(["init", "--preset", name]) == 0
    assert (here / "sfumato.toml").read_text() == printed
    assert main(["init", "--preset", name]) == 4
    assert sfumato.preset(name) == sfumato.preset(here / "sfumato.toml")
    assert sfumato.preset(name)["policy"] == "pii"


@pytest.mark.parametrize("name", presets())
def test_presets_privatize(name: str, here: Path, capsys: Shown) -> None:
    if "surrogate" not in entries("mechanisms"):
        pytest.skip("the mechanisms of the table 'auto' are not there")
    assert run("--preset", name) == 0
    assert used(capsys, "--preset", name)["mechanism"] == "auto"
    made = sfumato.privatize("in.txt", "py.txt", **sfumato.preset(name))
    assert made.summary["settings"] == used(capsys, "--preset", name)


def test_from_python_a_file_is_as_strict(here: Path) -> None:
    with pytest.raises(UnknownName, match="policy"):
        sfumato.preset(settle(here, '[privatize]\npolcy = "pii"'))


def test_words_are_completed(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    monkeypatch.setenv("_SFUMATO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "sfumato priv")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert main([]) == 0
    assert capsys.readouterr().out.split() == ["privatize"]


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version(option: str, capsys: Shown) -> None:
    assert main([option]) == 0
    assert capsys.readouterr().out.strip()[0].isdigit()


def test_quiet_says_only_what_is_wrong(here: Path, capsys: Shown) -> None:
    assert run("-q", "-m", "redact", "-p", "digits") == 0
    assert capsys.readouterr() == ("", "")
    (here / "in.jsonl").write_text('{"text": "Room 12", "who": "Tom Miller"}\n')
    given = ["privatize", "in.jsonl", "-o", "out.jsonl", "-m", "redact", "-p", "digits", "-q"]
    assert main(given) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "NOT FOR RELEASE YET" in said.err
    assert run("-q", "-m", "redact", "-p", "digits", "--json") == 0
    assert json.loads(capsys.readouterr().out)["for_release"] is True
