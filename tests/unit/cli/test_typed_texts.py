"""A text that is typed where a file or a name belongs is private, and is not repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.cli import main as module
from sfumato.cli.main import main

TEXT = 'My name is Ada O\'Brien, born in "Wells"'
COMMANDS = [
    ["privatize", TEXT, "-o", "out.txt"],
    ["privatize", TEXT, "-o", "out.txt", "--format", "txt"],
    ["privatize", TEXT, "--dry-run"],
    ["scan", TEXT],
    ["scan", TEXT, "--format", "txt"],
    ["attack", TEXT, "out.txt"],
    ["attack", "authorship", TEXT],
    ["report", TEXT],
    ["show", TEXT],
    ["explain", "x", f"--config={TEXT}"],
    ["explain", "x", "--config", TEXT],
    [TEXT],
]


@pytest.mark.parametrize("longer", [1, 20])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_it_is_in_no_message(
    command: list[str], longer: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main([one.replace(TEXT, " ".join([TEXT] * longer)) for one in command]) in (2, 3, 4)
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 1
    assert "Ada" not in said.err + said.out


@pytest.mark.parametrize("word", ["Ada", "ann@example.org", "Ada Lovelace"])
def test_one_word_that_is_no_file_is_not_repeated_either(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["privatize", word, "-o", "out.txt"]) == 2
    said = capsys.readouterr().err
    assert word not in said
    assert "there is no such file" in said
    assert "sfumato explain TEXT" in said


def test_a_path_with_blanks_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["privatize", str(tmp_path / "all my old notes.txt"), "-o", "-"]) == 4
    assert "all my old notes.txt: no such file" in capsys.readouterr().err
    odd = tmp_path / "all my old notes"
    odd.touch()
    assert main(["privatize", str(odd), "-o", "-"]) == 2
    assert "the format of" in (said := capsys.readouterr().err)
    assert odd.name in said


def test_twin_a_message_as_it_comes_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "without_texts", lambda message: message)
    assert main(["show", TEXT]) == 2
    assert "Ada" in capsys.readouterr().err
