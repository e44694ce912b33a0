"""The name of what is protected: a public word or two for the sentence of a guarantee."""

from __future__ import annotations

import re

from sfumato.core.errors import InvalidArgument

LONGEST = 40
_NAME = re.compile(r"[^\W_]+(?:[ -][^\W_]+)*")


def check_record(record: str, unit: str) -> None:
    """Refuse an invalid name, and any name if the unit is not an example; "" is no name.

    >>> check_record("support ticket", "example")
    >>> check_record("paragraph; nothing else", "example")
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: record='paragraph; nothing else' must be a word or two of letters and digits, with single spaces or hyphens between, at most 40 characters long
    """  # noqa: E501
    if not record:
        return
    if unit == "author":
        raise InvalidArgument(
            f"record={record!r} says what an example is, and the unit author protects all "
            "examples of an author together; leave the record out, or take the unit example"
        )
    if len(record) > LONGEST or not _NAME.fullmatch(record):
        raise InvalidArgument(
            f"record={record!r} must be a word or two of letters and digits, with single spaces "
            f"or hyphens between, at most {LONGEST} characters long"
        )
