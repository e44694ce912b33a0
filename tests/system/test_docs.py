"""The documentation is run: Python blocks on their own, console blocks in order."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest

from few_words import all_words, few_words
from system.conftest import run_here

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELL = re.compile(r"[|<>;&$*?]")
# What a shell takes as it stands; inside double quotes some signs still mean something to it.
QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*["]""")
PROSE_CALL = re.compile(r"`([a-z_]\w*)\(")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(page.read_text("utf-8")) if kind == language]


PYTHON = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page, "python"), start=1)
]
COMMANDS = [
    pytest.param(page, id=page.name)
    for page in PAGES
    if any("$ " in block for block in blocks(page, "console"))
]


@pytest.fixture(scope="module")
def small_vectors() -> Iterator[None]:
    """The frequent embedded words and those of the pages: an example shows that it runs."""
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    with few_words(re.findall(r"\w+", text.lower())):
        yield


@pytest.mark.usefixtures("small_vectors", "studies_here")
@pytest.mark.parametrize("block", PYTHON)
def test_python_blocks_run(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "block.py").write_text(block, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    # Curves that come with the package are about all words.
    with all_words() if "compare_words" in block else nullcontext():
        runpy.run_path("block.py", run_name="__main__")


@cache
def functions() -> frozenset[str]:
    """The functions of the package, by the names that readers would import them by."""
    modules = (ast.parse(path.read_text("utf-8")) for path in (ROOT / "src").rglob("*.py"))
    return frozenset(
        node.name for tree in modules for node in tree.body if isinstance(node, ast.FunctionDef)
    )


def unexplained(text: str, known: frozenset[str]) -> set[str]:
    """Functions of the package that prose calls by a bare name, while no block imports them."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    shown = " ".join(body for kind, body in FENCE.findall(text) if kind == "python")
    called = set(PROSE_CALL.findall(prose)) & known
    return {name for name in called if not re.search(rf"\b{name}\b", shown)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_functions_that_prose_calls_are_imported_by_a_block_that_runs(page: Path) -> None:
    assert not unexplained(page.read_text("utf-8"), functions())


def test_a_function_without_an_import_is_found() -> None:
    prose = "A guarantee is `metric_dp(epsilon=…)`, a method `.metric_dp()`, a name `metric_dp`.\n"
    assert unexplained(prose, functions()) == {"metric_dp"}
    block = "```python\nfrom sfumato.guarantees.guarantee import metric_dp\n```\n"
    assert unexplained(prose + block, functions()) == set()


@pytest.mark.usefixtures("small_vectors", "studies_here")
@pytest.mark.parametrize("page", COMMANDS)
def test_console_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    for number, command in enumerate(commands):
        # The first command of all is run as it is typed, by the name under which it is installed.
        as_typed = page.name == "README.md" and number == 0
        done = in_a_shell(command) if as_typed else quickly(command)
        assert done.returncode == 0, f"{command}\n{done.stderr.decode()}"


def quickly(command: str) -> subprocess.CompletedProcess[bytes]:
    """Our command in this process, with what is piped into it.

    Starting Python, torch and the vectors anew for every line takes minutes in all.
    """
    before, _, ours = command.rpartition(" | ")
    if not ours.startswith("sfumato ") or SHELL.search(QUOTED.sub("", ours)):
        return in_a_shell(command)
    given = in_a_shell(before) if before else None
    assert given is None or given.returncode == 0, before
    return run_here(*shlex.split(ours)[1:], stdin=given.stdout if given else b"")


def in_a_shell(command: str) -> subprocess.CompletedProcess[bytes]:
    """As a reader would type it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        env={**os.environ, "PATH": path}, capture_output=True, check=False,
    )  # fmt: skip


def test_what_a_shell_would_understand_is_left_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    here: list[tuple[tuple[str, ...], bytes]] = []
    shell: list[str] = []

    def run(*arguments: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
        here.append((arguments, stdin))
        return subprocess.CompletedProcess([], 0)

    def bash(command: str) -> subprocess.CompletedProcess[bytes]:
        shell.append(command)
        return subprocess.CompletedProcess([], 0, b"7")

    monkeypatch.setitem(quickly.__globals__, "run_here", run)
    monkeypatch.setitem(quickly.__globals__, "in_a_shell", bash)
    quickly("sfumato list")
    quickly("echo 7 | sfumato scan - -p 'regex:a|b'")
    assert here == [(("list",), b""), (("scan", "-", "-p", "regex:a|b"), b"7")]
    quickly('sfumato generate t5 --prompt "a <b> c"')
    assert here.pop() == (("generate", "t5", "--prompt", "a <b> c"), b"")
    assert shell == ["echo 7"]
    for left in (
        "sfumato list > a",
        "sfumato list | sort",
        "sfumato scan *.txt",
        'sfumato scan "$HOME"',
        "seq 4 > log.txt",
    ):
        quickly(left)
        assert shell[-1] == left
    assert len(here) == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
