"""Of several processes with one command, the first says what all have to say."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

import sfumato.verbs.policy as scanning
from sfumato.cli.main import main

TOLD = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}


def interrupted(*_: object, **__: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("rank", "said"), [("0", "sfumato: interrupted\n"), ("1", "")])
def test_an_interrupt_is_said_once(
    rank: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in (TOLD | {"RANK": rank}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(scanning, "scan", interrupted)
    (tmp_path / "notes.txt").write_text("a text\n")
    assert main(["scan", str(tmp_path / "notes.txt"), "-p", "digits"]) == 130
    assert capsys.readouterr().err == said
