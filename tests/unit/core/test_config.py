"""Settings files: what is named is taken, what was only found is taken with care."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfumato.core.config import find_config, preset_text, presets, read_config, read_preset
from sfumato.core.errors import InvalidArgument, UnknownName


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", presets())
def test_a_preset_is_a_settings_file_that_can_be_read_by_people(name: str, tmp_path: Path) -> None:
    assert preset_text(name).startswith("# ")
    path = write(tmp_path / "sfumato.toml", preset_text(name))
    assert read_config(path, found=True).tables == read_preset(name).tables
    assert set(read_preset(name).tables) == {"privatize"}


def test_an_unknown_preset_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="support-desk"):
        read_preset("suport-desk")


def test_the_nearest_file_above_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    above = write(tmp_path / "sfumato.toml", "")
    assert find_config(inner) == above.resolve()
    nearer = write(tmp_path / "a" / "sfumato.toml", "")
    assert find_config(inner) == nearer.resolve()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[privatize]\npolicy = "shy.py:Shy"', "would run code"),
        ('[privatize]\npolicy = ["pii", "imperfect:shy.py:Shy"]', "would run code"),
        ('[privatize]\nmechanism = "../shy.py:Shy"', "would run code"),
        ('[train.settings]\n"a" = ["x", "shy.py:Shy"]', "would run code"),
        ('[privatize.settings]\nkey_file = "key"', "names a key"),
        ('[privatize.by_type]\nPERSON = "pseudonym:key_file=key"', "names a key"),
        ('[train]\npolicy_key = "key"', "names a key"),
    ],
)
def test_a_file_that_was_found_runs_no_code_and_names_no_key(
    tmp_path: Path, text: str, said: str
) -> None:
    path = write(tmp_path / "sfumato.toml", text)
    with pytest.raises(InvalidArgument, match=said):
        read_config(path, found=True)
    assert read_config(path).tables  # who names it has looked at it


def test_a_file_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "sfumato.toml", "[privatize]\n")
    stranger = path.stat().st_uid + 1
    monkeypatch.setattr("sfumato.core.config.os.geteuid", lambda: stranger)
    if path.stat().st_uid == 0:  # what belongs to root is as the machine was set up
        read_config(path, found=True)
        monkeypatch.setattr("sfumato.core.config._TRUSTED", frozenset())
    with pytest.raises(InvalidArgument, match="belongs to somebody else"):
        read_config(path, found=True)
    read_config(path)


@pytest.mark.parametrize(("text", "said"), [("policy = 'pii'", "before any table"), ("[", "TOML")])
def test_what_is_no_settings_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        read_config(write(tmp_path / "x.toml", text))


def test_a_file_that_anybody_may_change_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "sfumato.toml", "[privatize]\n")
    path.chmod(0o664)
    assert read_config(path, found=True).tables
    path.chmod(0o666)
    with pytest.raises(InvalidArgument, match="anybody may change it"):
        read_config(path, found=True)
    assert read_config(path).tables


def test_a_link_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "mine.toml", "[privatize]\n")
    link = tmp_path / "sfumato.toml"
    link.symlink_to(path)
    assert read_config(link, found=True).tables
    mine = path.lstat()
    theirs = os.stat_result([*mine[:4], mine.st_uid + 1, *mine[5:]])
    monkeypatch.setattr(Path, "lstat", lambda _: theirs)
    with pytest.raises(InvalidArgument, match="belongs to somebody else"):
        read_config(link, found=True)


@pytest.mark.parametrize("keep", ['"*"', '["id", " * "]', '"id,*"'])
def test_a_file_that_was_found_does_not_let_every_column_go(tmp_path: Path, keep: str) -> None:
    path = write(tmp_path / "sfumato.toml", f"[privatize]\nkeep = {keep}\n")
    with pytest.raises(InvalidArgument, match="every column"):
        read_config(path, found=True)
    assert read_config(path).tables
    write(path, '[privatize]\nkeep = ["id", "meta.*"]\n')
    assert read_config(path, found=True).tables
