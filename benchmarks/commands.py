"""Running ``sfumato privatize`` on files that are made for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim

# Runs the command line in a process that says at the end how much memory it once had.
_RUN = """
import sys
from sfumato.cli.main import main
code = main(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print("peak", peak.split()[1], file=sys.stderr)
sys.exit(code)
"""


def write_dialogues(path: Path, count: int) -> Path:
    """A corpus of generated dialogues, one record per line."""
    with path.open("w", encoding="utf-8") as stream:
        for example in generate_customersim(count, Randomness.secure()):
            record = {"id": example.document.id, "text": example.document.text}
            stream.write(json.dumps(record) + "\n")
    return path


def privatize(source: Path, arguments: Iterable[str], threads: int | None = None) -> float:
    """Privatize a file beside itself; the peak memory of the process in MB."""
    target = source.with_name("out" + source.suffix)
    command = ["privatize", str(source), "-o", str(target), "--overwrite", "--epsilon", "8"]
    limit = {} if threads is None else {"OPENBLAS_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *command, *arguments],
        env=os.environ | limit,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"sfumato privatize failed: {done.stderr.strip()}")
    return int(done.stderr.split()[-1]) / 1024
