"""What an example is, in a public word or two: ``paragraph``, ``article``, ``support ticket``.

A guarantee for examples says as much as an example holds, and a file does not show what its maker
took for one. The name is that of a kind of thing, for the sentence of the guarantee; it is written
down in the clear, and nothing is computed from it.
"""

from __future__ import annotations

import re

from sfumato.core.errors import InvalidArgument

LONGEST = 40
_NAME = re.compile(r"[^\W_]+(?:[ -][^\W_]+)*")


def check_record(record: str, unit: str) -> None:
    """Refuse what is no name, and a name where no example is protected; "" names nothing.

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
