"""Asking for help costs nothing: no heavy library is loaded for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from system import warm
from system.conftest import EXECUTABLE, Command, environment, run_apart, run_here, write_jsonl

HEAVY = (
    "altair", "numpy", "phonenumbers", "pyarrow", "randomgen", "scipy", "spacy", "stdnum", "torch",
)  # fmt: skip


ASKING = (
    ["--help"], ["privatize", "--help"], ["plan", "--help"], ["data", "--help"], ["--version"],
    ["list"],
)  # fmt: skip


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys\nfrom sfumato.cli.main import main\n"
        f"for arguments in {ASKING!r}:\n"
        "    assert main(arguments) == 0\n"
        f"    loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    assert not loaded, (arguments, loaded)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment(), check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count(b"Usage: sfumato") == 4


def test_importing_the_facade_is_light_and_complete() -> None:
    program = (
        "import sys, sfumato\n"
        f"assert not [name for name in {HEAVY!r} if name in sys.modules]\n"
        "assert sfumato.__all__ == sorted(sfumato.__all__)\n"
        "missing = [name for name in sfumato.__all__ if not hasattr(sfumato, name)]\n"
        "assert not missing, missing\n"
        "assert set(sfumato.__all__) <= set(dir(sfumato))\n"
        # A study of privatized texts trains nothing: it must not need what trains.
        "import sfumato.studies.runner, sfumato.studies.worker\n"
        "assert not [name for name in ('torch', 'transformers') if name in sys.modules]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_command_explains_itself(sfumato: Command) -> None:
    commands = [["privatize"], ["scan"], ["explain"], ["list"], ["show"], ["policy", "score"]]
    commands += [["deniability"], ["suggest"], ["compare"]]
    commands += [["plan"]]
    commands += [["data", name] for name in ("customersim", "canaries", "vectors")]
    for command in commands:
        result = sfumato(*command, "--help")
        assert result.returncode == 0
        assert b"Usage: sfumato" in result.stdout
    assert sfumato().returncode in (0, 2)


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["privatize", "in.jsonl", "-o", "-", "-p", "digits", "-e", "5", "--seed", "1"],
        ["scan", "-", "-p", "digits", "--format", "jsonl"],
        ["show", "laplas"],
        ["data"],
        ["privatize", "in.jsonl", "-o", "/dev/full", "-m", "redact", "-p", "digits"],
        ["scan", "none.jsonl", "-p", "digits"],
        ["scan", "bad.jsonl", "-p", "digits"],
    ],
)
def test_a_command_says_the_same_here_and_in_a_process_of_its_own(
    tmp_path: Path, arguments: list[str]
) -> None:
    """What holds the other tests of commands, which do without a process of their own."""
    source = write_jsonl(tmp_path / "in.jsonl", ["Room 12 for Åsa 😀", "nothing"])
    (tmp_path / "bad.jsonl").write_bytes(b"{")
    here, apart = (
        run(*arguments, cwd=tmp_path, stdin=source.read_bytes()) for run in (run_here, run_apart)
    )
    assert (here.returncode, here.stdout, here.stderr) == (
        apart.returncode, apart.stdout, apart.stderr,
    )  # fmt: skip
    if "-" not in arguments[1:2]:  # processes that start warm read nothing
        with warm.start(EXECUTABLE[-1], arguments, cwd=tmp_path, env=environment()) as process:
            said = process.communicate()
        assert (process.wait(), *said) == (apart.returncode, apart.stdout, apart.stderr)


def test_a_warm_process_is_one_of_its_own_and_ends_as_any_other() -> None:
    program = "import os, sys; print(os.getpid(), os.getsid(0) == os.getpid(), sys.argv[1:])\n"
    endings = {
        "": 0, "sys.exit(7)": 7, "raise RuntimeError": 1, "os._exit(9)": 9,
        "os.kill(os.getpid(), 9)": -9, "os.kill(os.getpid(), 2)": -2,
    }  # fmt: skip
    seen = {os.getpid()}
    for ending, code in endings.items():
        flushed = program + "sys.stdout.flush()\n" + ending
        process = warm.start(flushed, ["a b"], env=environment(), new_session=True)
        out, errors = process.communicate()
        assert process.returncode == code, errors
        assert out.decode() == f"{process.pid} True ['a b']\n"
        seen.add(process.pid)
    assert len(seen) == len(endings) + 1


def test_a_warning_and_what_is_written_past_python_are_seen_here_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def talks(arguments: list[str]) -> int:
        import os
        import warnings

        os.write(1, b"past Python")
        warnings.warn("mind the gap", stacklevel=1)
        return 3

    monkeypatch.setattr("system.conftest.main", talks)
    result = run_here("list")
    assert (result.returncode, result.stdout) == (3, b"past Python")
    assert b"UserWarning: mind the gap" in result.stderr
