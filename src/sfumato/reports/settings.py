"""Settings as people read them: one line each, without braces, quotation marks or paths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from sfumato.charts.numbers import number
from sfumato.reports.page import CellValue

# A table of more texts than this is turned around: under each value the names that have it.
FEW = 6


def lines_of(values: Mapping[str, Any], before: str = "") -> list[tuple[str, CellValue]]:
    """Names and values, those of tables inside included.

    >>> lines_of({"batch_size": 16, "policy": ["pii", "digits"], "clip": {"norm": 1.0}})
    [('batch size', 16), ('policy', 'pii, digits'), ('clip: norm', 1.0)]
    """
    lines: list[tuple[str, CellValue]] = []
    for key, value in values.items():
        if value is None or value in ({}, [], ""):
            continue
        name = f"{before}{str(key).replace('_', ' ')}"
        if isinstance(value, Mapping):
            turned = _turned(value)
            lines += (
                lines_of(value, f"{name}: ")
                if turned is None
                else [(f"{name}: {one}", ", ".join(keys)) for one, keys in turned.items()]
            )
        else:
            lines.append((name, _say(value)))
    return lines


def _turned(values: Mapping[str, Any]) -> dict[str, list[str]] | None:
    if len(values) <= FEW or not all(isinstance(one, str) for one in values.values()):
        return None
    turned: dict[str, list[str]] = {}
    for key, value in values.items():
        turned.setdefault(value, []).append(str(key))
    return turned


def _say(value: Any) -> CellValue:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return ", ".join(_element(one) for one in value)
    return short_path(str(value))


def _element(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key} {_element(one)}" for key, one in value.items())
    said = _say(value)
    return (
        said if isinstance(said, str) else number(said if isinstance(said, (int, float)) else None)
    )


def short_path(text: str) -> str:
    """The name of a file in place of where it is on the machine that made this.

    >>> short_path("/home/ada/models/gpt2"), short_path("lstm"), short_path("a/b")
    ('gpt2', 'lstm', 'a/b')
    """
    path = PurePath(text)
    return path.name if path.is_absolute() and path.name else text
