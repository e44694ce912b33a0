"""Settings files: TOML with one table for each command, and presets, which are just such files.

A file that somebody named is theirs. A file that was *found* in a folder above may come from
anybody: it may not name code, nor a key, nor say that every column may be released, and it must
belong to whoever works here, with nobody else (but a group) allowed to change it. What decides
about a single run (where to write, a seed, whether to replace a file) stands in no settings file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from stat import S_IWOTH

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.files import reading
from sfumato.core.own_code import names_code

NAME = "sfumato.toml"
# What is for one run, and never for all that follow.
OF_ONE_RUN = frozenset(
    ("config", "dry_run", "guarantee", "help", "json", "no_config", "output", "overwrite", "preset",
     "quiet", "resume", "seed", "verbose")
)  # fmt: skip
# Whose files are trusted besides one's own: those of the machine.
_TRUSTED = frozenset((0,))
_KEYS = ("key_file", "policy_key")
_LEAVE = "name it (`config={name!r}`) if you trust it, or leave it out (`no_config=True`)"

Table = Mapping[str, object]


@dataclass(frozen=True)
class Config:
    """The tables of a settings file by command; ``folder`` is where its relative paths begin."""

    label: str
    tables: Mapping[str, Table]
    folder: Path | None = None

    def table(self, command: str) -> Table:
        """The settings of a command; none if the file has none for it."""
        return self.tables.get(command, {})


def presets() -> list[str]:
    """The names of the presets."""
    folder = files("sfumato") / "presets"
    return sorted(one.name.removesuffix(".toml") for one in folder.iterdir())


def preset_text(name: str) -> str:
    """A preset as it is written."""
    if name not in presets():
        raise UnknownName("preset", name, presets())
    return (files("sfumato") / "presets" / f"{name}.toml").read_text(encoding="utf-8")


def read_preset(name: str) -> Config:
    """A preset by its name.

    >>> read_preset("support-desk").table("privatize")["policy"]
    'pii'
    """
    return Config(f"the preset {name}", _tables(preset_text(name), f"the preset {name}"))


def read_config(path: Path, *, found: bool = False) -> Config:
    """A settings file; of one that was ``found`` and not named, less is taken."""
    if found:
        _refuse_strangers(path)
    with reading(path, "a settings file"):
        text = path.read_text(encoding="utf-8")
    config = Config(str(path), _tables(text, str(path)), path.resolve().parent)
    if found:
        _refuse_code(config, path)
        _refuse_blank_leave(config, path)
    return config


def find_config(start: Path) -> Path | None:
    """The settings file in a folder or the nearest one above."""
    here = start.resolve()
    candidates = (folder / NAME for folder in (here, *here.parents))
    return next((one for one in candidates if one.is_file()), None)


def _tables(text: str, label: str) -> Mapping[str, Table]:
    try:
        whole = tomllib.loads(text)
    except ValueError as error:
        raise InvalidArgument(f"{label} is not TOML: {error}") from None
    for key, value in whole.items():
        if not isinstance(value, dict):
            raise InvalidArgument(
                f"{label}: {key!r} stands before any table; write it below [privatize]"
            )
    return whole


def _refuse_strangers(path: Path) -> None:
    leave = _LEAVE.format(name=str(path))
    # Of a link its own owner counts, too: who made it chose what is read.
    for owner in {path.lstat().st_uid, path.stat().st_uid}:
        if owner != os.geteuid() and owner not in _TRUSTED:
            raise InvalidArgument(f"{path} was found, and belongs to somebody else: {leave}")
    if path.stat().st_mode & S_IWOTH:
        raise InvalidArgument(f"{path} was found, and anybody may change it: {leave}")


def _refuse_code(config: Config, path: Path) -> None:
    leave = _LEAVE.format(name=str(path))
    for written in _texts(config.tables):
        if names_code(written):
            raise InvalidArgument(f"{path} was found, not named, and would run code: {leave}")
        if any(key in written for key in _KEYS):
            raise InvalidArgument(f"{path} was found, not named, and names a key: {leave}")


def _refuse_blank_leave(config: Config, path: Path) -> None:
    """That whatever is left may be released is for somebody to say who has looked at the file."""
    for table in config.tables.values():
        kept = table.get("keep", ())
        names = [kept] if isinstance(kept, str) else kept if isinstance(kept, list) else ()
        if any("*" in map(str.strip, str(one).split(",")) for one in names):
            leave = _LEAVE.format(name=str(path))
            raise InvalidArgument(
                f"{path} was found, not named, and would let every column be released: {leave}"
            )


def _texts(value: object) -> Iterator[str]:
    """Every text in it, the keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
