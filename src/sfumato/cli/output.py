"""Results go to stdout, everything said along the way to stderr."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.progress import QUIET

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from sfumato.core.remedies import Reference


TYPED: ContextVar[tuple[str, ...]] = ContextVar("TYPED", default=())
"""The arguments of the command that may be texts."""
A_TEXT = 3  # words
# Titles of a study's cells are long, and an error names those that are like the one that was typed.
NO_TEXT = "--only"

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


def texts_among(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments of a command without those that are no texts, however long.

    >>> list(texts_among(["run", "a.toml", "--only", "SMDP, epsilon 9, seed 1", "--only=x y z"]))
    ['run', 'a.toml', '--only']
    """
    before = ""
    for one in arguments:
        if before != NO_TEXT and not one.startswith(f"{NO_TEXT}="):
            yield one
        before = one


def without_texts(message: str) -> str:
    """A message without the texts that were typed as arguments: they may be private.

    What has three words or more, and is no path, is taken for a text.
    """
    for given in sorted(TYPED.get(), key=len, reverse=True):
        for one in (given, given.partition("=")[2]):
            if len(one.split()) >= A_TEXT and not _is_path(one):
                for spelled in (one, repr(one)[1:-1], one.strip()):
                    message = message.replace(spelled, "…")
    return message


def _is_path(written: str) -> bool:
    with suppress(OSError, ValueError):
        path = Path(written)
        return path.exists() or (os.sep in written and path.parent.is_dir())
    return False


def follows() -> bool:
    """Whether another process of the same command speaks: one that torchrun has started first."""
    from sfumato.training.processes.launch import rank_told

    return rank_told() > 0


def note(message: str) -> None:
    """One line for the person watching, unless they want none; the work goes on all the same."""
    if not QUIET.get():
        warn(message)


def warn(message: str) -> None:
    """One line that is said in any case."""
    with suppress(OSError):
        sys.stderr.write(message + "\n")


def print_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")


# Where a function's name or keyword is not that of its command or option.
_COMMANDS = {
    "evaluate_synthetic": "evaluate-synthetic",
    "plant_canaries": "data canaries",
    "plant_classifier_canaries": "data classifier-canaries",
    "toss_coins": "data coins",
    "train_tokenizer": "tokenizer train",
    "write_corpus": "write",
}
_OPTIONS = {"settings": "set", "levels": "level"}
# What these write is named second in Python, and by -o in a command.
_WRITING = {
    "embed", "ngrams", "privatize", "restore", "synthesize", "topics", "train", "tune",
    *_COMMANDS.values(),
}  # fmt: skip


def in_options(message: str) -> str:
    """A message from outside the command line, with what it refers to as options and commands.

    >>> in_options("a.txt exists already; `overwrite=True` replaces it")
    'a.txt exists already; --overwrite replaces it'
    >>> in_options("fewer folds: `settings={'folds': 2}`; train one: `sfumato.train(IN, OUT, ...)`")
    "fewer folds: --set folds=2; train one: 'sfumato train IN -o OUT …'"
    >>> in_options("give one for each class: `class_weights=(1, 3)`")
    'give one for each class: --class-weights 1,3'
    """
    from sfumato.core.remedies import reword

    return reword(message, _in_options)


# Options that take a list with commas, and not once for each.
_IN_ONE = ("classes", "tags")


def _in_options(reference: Reference) -> str:
    options = [_option(name, value) for name, value in reference.settings.items()]
    if not reference.function:
        return " ".join(options)
    command = _COMMANDS.get(reference.function, reference.function.replace(".", " "))
    given = [_argument(value) for value in reference.given]
    if command in _WRITING and len(given) > 1:
        given[1:2] = [*options, f"-o {given[1]}"]
        options = []
    return f"'{' '.join(['sfumato', command, *given, *options])}'"


def _option(name: str, value: Any) -> str:
    option = "--" + _OPTIONS.get(name, name).replace("_", "-")
    if isinstance(value, list) and name in _IN_ONE:
        return _option(name, ",".join(map(str, value)))
    if isinstance(value, list):
        return " ".join(_option(name, one) for one in value)
    if isinstance(value, dict):
        return " ".join(_option(name, f"{key}={one}") for key, one in value.items())
    if isinstance(value, tuple):
        pair = any(isinstance(one, str) for one in value)  # numbers are a list
        return _option(name, ("=" if pair else ",").join(map(str, value)))
    return option if value is True or value is ... else f"{option} {_argument(value)}"


def _argument(value: Any) -> str:
    return "…" if value is ... else shlex.quote(str(value))
