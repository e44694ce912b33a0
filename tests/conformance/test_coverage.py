"""The table of coverage: what it names is there, and every row says where."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer

import sfumato
from sfumato.audits.exhibits.table import EXHIBITS
from sfumato.catalog import KINDS, entries
from sfumato.cli.main import app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "coverage.md"
COLUMNS = 6
LEFT_OUT = "## Left out, and why"
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
CODE = re.compile(r"`([^`]+)`")


def test_every_row_names_what_is_there() -> None:
    built, _, left = PAGE.read_text("utf-8").partition(LEFT_OUT)
    found = list(_complaints(built))
    assert not found, "\n".join(found)
    assert len(list(_rows(built))) > 60
    assert all(len(row) == 2 and all(row) for row in _rows(left))


@pytest.mark.parametrize(
    "row",
    [
        "| A | §1 | `laplace` | [a](../src/none.py) | [t](test_coverage.py) | [p](index.md) |",
        "| A | §1 | `laplace` | [a](../src/sfumato/catalog.py) | | [p](index.md) |",
        "| A | §1 | `laplas` | [a](../Makefile) | [t](../Makefile) | [p](index.md) |",
        "| A | §1 | `train --epsilan 1` | [a](../Makefile) | [t](../Makefile) | [p](index.md) |",
        "| A | §1 | `attack laplas` | [a](../Makefile) | [t](../Makefile) | [p](index.md) |",
        "| A | §1 | missing | [a](../Makefile) | [t](../Makefile) | [p](index.md) |",
        "| A | §1 | `laplace` | [a](../Makefile) | [t](../Makefile) | [p](no.md) |",
    ],
)
def test_twin_a_row_that_names_nothing_is_found(row: str) -> None:
    assert list(_complaints(row))


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        cells = [one.strip() for one in line.strip().strip("|").split("|")]
        if line.startswith("| ") and cells[0] != "method":
            yield cells


def _complaints(text: str) -> Iterator[str]:
    for cells in _rows(text):
        if len(cells) != COLUMNS:
            yield f"{cells[0]}: {len(cells)} columns"
            continue
        what, _, how, *places = cells
        if not how or "missing" in how or "@" in how:
            yield f"{what}: {how!r} says nothing"
        for place in places:
            targets = LINK.findall(place)
            if not targets:
                yield f"{what}: a link is missing"
            for one in targets:
                if not (PAGE.parent / one).is_file():
                    yield f"{what}: {one} is not there"
        for one in CODE.findall(how):
            if not _is_known(one):
                yield f"{what}: nothing is called {one}"


def _is_known(written: str) -> bool:
    """A component, an exhibit, a name of the package, an option, or a command with its options."""
    words = written.split()
    if words[0].startswith("--"):
        return any(words[0] in known for known in _commands().values())
    name = next((one for one in (" ".join(words[:2]), words[0]) if one in _commands()), None)
    if name is None:
        return words[0].partition(".")[0] in _names()
    rest = words[len(name.split()) :]
    if name == "attack" and rest and rest[0] not in entries("attacks"):
        return False
    return all(one in _commands()[name] for one in rest if one.startswith("-"))


@cache
def _commands() -> dict[str, set[str]]:
    """Each command, and its options."""
    found: dict[str, set[str]] = {}

    def collect(command: object, name: str) -> None:
        inner = getattr(command, "commands", {})
        found[name] = {option for one in getattr(command, "params", ()) for option in one.opts}
        for key, one in inner.items():
            collect(one, f"{name} {key}".strip())

    collect(typer.main.get_command(app), "")
    return found


@cache
def _names() -> set[str]:
    components = {name for kind in KINDS for name in entries(kind)}
    rooms = {one.name for one in pkgutil.iter_modules(sfumato.__path__)}
    return components | {one.name for one in EXHIBITS} | set(sfumato.__all__) | rooms
