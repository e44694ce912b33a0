"""Building a component from settings that arrive as text.

A component is a frozen dataclass, and its fields are its settings. A key that is not a field is
an error with the nearest field named; a value is read as the field's type says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from sfumato.core.errors import InvalidArgument, UnknownName

# What a setting is for, beside its type: code that takes settings from a stranger's file looks
# here.
READS, WRITES, NAMES_POLICY = "reads", "writes", "names a policy"
FileToRead = Annotated[str, READS]
"""A file or folder that is read, or a name that may be one."""
FolderToFill = Annotated[str, WRITES]
"""A folder that is written to."""
PolicyText = Annotated[str, NAMES_POLICY]
"""A policy as on the command line, which may name files in turn."""

_TRUTH = {"true": True, "yes": True, "on": True, "1": True} | {
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip


def configure(component: type[Any], settings: Mapping[str, object], **given: object) -> Any:
    """Make a component of the objects ``given`` and of ``settings`` (text or ready values)."""
    allowed = settings_of(component, given)
    values = {}
    for key, value in settings.items():
        if key.removesuffix("_") not in allowed:
            raise UnknownName(f"setting of {component.__name__.lower()}", key, allowed)
        field, kind = allowed[key.removesuffix("_")]
        values[field] = read(key, value, kind) if isinstance(value, str) else value
    return component(**given, **values)


def settings_of(
    component: type[Any], given: Mapping[str, object] | None = None
) -> dict[str, tuple[str, Any]]:
    """Each setting by the name a user types, with its field and type.

    A field called ``lambda_`` because Python needs the word is the setting ``lambda``.
    """
    hints = get_type_hints(component)
    return {
        field.name.removesuffix("_"): (field.name, hints[field.name])
        for field in fields(component)
        if field.init and field.name not in (given or {})
    }


def purposes(component: Callable[..., Any]) -> dict[str, str]:
    """The settings of a component that are, or name, files, each with what is done to them."""
    built = component.__init__ if inspect.isclass(component) else component
    hints = get_type_hints(built, include_extras=True)
    found = {}
    for name, kind in hints.items():
        for option in (kind, *get_args(kind)):
            for said in getattr(option, "__metadata__", ()):
                found[name.removesuffix("_")] = said
    return found


def read(key: str, text: str, kind: Any) -> Any:
    """Text as a value of a simple type.

    >>> read("regions", "DE,FR", tuple[str, ...]), read("limit", "7", int | None)
    (('DE', 'FR'), 7)
    """
    if get_origin(kind) is tuple:
        parts = (part.strip() for part in text.split(","))
        return tuple(read(key, part, get_args(kind)[0]) for part in parts if part)
    kinds = [option for option in get_args(kind) or (kind,) if option is not type(None)]
    try:
        if kinds[0] is bool:
            return _TRUTH[text.lower()]
        return kinds[0](text)
    except (KeyError, TypeError, ValueError):
        name = getattr(kinds[0], "__name__", str(kinds[0]))
        wanted = {"int": "a whole number", "float": "a number", "bool": "true or false"}
        raise InvalidArgument(f"{key}={text!r} must be {wanted.get(name, name)}") from None
