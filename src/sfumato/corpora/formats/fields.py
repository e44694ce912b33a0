"""Saying that a field is missing, without saying what the record holds."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sfumato.core.errors import MalformedRecord


def labels_of(value: str | None) -> tuple[str, ...]:
    """A label that is missing is none."""
    return () if value is None else (value,)


def missing_field(
    field: str,
    present: Iterable[str],
    *,
    where: str,
    option: str = "--field",
    quotable: bool = True,
) -> MalformedRecord:
    """An error that names the nearest field; where names may be data, only its number."""
    names = {name.lower(): (number, name) for number, name in enumerate(present, start=1)}
    close = get_close_matches(field.lower(), names, n=1)
    hint = f"{option} names another"
    if close:
        number, name = names[close[0]]
        hint = f"did you mean {name!r}?" if quotable else f"did you mean column {number}?"
    return MalformedRecord(f"{where}: there is no field {field!r}; {hint}")
