"""Checks of the gallery's words: numbers stand on their page, commands can be run as they stand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer

from gallery_tables import INTERVAL, NUMBER, Page, as_number, plain
from sfumato.cli.main import app

# What an entry says of its page; all but the two sentences may be missing.
SAID = ("found", "limit", "again", "time", "paper")
COUNTED = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_WORD = re.compile(rf"\b({'|'.join(COUNTED)})\b", re.IGNORECASE)
# A full stop and a capital: where a second sentence would begin.
_SECOND = re.compile(r"(?<!\bal)[.!?]\s+[A-Z\"]")
_SETTING = re.compile(r"[A-Z][A-Z0-9_]*=\S+")
FOLDERS = ("studies/", "benchmarks/", "scripts/", "docs/", "src/", "tests/")


def words_at_fault(entry: dict[str, Any], page: Page) -> Iterator[str]:
    """Numbers that are not on the page, and anything but two sentences."""
    known = numbers_of(page.text)
    words = {key: entry.get(key, "") for key in SAID}
    words |= {key: entry["chart"].get(key, "") for key in ("title", "caption")}
    for key, said in words.items():
        yield from (
            f"{page.name}: '{key}' says {number}, which the page does not"
            for number in sorted(numbers_of(said) - known, key=str)
        )
    for key in ("found", "limit"):
        if not entry[key].endswith(".") or _SECOND.search(entry[key]):
            yield f"{page.name}: '{key}' is not one sentence"


def numbers_of(text: str) -> set[float | tuple[float, ...]]:
    """All numbers in a text, however they are written, and figures with their intervals.

    >>> sorted(map(str, numbers_of("Three of 1,020 (1,010–1,030) on SST-2")))
    ['(1020.0, 1010.0, 1030.0)', '1010.0', '1020.0', '1030.0', '3.0']
    """
    bare = plain(text)
    found: set[float | tuple[float, ...]] = {as_number(one) for one in NUMBER.findall(bare)}
    found |= {tuple(map(as_number, one.groups())) for one in INTERVAL.finditer(bare)}
    return found | {2.0 + COUNTED.index(one.lower()) for one in _WORD.findall(bare)}


def commands_at_fault(command: str, page: Page, root: Path) -> Iterator[str]:
    """Lines that neither the page nor the study has, and names of what is not there."""
    for line in command.strip().replace("\\\n", " ").splitlines():
        words = shlex.split(line)
        named = [word for word in words if word.startswith(FOLDERS)]
        yield from (f"{page.name}: there is no {name}" for name in named if not _there(root, name))
        told = [page.text] + [
            (root / name).read_text("utf-8")
            for name in _studies(root, page, named)
        ]  # fmt: skip
        if not any(_joined(line) in _joined(text) for text in told):
            yield f"{page.name}: neither the page nor a study has the command '{line}'"
        while words and _SETTING.fullmatch(words[0]):
            words.pop(0)
        yield from (f"{page.name}: {fault}" for fault in _call_at_fault(words, root))


def _there(root: Path, name: str) -> bool:
    return (root / name).exists()


def _studies(root: Path, page: Page, named: list[str]) -> set[str]:
    """The studies that a line or the page names: their heads have commands, too."""
    mentioned = re.findall(r"studies/[\w-]+\.toml", page.text)
    return {one for one in [*named, *mentioned] if one.endswith(".toml") and _there(root, one)}


def _joined(text: str) -> str:
    """Text in one line, without the signs of comments and continued lines."""
    lines = (line.strip().lstrip("#").strip().removesuffix("\\") for line in text.splitlines())
    return " ".join(" ".join(lines).split())


def _call_at_fault(words: list[str], root: Path) -> Iterator[str]:
    match words:
        case ["sfumato", *rest]:
            yield from _options_at_fault(rest)
        case ["make", target]:
            if not re.search(rf"^{target}:", (root / "Makefile").read_text("utf-8"), re.MULTILINE):
                yield f"make has no target {target}"
        case ["python", "-m", "benchmarks", *names]:
            known = (root / "benchmarks" / "__main__.py").read_text("utf-8")
            yield from (f"no benchmark {name}" for name in names if f'"{name}"' not in known)
        case ["python", script, *rest] if script.startswith(FOLDERS):
            code = (root / script).read_text("utf-8") if _there(root, script) else ""
            options = (word for word in rest if word.startswith("-"))
            yield from (f"{script} has no {one}" for one in options if f'"{one}"' not in code)
        case _:
            yield f"nobody knows whether '{shlex.join(words)}' can be run"


def _options_at_fault(words: list[str]) -> Iterator[str]:
    """Whether the command is there, and has the options that are given."""
    command, named = _command(), "sfumato"
    while below := getattr(command, "commands", None):
        named = " ".join([named, *words[:1]])
        if not words or words[0] not in below:
            yield f"there is no command '{named}'"
            return
        command = below[words.pop(0)]
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    options = (word.partition("=")[0] for word in words if word.startswith("-"))
    yield from (f"'{named}' has no {option}" for option in options if option not in known)


@cache
def _command() -> Any:
    return typer.main.get_command(app)
