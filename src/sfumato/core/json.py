"""Reading JSON files, also of older versions, and the numbers that JSON lacks.

JSON has no infinity and no NaN, and some readers refuse files that contain them. They are written
as the strings "inf", "-inf" and "nan", by this module only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

from sfumato.core.errors import BadInput
from sfumato.core.files import reading

# Keys that have another name in older files.
_RENAMED = {"neighbours": "neighbors", "optimiser": "optimizer"}
_TEXTS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@overload
def write_number(value: float) -> float | str: ...


@overload
def write_number(value: None) -> None: ...


def write_number(value: float | None) -> float | str | None:
    """A number for JSON; None stays None.

    >>> write_number(1.5), write_number(math.inf), write_number(-math.inf), write_number(math.nan)
    (1.5, 'inf', '-inf', 'nan')
    """
    if value is None or math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def read_number(value: object) -> float | None:
    """A number from JSON; None for anything else.

    >>> read_number("inf"), read_number("nan"), read_number(2), read_number("2"), read_number(True)
    (inf, nan, 2.0, None, None)
    """
    if isinstance(value, str):
        return _TEXTS.get(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer too large for a float
        return None


def read_json(path: Path, what: str = "JSON") -> Any:
    """What a JSON file holds."""
    with reading(path, what):
        return json.loads(path.read_bytes())


def read_object(path: Path, what: str) -> dict[str, Any]:
    """The object that a JSON file holds; anything else is an error."""
    found = read_json(path, what)
    if not isinstance(found, dict):
        raise BadInput(f"{path} is damaged: it is not {what}")
    return found


def update_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file, with outdated keys of its first two levels renamed.

    >>> update_names({"plan": {"neighbours": "zero-out", "units": 6}, "model": "lstm"})
    {'plan': {'neighbors': 'zero-out', 'units': 6}, 'model': 'lstm'}
    """

    def rename(one: Mapping[str, Any]) -> dict[str, Any]:
        return {_RENAMED.get(key, key): value for key, value in one.items()}

    return {
        key: rename(value) if isinstance(value, Mapping) else value
        for key, value in rename(values).items()
    }
