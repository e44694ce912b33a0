"""Asking for help costs nothing: no heavy library is loaded for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from system.conftest import Command, environment

HEAVY = (
    "altair", "numpy", "phonenumbers", "pyarrow", "randomgen", "scipy", "spacy", "stdnum", "torch",
)  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["privatize", "--help"],
        ["plan", "--help"],
        ["data", "--help"],
        ["--version"],
        ["list"],
    ],
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom sfumato.cli.main import main\n"
        f"code = main({arguments!r})\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "assert not loaded, loaded\nsys.exit(code)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment(), check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_importing_the_facade_is_light_and_complete() -> None:
    program = (
        "import sys, sfumato\n"
        f"assert not [name for name in {HEAVY!r} if name in sys.modules]\n"
        "assert sfumato.__all__ == sorted(sfumato.__all__)\n"
        "missing = [name for name in sfumato.__all__ if not hasattr(sfumato, name)]\n"
        "assert not missing, missing\n"
        "assert set(sfumato.__all__) <= set(dir(sfumato))\n"
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
