"""How a privatized file was read, from what stands beside it.

Whoever looks at such a file, or at the originals it was made of, need not say again which column
holds the text. A side file may come from anybody: only names and characters are taken from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.core.json import read_object
from sfumato.files.dialect import Dialect
from sfumato.files.layout import Layout

_FIELD, _ENCODING = "text", "utf-8"


def recorded_settings(path: Path) -> Mapping[str, Any]:
    """The settings in the side file of a privatized file; none where there is no such file."""
    if not path.is_file():
        return {}
    side = path.with_name(path.name + ".guarantee.json")
    if not side.is_file():
        return {}
    try:
        settings = read_object(side, "a side file").get("settings")
    except (SfumatoError, OSError):
        return {}
    return settings if isinstance(settings, dict) else {}


def recorded_layout(settings: Mapping[str, Any], **given: Any) -> Layout:
    """A layout like the one that was used, with what is ``given`` in its place; None is not given.

    Names and characters that are none are left to the layout to refuse.
    """
    told = {name: value for name, value in given.items() if value is not None}
    field = settings.get("field", _FIELD)
    own: dict[str, Any] = {
        "field": tuple(map(str, field)) if isinstance(field, list) else str(field),
        "encoding": str(settings.get("encoding", _ENCODING)),
        "whole_file": settings.get("whole_file") is True,
        "dialect": Dialect(
            delimiter=_text(settings.get("delimiter")),
            quote=_text(settings.get("quote")),
            header=settings.get("header", True) is not False,
            sheet=_text(settings.get("sheet")),
        ),
    }
    if told.get("encoding") == _ENCODING:  # what nobody said
        del told["encoding"]
    return Layout(**{**own, **told})


def one_field(path: Path, given: str | None) -> str:
    """The field that was given, or else the one that a privatized file was privatized in."""
    if given is not None:
        return str(Layout(field=given).field)  # refused if it is none, or several
    field = recorded_settings(path).get("field", _FIELD)
    if isinstance(field, list) or "*" in str(field) or "[]" in str(field):
        named = ", ".join(map(str, field)) if isinstance(field, list) else str(field)
        raise InvalidArgument(
            f"{path} was privatized in several texts of a record ({named}), and one is read here: "
            "`field=NAME`"
        )
    return str(field)


def recorded_format(settings: Mapping[str, Any], given: str | None) -> str | None:
    """The format that was given, or the one that was used."""
    return given or _text(settings.get("format"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
