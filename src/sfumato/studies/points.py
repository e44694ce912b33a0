"""The points of a method's grid: one for each combination of the values it lists.

A list in place of a single value is an axis of the grid. Where a setting is a list by nature (a
policy of several parts, batch sizes in stages), its axis is written under ``grid``. One axis is the
parameter that curves are drawn against: epsilon if it is one, else the first of numbers; of the
others each value is a method of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.studies.config import Method, checked_seeds
from sfumato.studies.tables import fitting

# Keys whose value may be a list without being a grid.
LISTS = frozenset({"policy", "except", "seeds", "batch_size", "noise_schedule", "levels"})


# More would not be computed in anybody's lifetime, and their names alone fill the memory.
MOST_POINTS = 100_000


@dataclass(frozen=True, kw_only=True)
class Point:
    """A method at one place of its grid; ``seeds`` are its own, if it has any."""

    method: str
    parameter: str | None
    level: float | None
    settings: Mapping[str, Any]
    seeds: tuple[int, ...] | None = None


def points(method: Method) -> list[Point]:
    """All points of a method.

    >>> smdp = Method(name="SMDP", settings={"epsilon": [6, 8], "unknown": ["centroid", "keep"]})
    >>> [(point.method, point.level) for point in points(smdp)][1:3]
    [('SMDP, unknown keep', 6.0), ('SMDP, unknown centroid', 8.0)]
    """
    fixed, axes = _split(method)
    size = prod(map(len, axes.values()))
    if size > MOST_POINTS:
        raise InvalidArgument(
            f"the grid of {method.name!r} has {size:,} points; a study has at most {MOST_POINTS:,}"
        )
    parameter = _parameter(fixed, axes)
    found = []
    for values in product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        settings = fixed | chosen
        level = settings.get(parameter) if parameter else None
        others = [f"{key} {_short(chosen[key])}" for key in axes if key != parameter]
        found.append(
            Point(
                method=", ".join([method.name, *others]),
                parameter=parameter,
                level=None
                if level is None
                else fitting(f"{method.name}.{parameter}", level, float),
                settings={key: value for key, value in settings.items() if key != "seeds"},
                seeds=_seeds(method.name, settings),
            )
        )
    return found


def _split(method: Method) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    fixed: dict[str, Any] = {}
    axes: dict[str, list[Any]] = {}
    for key, value in method.settings.items():
        if key == "grid":
            continue
        if isinstance(value, list) and key not in LISTS:
            axes[key] = value
        else:
            fixed[key] = value
    listed = method.settings.get("grid", {})
    if not isinstance(listed, Mapping) or not all(isinstance(one, list) for one in listed.values()):
        raise InvalidArgument(f"{method.name}.grid must be a table of lists")
    axes |= listed
    for key, values in axes.items():
        if not values:
            raise InvalidArgument(f"{method.name}.{key} is an empty list: name at least one value")
        if key in fixed:
            raise InvalidArgument(f"{method.name}.{key} is given twice: alone and under grid")
        if len({repr(one) for one in values}) != len(values):
            raise InvalidArgument(f"{method.name}.{key} names a value twice")
    return fixed, axes


def _parameter(fixed: Mapping[str, Any], axes: Mapping[str, list[Any]]) -> str | None:
    if "epsilon" in axes or "epsilon" in fixed:
        return "epsilon"
    return next((key for key, values in axes.items() if all(map(_is_number, values))), None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _seeds(name: str, settings: Mapping[str, Any]) -> tuple[int, ...] | None:
    given = settings.get("seeds")
    if given is None:
        return None
    seeds: tuple[int, ...] = fitting(f"{name}.seeds", given, tuple[int, ...])
    return checked_seeds(f"{name}.seeds", seeds)


def _short(value: object) -> str:
    return " + ".join(map(str, value)) if isinstance(value, list) else str(value)
