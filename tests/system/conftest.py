"""The command line as users meet it: another process, real files, real signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[bytes]]
EXECUTABLE = [sys.executable, "-c", "from sfumato.__main__ import run; run()"]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "120", **(extra or {})}


@pytest.fixture(scope="session")
def sfumato() -> Command:
    """Run ``sfumato`` to its end."""

    def run(
        *arguments: str | Path, cwd: Path | None = None, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*EXECUTABLE, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env=environment(),
            check=False,
            timeout=1200,  # it hangs; a busy machine takes long, too
        )

    return run


def ended(
    where: str,
    at: int,
    how: signal.Signals,
    arguments: Sequence[str],
    cwd: Path | None = None,
    extra: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run ``sfumato``; after so many calls of the function ``module:name`` it gets a signal.

    From outside a signal would come too late now and then, on a machine that is busy.
    """
    module, _, function = where.partition(":")
    program = f"""
import os, signal, {module} as module
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
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        cwd=cwd,
        env=environment(extra),
        check=False,
    )


def write_jsonl(path: Path, texts: list[str]) -> Path:
    lines = (json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(texts))
    path.write_text("".join(lines), encoding="utf-8")
    return path
