"""The wheel works in an environment that holds it and its core dependencies, nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import distribution, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def core_distributions() -> set[str]:
    """sfumato's dependencies and theirs, without any extra."""
    found: set[str] = set()
    waiting = [Requirement(line) for line in requires("sfumato") or []]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        waiting += [Requirement(line) for line in requires(name) or []]
    return found


def copy_distribution(name: str, target: Path) -> None:
    """Copy an installed distribution, so that no package index is needed.

    What is compiled already goes along, with the times by which Python knows that it still holds.
    """
    base = Path(sysconfig.get_path("purelib")).resolve()
    for file in distribution(name).files or []:
        source = Path(str(file.locate())).resolve()
        if source.is_relative_to(base) and source.exists():
            goal = target / source.relative_to(base)
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, goal)


def test_the_wheel_privatizes_with_the_core_only(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q",
         "-w", str(tmp_path), str(ROOT)],
        check=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("sfumato-*.whl")
    clean = tmp_path / "clean"
    venv.create(clean, with_pip=False)
    python = clean / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(
        subprocess.run(
            [python, "-c", code], capture_output=True, check=True, text=True
        ).stdout.strip()
    )
    for name in core_distributions():
        copy_distribution(name, site)
    shutil.unpack_archive(wheel, site, "zip")
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "My ID is 145572, mail jo@example.org"}\n')
    # Isolated: a PYTHONPATH would bring in what the wheel is tried out without.
    command = "from sfumato.__main__ import run; run()"
    run = [str(python), "-I", "-c", command, "privatize", "in.jsonl"]
    done = subprocess.run(
        [*run, "-o", "out.jsonl", "--policy", "pii", "--policy", "digits", "--epsilon", "5"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "145572" not in (tmp_path / "out.jsonl").read_text()
    assert "Protected by type. CODE, EMAIL" in done.stdout
    (tmp_path / "in.parquet").write_bytes(b"PAR1")
    missing = subprocess.run(
        [*run[:-1], "in.parquet", "-o", "out.parquet", "--epsilon", "5"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert missing.returncode == 5
    assert missing.stderr == "sfumato: Parquet needs an extra: pip install 'sfumato[parquet]'\n"
    assert (site / "sfumato" / "py.typed").exists()
    assert (site / "sfumato" / "vectors" / "data" / "ATTRIBUTION.md").exists()
    assert (site / "sfumato" / "mechanisms" / "data" / "places.txt.gz").exists()
    assert (site / "sfumato" / "mechanisms" / "data" / "ATTRIBUTION.md").exists()
