"""Saying that a field is missing, without saying what the record holds."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sfumato.core.errors import MalformedRecord


def missing_field(
    field: str, present: Iterable[str], *, where: str, quotable: bool = True
) -> MalformedRecord:
    """An error that names the nearest field; where names may be data, only its number."""
    names = {name.lower(): number for number, name in enumerate(present, start=1)}
    close = get_close_matches(field.lower(), names, n=1)
    hint = "--field names another"
    if close:
        hint = (
            f"did you mean {close[0]!r}?" if quotable else f"did you mean column {names[close[0]]}?"
        )
    return MalformedRecord(f"{where}: there is no field {field!r}; {hint}")
