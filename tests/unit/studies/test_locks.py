from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from sfumato.studies.locks import hold_lock, holder_since

HOLDING = """
import sys
from pathlib import Path
from sfumato.studies.locks import hold_lock
with hold_lock(Path(sys.argv[1])) as mine:
    print(mine, flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_had_once(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "a"
    with hold_lock(path) as mine, hold_lock(path) as other:
        assert (mine, other) == (True, False)
        assert holder_since(path) is not None
    assert holder_since(path) is None
    with hold_lock(path) as again:
        assert again


def test_the_system_frees_the_lock_of_a_process_that_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "True"
    with hold_lock(path) as mine:
        assert not mine
    assert holder_since(path) is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with hold_lock(path) as mine:
        assert mine
    assert holder_since(path) is None


def test_a_note_that_makes_no_sense_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("nonsense")
    assert holder_since(tmp_path / "a") is None
    assert holder_since(tmp_path / "none") is None
