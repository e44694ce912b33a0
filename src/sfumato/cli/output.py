"""Results go to stdout, everything said along the way to stderr."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


# In less than this a table would lose digits and whole columns; a terminal wraps what is too long.
NARROWEST = 80


def stdout() -> Console:
    """For results."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    console.width = max(console.width, NARROWEST)
    return console


def stderr() -> Console:
    """For notes."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def visible(text: str) -> str:
    """Control characters as symbols, one for one: a document must not steer the terminal.

    >>> visible("a" + chr(27) + "[31m")
    'a␛[31m'
    """
    return text.translate(_controls())


def cell(text: str) -> Text:
    """A name for a table: shown as it is, for brackets in it are no markup."""
    from rich.text import Text

    return Text(visible(text))


@cache
def _controls() -> dict[int, str]:
    kept = {ord("\n"), ord("\t")}
    low = {code: chr(0x2400 + code) for code in range(32) if code not in kept}
    return low | dict.fromkeys(range(0x7F, 0xA0), "\ufffd")


def note(message: str) -> None:
    """One line for the person watching; if nobody does, the work goes on all the same."""
    with suppress(OSError):
        sys.stderr.write(message + "\n")


def print_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")
