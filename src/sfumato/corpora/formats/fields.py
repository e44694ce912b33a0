"""Saying that a field is missing, without saying what the record holds."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sfumato.core.errors import MalformedRecord


def missing_field(field: str, present: Iterable[str], *, where: str) -> MalformedRecord:
    """An error that names the nearest field only: a file without a header has data there."""
    close = get_close_matches(field.lower(), {name.lower(): 0 for name in present}, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "--field names another"
    return MalformedRecord(f"{where}: there is no field {field!r}; {hint}")
