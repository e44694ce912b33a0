"""Checks of arguments; every error says what was given and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from importlib import import_module
from numbers import Real
from types import ModuleType

from sfumato.core.errors import InvalidArgument, MissingExtra, UnknownName


def number(name: str, value: object) -> float:
    """A finite number, given as a number.

    >>> number("epsilon", "much")
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: epsilon='much' must be a number
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidArgument(f"{name}={value!r} must be a number")
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        finite = False
    if not finite:
        raise InvalidArgument(f"{name}={value} must be a finite number")
    return float(value)


def positive(name: str, value: object) -> float:
    """A finite number greater than zero.

    >>> positive("epsilon", 0)
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: epsilon=0 must be greater than 0
    """
    if number(name, value) <= 0:
        raise InvalidArgument(f"{name}={value} must be greater than 0")
    return float(value)  # type: ignore[arg-type]  # checked by ``number``


def between(name: str, value: object, low: float, high: float) -> float:
    """A finite number in the closed interval [low, high]."""
    checked = number(name, value)
    if not low <= checked <= high:
        raise InvalidArgument(f"{name}={value} must lie between {low:g} and {high:g}")
    return checked


# No count in this package needs to be larger; work on more items would not end.
LARGEST_COUNT = 10**12
MOST_DOCUMENTS = 10**8
MOST_WORKERS = 1024


def at_least(name: str, value: object, low: int, most: int | None = LARGEST_COUNT) -> int:
    """A whole number no smaller than ``low``, and no larger than ``most``.

    >>> at_least("count", 10**15, 1)
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: count=1000000000000000 must be at most 1,000,000,000,000
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(f"{name}={value!r} must be a whole number")
    if value < low:
        raise InvalidArgument(f"{name}={value} must be at least {low}")
    if most is not None and value > most:
        given = value if value < 10**30 else "a number of more than 30 digits"
        raise InvalidArgument(f"{name}={given} must be at most {most:,}")
    return value


def names(name: str, given: object) -> tuple[str, ...]:
    """One name or several, each once; the number of a column counts as its name.

    >>> names("field", "body"), names("field", ["subject", "body"]), names("field", 4)
    (('body',), ('subject', 'body'), ('4',))
    """
    several = given if isinstance(given, (list, tuple, set, frozenset)) else [given]
    for one in several:
        if isinstance(one, bool) or not isinstance(one, (str, int)):
            raise InvalidArgument(f"{name}={one!r} must be the name of a column or key")
    return tuple(map(str, several))


def pairs(name: str, given: object) -> dict[str, object]:
    """Settings by their names; none is an empty table.

    >>> pairs("settings", ["lambda=1"])
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: settings must be a table of names and values, such as {'KEY': VALUE}
    """  # noqa: E501
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise InvalidArgument(
            f"{name} must be a table of names and values, such as {{'KEY': VALUE}}"
        )
    return dict(given)


def refuse_class(name: str, given: object) -> None:
    """Refuse a class where an object is needed: its methods cannot be called without one.

    >>> refuse_class("policy", "pii")
    """
    if isinstance(given, type):
        raise InvalidArgument(
            f"{name}={given.__name__} is a class, not an object of it; give {given.__name__}(…)"
        )


def one_of(name: str, value: str, allowed: Iterable[str]) -> str:
    """One of a few names; the error suggests the nearest one.

    >>> one_of("unknown", "keeep", ["centroid", "error", "keep"])
    Traceback (most recent call last):
        ...
    sfumato.core.errors.UnknownName: unknown value for unknown 'keeep'; did you mean 'keep'? (centroid, error, keep)
    """  # noqa: E501
    known = list(allowed)
    if value not in known:
        raise UnknownName(f"value for {name}", str(value), known)
    return value


def extra(module: str, *, needed_for: str, extra: str) -> ModuleType:
    """Import an optional module, or name the extra that brings it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(needed_for, extra) from None
