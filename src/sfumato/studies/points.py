"""The points of a method's grid: every combination of the values that its settings list.

A list in place of a single value is an axis of the grid. Settings that are lists by nature (a
policy of several parts, batch sizes in stages) have their axis in the table ``grid``. One axis is
the parameter that curves are drawn against: epsilon if it is an axis, else the first axis of
numbers. Each value of the other axes makes a method of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.settings import read
from sfumato.studies.spec import MethodSettings, StudySpec, check_seeds

# Keys whose value may be a list without being an axis.
LISTS = frozenset(
    {
        "policy",
        "except",
        "seeds",
        "corpora",
        "batch_size",
        "noise_schedule",
        "levels",
        "class_weights",
        "fill_patterns",
    }
)
# Keys of a method that say where and when it is computed. They are not settings of the method.
PLACE_KEYS = ("seeds", "corpora", "priority")


# A larger grid would take years to compute, and listing it would exhaust the memory.
MOST_POINTS = 100_000


@dataclass(frozen=True, kw_only=True)
class GridPoint:
    """A method with one value for each axis; ``seeds`` and ``corpora`` are its own, if any.

    What has a higher ``priority`` is computed first.
    """

    method: str
    parameter: str | None
    level: float | None
    settings: Mapping[str, Any]
    seeds: tuple[int, ...] | None = None
    corpora: tuple[str, ...] | None = None
    priority: int = 0


def points(method: MethodSettings) -> list[GridPoint]:
    """All points of a method.

    >>> grid = {"epsilon": [6, 8], "unknown": ["centroid", "keep"]}
    >>> smdp = MethodSettings(name="SMDP", settings=grid)
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
            GridPoint(
                method=", ".join([method.name, *others]),
                parameter=parameter,
                level=None
                if level is None
                else read(f"{method.name}.{parameter}", level, float, typed=True),
                settings={key: value for key, value in settings.items() if key not in PLACE_KEYS},
                seeds=_seeds(method.name, settings),
                corpora=_corpora(method.name, settings),
                priority=read(
                    f"{method.name}.priority", settings.get("priority", 0), int, typed=True
                ),
            )
        )
    return found


def _split(method: MethodSettings) -> tuple[dict[str, Any], dict[str, list[Any]]]:
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
    seeds: tuple[int, ...] = read(f"{name}.seeds", given, tuple[int, ...], typed=True)
    return check_seeds(f"{name}.seeds", seeds)


def _corpora(name: str, settings: Mapping[str, Any]) -> tuple[str, ...] | None:
    given = settings.get("corpora")
    if given is None:
        return None
    listed = [given] if isinstance(given, str) else given
    found: tuple[str, ...] = read(f"{name}.corpora", listed, tuple[str, ...], typed=True)
    if not found:
        raise InvalidArgument(f"{name}.corpora is an empty list: name at least one corpus")
    return found


def points_of(study: StudySpec) -> dict[str, list[GridPoint]]:
    """The points of all methods on each corpus, by its name."""
    every = [point for method in study.methods for point in points(method)]
    for point in every:
        for name in point.corpora or ():
            if not study.corpora:
                raise InvalidArgument(
                    f"{point.method}.corpora names a corpus, but the corpus of this study has no "
                    "name: write it as [corpora.NAME]"
                )
            if name not in study.corpora:
                raise UnknownName(f"corpus of {point.method}", name, study.corpora)
    return {
        name: [point for point in every if point.corpora is None or name in point.corpora]
        for name in study.corpora or ("",)
    }


def _short(value: object) -> str:
    return " + ".join(map(str, value)) if isinstance(value, list) else str(value)
