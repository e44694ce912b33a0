"""The TOML file of a study, read into a ``StudySpec``, and a commented file to begin with.

Every key is checked before anything is computed. An unknown key is an error that names the nearest
known key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date, time
from importlib.resources import files
from pathlib import Path
from typing import Any
from unicodedata import category

from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed, UnknownName
from sfumato.core.files import refuse_existing, write_whole
from sfumato.core.settings import read_table
from sfumato.studies.doors import Doors
from sfumato.studies.spec import (
    CanarySettings,
    CoinSettings,
    CorpusSettings,
    MethodSettings,
    OneOfSeveral,
    StudySpec,
)

DEEPEST = 32
# Fields of a study that its file cannot set.
_NOT_WRITTEN = ("folder", "text", "doors")
_TABLES = {
    "corpus": CorpusSettings,
    "test": CorpusSettings,
    "others": CorpusSettings,
    "canaries": CanarySettings,
    "coins": CoinSettings,
}
# Keys of [corpora.NAME] that are not settings of the corpus itself.
_OWN = ("test", "others", "canaries", "coins", "policies", "groups")


def read_spec(path: Path, doors: Doors | None = None) -> StudySpec:
    """The study that a file describes; without ``doors`` it may use the file's folder only."""
    try:
        text = path.read_bytes().decode("utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror or 'reading failed'}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not in utf-8") from None
    return parse_spec(text, path.resolve().parent, path.stem, doors)


def parse_spec(text: str, folder: Path, name: str, doors: Doors | None = None) -> StudySpec:
    """The study that a text describes; its paths are relative to ``folder``."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"the study is not valid TOML: {error}") from None
    except (ValueError, RecursionError):
        raise BadInput(
            "the study is not valid TOML: a number is too long, or it is nested too deep"
        ) from None
    _refuse_dates(given, "the study")
    for reserved in _NOT_WRITTEN:
        if reserved in given:
            raise UnknownName("key in the study", reserved, _keys())
    own = {"folder": folder, "text": text, "doors": doors or Doors()}
    read: dict[str, Any] = {"name": name, **given, **own}
    for key, kind in _TABLES.items():
        if key in given:
            read[key] = read_table(kind, given[key], f"[{key}]")
    if "corpora" in given:
        if "corpus" in given:
            raise InvalidArgument("a study has [corpus], or several as [corpora.NAME], not both")
        read["corpora"] = _corpora(given["corpora"])
        read["corpus"] = next(iter(read["corpora"].values())).corpus
    methods = given.get("methods", [])
    if not isinstance(methods, list):
        raise InvalidArgument("methods must be a list of tables: [[methods]], with two brackets")
    read["methods"] = tuple(_method(one, number) for number, one in enumerate(methods, start=1))
    return read_table(StudySpec, read, "the study")


def _keys() -> list[str]:
    return sorted(set(StudySpec.__dataclass_fields__) - set(_NOT_WRITTEN))


def _refuse_dates(given: object, where: str, depth: int = 0) -> None:
    """Refuse dates and times, which no setting is, and tables that are nested too deep."""
    if depth > DEEPEST:
        raise BadInput(f"the study is nested too deep: at most {DEEPEST} tables in each other")
    if isinstance(given, date | time):
        raise InvalidArgument(f"{where} is a date or a time; put text in quotes")
    inside = given.items() if isinstance(given, Mapping) else ()
    for key, value in inside:
        _refuse_dates(value, f"{where}.{key}", depth + 1)
    for one in given if isinstance(given, list) else ():
        _refuse_dates(one, where, depth + 1)


def _corpora(given: object) -> dict[str, OneOfSeveral]:
    if not isinstance(given, Mapping) or not given:
        raise InvalidArgument("corpora is a table of tables: [corpora.NAME] for each corpus")
    found = {}
    for name, own in given.items():
        where = f"[corpora.{name}]"
        if not is_line(name):
            raise InvalidArgument("the name of a corpus is empty or has more than one line")
        if not isinstance(own, Mapping):
            raise InvalidArgument(f"{where} must be a table")
        values = {key: own[key] for key in _OWN if key in own}
        of_corpus = {key: value for key, value in own.items() if key not in _OWN}
        for key in values.keys() & _TABLES.keys():
            values[key] = read_table(_TABLES[key], values[key], f"[corpora.{name}.{key}]")
        values["corpus"] = read_table(CorpusSettings, of_corpus, where)
        found[name] = read_table(OneOfSeveral, values, where)
    return found


def is_line(name: str) -> bool:
    """Whether a name can be shown in a table: not blank, and without control characters."""
    return bool(name.strip()) and not any(category(one) == "Cc" for one in name)


def _method(given: object, number: int) -> MethodSettings:
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise InvalidArgument(f"method {number} needs a name: [[methods]] with name = …")
    if not is_line(given["name"]):
        raise InvalidArgument(f"the name of method {number} is empty or has more than one line")
    return MethodSettings(
        name=given["name"], settings={key: given[key] for key in given if key != "name"}
    )


def template() -> str:
    """The text of a commented study to begin with."""
    return files("sfumato.studies").joinpath("data", "template.toml").read_text("utf-8")


def write_template(path: Path, *, overwrite: bool = False) -> None:
    """Write the commented study to a file."""
    refuse_existing(path, overwrite=overwrite)
    try:
        write_whole(path, template().encode())
    except OSError as error:
        raise StorageFailed(f"cannot write {path}: {error.strerror or 'it failed'}") from None
