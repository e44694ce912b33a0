"""Reading tables of a TOML file strictly: every key is known, every value of its type.

A table becomes a frozen dataclass. A key that is no field is an error with the nearest one named,
because a misspelt setting that is silently left out would measure something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.json import read_number

TableT = TypeVar("TableT")

_SAID = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    dict: "a table",
    Mapping: "a table",
}


def table(kind: type[TableT], given: object, where: str) -> TableT:
    """The table at ``where`` as a dataclass."""
    values = check_table(kind, given, where)
    missing = [
        field.name
        for field in fields(kind)  # type: ignore[arg-type]  # it is a dataclass
        if field.name not in values
        and field.default is MISSING
        and field.default_factory is MISSING
    ]
    if missing:
        raise InvalidArgument(f"{where} needs the key {missing[0]!r}")
    return kind(**values)


def check_table(kind: type[Any], given: object, where: str) -> dict[str, Any]:
    """The values of a table by field, each of the field's type; defaults are left out."""
    if not isinstance(given, Mapping):
        raise InvalidArgument(f"{where} must be a table")
    hints = get_type_hints(kind)
    known = {field.name.removesuffix("_"): field.name for field in fields(kind)}
    values = {}
    for key, value in given.items():
        if key not in known:
            raise UnknownName(f"key in {where}", key, known)
        values[known[key]] = fitting(f"{where}.{key}", value, hints[known[key]])
    return values


def fitting(name: str, value: object, kind: Any) -> Any:
    """A value as its type asks for it.

    >>> fitting("seeds", [1, 2], tuple[int, ...]), fitting("epsilon", "inf", float | None)
    ((1, 2), inf)
    >>> fitting("count", True, int)
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: count=True must be a whole number
    """
    options = get_args(kind) if get_origin(kind) is UnionType else (kind,)
    for option in options:
        found = _as(value, option)
        if found is not None:
            return found
    wanted = " or ".join(_say(option) for option in options if option is not NoneType)
    raise InvalidArgument(f"{name}={value!r} must be {wanted}")


def _as(value: object, kind: Any) -> Any:
    """The value as this type, or None if it is not one."""
    if get_origin(kind) is tuple:
        return _tuple(value, get_args(kind)[0])
    if get_origin(kind) in (dict, Mapping):
        return _mapping(value, get_args(kind)[1])
    if kind is float:
        return read_number(value)
    if kind is object or (isinstance(kind, type) and isinstance(value, kind)):
        return None if kind is int and isinstance(value, bool) else value
    return None


def _tuple(value: object, kind: Any) -> Any:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    found = [_as(one, kind) for one in value]
    return None if None in found else tuple(found)


def _mapping(value: object, kind: Any) -> Any:
    if not isinstance(value, Mapping):
        return None
    # What may be anything is looked at by whoever knows what it is for.
    inside = value if kind in (Any, object) else {key: _as(value[key], kind) for key in value}
    return None if None in inside.values() else dict(inside)


def _say(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return f"a list, each {_say(get_args(kind)[0])}"
    if get_origin(kind) is Mapping and get_origin(get_args(kind)[1]) is Mapping:
        return "a table of tables"
    return _SAID.get(get_origin(kind) or kind, "something else")
