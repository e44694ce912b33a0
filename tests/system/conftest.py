"""The command line as users meet it: another process, real files, real signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TextIO

import pytest

from sfumato.cli.main import main
from sfumato.files import chunks
from system import warm

Command = Callable[..., subprocess.CompletedProcess[bytes]]
EXECUTABLE = [sys.executable, "-c", "from sfumato.__main__ import run; run()"]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "120", **(extra or {})}


@contextmanager
def streams(stdin: bytes) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Standard streams as a process has them, down to their numbers: what goes to output, errors.

    Warnings of Python are among the errors, where users would see them.
    """
    with ExitStack() as undo:
        given, out, err = (undo.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(stdin)
        given.seek(0)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for number, (name, file) in enumerate([("stdin", given), ("stdout", out), ("stderr", err)]):
            before = os.dup(number)
            undo.callback(os.close, before)
            undo.callback(os.dup2, before, number)
            os.dup2(file.fileno(), number)
            mode = "w" if number else "r"
            opened = undo.enter_context(
                open(number, mode, 1, encoding="utf-8", errors="replace", closefd=False)
            )
            undo.callback(setattr, sys, name, getattr(sys, name))
            setattr(sys, name, opened)
        undo.enter_context(warnings.catch_warnings())
        warnings.resetwarnings()
        for silent in (DeprecationWarning, PendingDeprecationWarning, ImportWarning):
            warnings.simplefilter("ignore", silent)
        warnings.simplefilter("ignore", ResourceWarning)
        warnings.showwarning = _as_python_shows_it
        yield out, err


def _as_python_shows_it(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    (file or sys.stderr).write(warnings.formatwarning(message, category, filename, lineno, line))


def run_here(
    *arguments: str | Path, cwd: Path | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run ``sfumato`` to its end without a process of its own: to start one takes a second.

    That it answers the same in one is shown by ``test_startup.py``.
    """
    command = [str(argument) for argument in arguments]
    with pytest.MonkeyPatch.context() as patch, streams(stdin) as (out, err):
        for name, value in environment().items():
            patch.setenv(name, value)
        patch.chdir(cwd or Path.cwd())
        code = main(command)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, code, out.read(), err.read())


def run_apart(
    *arguments: str | Path, cwd: Path | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run ``sfumato`` to its end in a process of its own, as a shell does."""
    return subprocess.run(
        [*EXECUTABLE, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment(),
        check=False,
        timeout=1200,  # it hangs; a busy machine takes long, too
    )


@pytest.fixture(scope="session")
def sfumato() -> Command:
    return run_here


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few records make a chunk, here and in what ``ended`` starts: a short file has several."""
    monkeypatch.setattr(chunks, "RECORDS", 8)


@pytest.fixture(scope="session")
def vectors_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small space in a file, for commands of which parts run in processes of their own."""
    path = tmp_path_factory.mktemp("vectors") / "numbers.txt"
    path.write_text("".join(f"{n} {n % 7} {n % 11} {n % 13}\n" for n in range(300)))
    return path


def ended(
    where: str,
    at: int,
    how: signal.Signals,
    arguments: Sequence[str],
    cwd: Path | None = None,
    extra: Mapping[str, str] | None = None,
    modules: tuple[str, ...] = warm.LIGHT,
) -> subprocess.CompletedProcess[bytes]:
    """Run ``sfumato``; after so many calls of the function ``module:name`` it gets a signal.

    From outside a signal would come too late now and then, on a machine that is busy. The process
    starts with ``modules`` loaded.
    """
    module, _, function = where.partition(":")
    program = f"""
import os, signal, {module} as module
from sfumato.files import chunks
chunks.RECORDS = {chunks.RECORDS}
signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup, or a shell's &, has it ignored
honest, calls = module.{function}, []
def ending(*arguments):
    result = honest(*arguments)
    calls.append(1)
    if len(calls) == {at}:
        os.kill(os.getpid(), {int(how)})
    return result
module.{function} = ending
from sfumato.cli.main import run
run()
"""
    process = warm.start(program, arguments, modules=modules, cwd=cwd, env=environment(extra))
    out, err = process.communicate()
    return subprocess.CompletedProcess(arguments, process.wait(), out, err)


def write_jsonl(path: Path, texts: list[str]) -> Path:
    lines = (json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(texts))
    path.write_text("".join(lines), encoding="utf-8")
    return path
