"""``sfumato train`` in processes that were started together, as torchrun starts them.

They make one run, of which one speaks.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

SMALL = ["--model", "lstm", "--set", "hidden=2", "--set", "embedding=2"]
SMALL += ["--epochs", "1", "--batch-size", "4", "--learning-rate", "0.01", "--accountant", "rdp"]


def run_together(*arguments: str | Path, size: int = 2) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of each process."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "sfumato", *map(str, arguments)]
    told = {"WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    started = [
        subprocess.Popen(
            command,
            env=os.environ | {name: str(one) for name, one in (told | {"RANK": rank}).items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    said = [one.communicate() for one in started]
    return [(one.returncode, *words) for one, words in zip(started, said, strict=True)]


def test_one_run_and_one_that_speaks(tmp_path: Path) -> None:
    corpus = tmp_path / "notes.txt"
    corpus.write_text("".join(f"note {number} about nothing\n" for number in range(8)))
    run = tmp_path / "run"
    (leads, said, notes), (follows, silent, nothing) = run_together(
        "train", corpus, "-o", run, "--epsilon", "8", "--json", *SMALL
    )
    assert (leads, follows) == (0, 0), (notes, nothing)
    assert json.loads(said)["guarantee"]["epsilon"] <= 8.0
    assert (silent, nothing) == ("", "")
    charged = [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()[1:]]
    assert [one["charged"] for one in charged] == [1, 2]
    assert (run / "model").is_dir()
    assert not (run / "checkpoint.pt").exists()
