"""Strict reading of settings: every key must be known, and every value must have its type.

They come as text from a command line (``"7"`` is read as the whole number that a setting asks for)
or as values of a TOML or JSON file or of Python (``"7"`` is a text, and refused). A component (a
dataclass, any other class, a function) declares its settings by the types of its fields or
parameters. An unknown key is an error that suggests the nearest one: if a misspelled setting were
ignored, a study would measure something else than it says.

``configure`` builds a component, ``read_table`` a dataclass from a table of a file,
``read_settings`` returns the values for callers that build the object themselves, and ``read``
reads one value.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from sfumato.core.errors import InvalidArgument, UnknownName

TableT = TypeVar("TableT")

# What a setting is used for, beside its type. Code that takes settings from somebody else's file
# checks this.
READS, WRITES, NAMES_POLICY = "reads", "writes", "names a policy"
RUNS = "runs"  # a file with code
FileToRead = Annotated[str, READS]
"""A file or folder that is read, or a name that may be one."""
FolderToFill = Annotated[str, WRITES]
"""A folder that is written to."""
PolicyText = Annotated[str, NAMES_POLICY]
"""A policy as on the command line, which may name files in turn."""

_TRUTH = {"true": True, "yes": True, "on": True, "1": True} | {
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip
_SAID = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    dict: "a table",
    Mapping: "a table",
}
# Returned for a value that does not have the type.
_NO = object()


def configure(
    component: Callable[..., Any], settings: Mapping[str, object], **given: object
) -> Any:
    """Build a component from the objects ``given`` and from ``settings`` (text or values)."""
    named = getattr(component, "name", None)  # as the catalog and the command line call it
    name = (
        named if isinstance(named, str) else getattr(component, "__name__", str(component)).lower()
    )
    values = read_settings(component, settings, unknown=f"setting of {name}", given=given)
    missing = _needed(component) - given.keys() - values.keys()
    if missing:
        raise InvalidArgument(f"{name} needs `{min(missing).removesuffix('_')}=...`")
    return component(**given, **values)


def _needed(component: Callable[..., Any]) -> set[str]:
    """The fields without which a dataclass cannot be made."""
    if not is_dataclass(component):
        return set()
    return {
        one.name
        for one in fields(component)
        if one.init and one.default is MISSING and one.default_factory is MISSING
    }


def read_table(kind: type[TableT], given: object, where: str) -> TableT:
    """The table at ``where`` of a file as a dataclass."""
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
    return read_settings(kind, given, unknown=f"key in {where}", prefix=f"{where}.", typed=True)


def read_settings(
    component: Callable[..., Any],
    settings: Mapping[str, object],
    *,
    unknown: str,
    prefix: str = "",
    given: Collection[str] = (),
    typed: bool = False,
) -> dict[str, Any]:
    """The values of settings by field or parameter of ``component``.

    ``unknown`` is what errors call an unknown key, and ``prefix`` stands before a key whose value
    is wrong. Parameters that the caller has ``given`` are no settings. Text is converted to the
    type, unless values are ``typed`` already.
    """
    allowed = settings_of(component, given)
    values = {}
    for key, value in settings.items():
        if key.removesuffix("_") not in allowed:
            raise UnknownName(unknown, key, allowed)
        field, kind = allowed[key.removesuffix("_")]
        values[field] = read(f"{prefix}{key}", value, kind, typed=typed)
    return values


def settings_of(
    component: Callable[..., Any], given: Collection[str] = ()
) -> dict[str, tuple[str, Any]]:
    """Each setting by the name a user types, with its field or parameter and its type.

    A field called ``lambda_``, because ``lambda`` is a keyword, is the setting ``lambda``.
    """
    if is_dataclass(component):
        hints = get_type_hints(component)
        names = [field.name for field in fields(component) if field.init]
    else:
        hints = get_type_hints(component.__init__ if inspect.isclass(component) else component)
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        parameters = inspect.signature(component).parameters.values()
        names = [one.name for one in parameters if one.kind in named]
    return {
        name.removesuffix("_"): (name, hints.get(name, Any)) for name in names if name not in given
    }


def shown_settings(component: Any) -> dict[str, Any]:
    """The settings of a dataclass by field, without fields with ``repr=False``, at any depth."""
    shown = (one.name for one in fields(component) if one.repr)
    return {name: _shown(getattr(component, name)) for name in shown}


def _shown(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return shown_settings(value)
    if isinstance(value, (list, tuple)):
        return [_shown(one) for one in value]
    if isinstance(value, dict):
        return {key: _shown(one) for key, one in value.items()}
    return value


def purposes(component: Callable[..., Any]) -> dict[str, str]:
    """The settings of a component that are files or name files, each with its purpose."""
    built: Any = component
    if inspect.isclass(component) and not is_dataclass(component):
        built = component.__init__
    # (The fields of a dataclass are looked up where each is declared, perhaps in another module.)
    hints = get_type_hints(built, include_extras=True)
    found = {}
    for name, kind in hints.items():
        for option in (kind, *get_args(kind)):
            for said in getattr(option, "__metadata__", ()):
                found[name.removesuffix("_")] = said
    return found


def read(name: str, value: object, kind: Any, *, typed: bool = False) -> Any:
    """A value of the given type; text is converted, unless values are ``typed`` already.

    >>> read("regions", "DE,FR", tuple[str, ...]), read("limit", "7", int | None)
    (('DE', 'FR'), 7)
    >>> read("seeds", [1, 2], tuple[int, ...]), read("epsilon", "inf", float | None, typed=True)
    ((1, 2), inf)
    >>> read("count", "7", int, typed=True)
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: count='7' must be a whole number
    """
    options = get_args(kind) if get_origin(kind) in (UnionType, Union) else (kind,)
    for option in options:
        found = _of_text(value, option) if isinstance(value, str) and not typed else _NO
        if found is _NO:
            found = _as(value, option)
        if found is not _NO:
            return found
    wanted = " or ".join(_say(option) for option in options if option is not NoneType)
    raise InvalidArgument(f"{name}={value!r} must be {wanted}")


def _of_text(text: str, kind: Any) -> Any:
    """A text from a command line as this type, if it can be converted."""
    if get_origin(kind) is tuple:
        parts = [part.strip() for part in text.split(",")]
        found = tuple(_of_text(part, get_args(kind)[0]) for part in parts if part)
        return _NO if _NO in found else found
    if kind is bool:
        return _TRUTH.get(text.lower(), _NO)
    if not isinstance(kind, type) or kind in (NoneType, object):
        return _NO
    try:
        return kind(text)
    except (TypeError, ValueError):
        return _NO


def _as(value: object, kind: Any) -> Any:
    """The value, if it has this type; a type that cannot be checked is left to the component."""
    origin = get_origin(kind)
    if origin is tuple:
        return _tuple(value, get_args(kind)[0])
    if origin in (dict, Mapping):
        return _mapping(value, get_args(kind)[1])
    if kind in (int, float):
        return _number(value, kind)
    if not isinstance(kind, type):
        return value
    try:
        return value if isinstance(value, kind) else _NO
    except TypeError:  # a protocol that ``isinstance`` does not support
        return value


def _tuple(value: object, kind: Any) -> Any:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return _NO
    found = tuple(_as(one, kind) for one in value)
    return _NO if any(one is _NO for one in found) else found


def _mapping(value: object, kind: Any) -> Any:
    if not isinstance(value, Mapping):
        return _NO
    found = {key: _as(value[key], kind) for key in value}
    return _NO if any(one is _NO for one in found.values()) else found


def _number(value: object, kind: type[int | float]) -> Any:
    """An integer is a number, a boolean is not, and the text "inf" is infinity."""
    if isinstance(value, bool):
        return _NO
    if kind is float and isinstance(value, str):
        return math.inf if value == "inf" else _NO
    if not isinstance(value, Integral if kind is int else Real):
        return _NO
    try:
        return kind(value)  # type: ignore[call-overload]  # of either kind
    except OverflowError:  # an integer too large for a float
        return _NO


def _say(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return f"a list, each {_say(get_args(kind)[0])}"
    if get_origin(kind) is Mapping and get_origin(get_args(kind)[1]) is Mapping:
        return "a table of tables"
    return _SAID.get(get_origin(kind) or kind, getattr(kind, "__name__", "something else"))
