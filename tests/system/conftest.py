"""The command line as users meet it: another process, real files, real signals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
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
            timeout=300,
        )

    return run


def write_jsonl(path: Path, texts: list[str]) -> Path:
    lines = (json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(texts))
    path.write_text("".join(lines), encoding="utf-8")
    return path
