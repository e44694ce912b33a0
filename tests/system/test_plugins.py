"""A mechanism and a policy as a plug-in of one file and one entry, or as the file alone.

The file is the one that the documentation shows. It is used through the command line, Python and a
study.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato import catalog
from sfumato.cli.main import main
from sfumato.policies.parsing import parse_policy
from sfumato.releases.privatizer import Privatizer
from sfumato.studies.doors import Doors
from sfumato.studies.parsing import read_spec
from sfumato.studies.runner import run_study
from sfumato.testing import check_mechanism, check_policy
from sfumato.verbs.privatize import privatize

PAGE = Path(__file__).parents[2] / "docs" / "how-to-write-a-component.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
CODE = next(body for kind, body in BLOCKS if kind == "python" and body.startswith("# shy.py\n"))
ENTRIES = next(body for kind, body in BLOCKS if kind == "toml")
STUDY = """
anchors = false
[corpus]
path = "notes.jsonl"
public = true

[[methods]]
name = "own"
mechanism = "MECHANISM"
policy = "POLICY:QX"
epsilon = 2
settings = {shyness = 2}

[measures.text]
"""


pytestmark = pytest.mark.usefixtures("small_vectors")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    notes = [json.dumps({"text": f"Your code is QX{n}, dear {n}."}) + "\n" for n in range(6)]
    (tmp_path / "notes.jsonl").write_text("".join(notes))
    words = (f"w{n} {n % 3} {n // 3}\n" for n in range(12))
    (tmp_path / "few.txt").write_text("".join(words))
    return tmp_path


@pytest.fixture
def plugin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installed as pip would: a module, and beside it what the package says of itself."""
    site = folder / "site"
    about = site / "shy-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "shy.py").write_text(CODE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shy\nVersion: 1.0\n")
    lines = ENTRIES.replace('project.entry-points."', "").replace('"]', "]").replace('"', "")
    (about / "entry_points.txt").write_text(lines)
    monkeypatch.syspath_prepend(site)
    catalog.entries.cache_clear()
    yield
    catalog.entries.cache_clear()
    sys.modules.pop("shy", None)


def uses_it(folder: Path, mechanism: str, policy: str) -> None:
    """Command line (in two processes), Python and study, all of them with settings."""
    output = folder / "soft.jsonl"
    chosen = ["--mechanism", mechanism, "--policy", f"{policy}:QX", "--set", "shyness=2"]
    chosen += ["--vectors", "few.txt"]
    arguments = ["privatize", "notes.jsonl", "-o", str(output), *chosen, "--epsilon", "2"]
    assert main([*arguments, "--workers", "2", "--seed", "1"]) == 0
    by_command = output.read_text()
    assert by_command.count("dear") == 6
    assert "QX" not in by_command
    release = privatize(
        "notes.jsonl", folder / "again.jsonl", mechanism=mechanism, policy=f"{policy}:QX",
        settings={"shyness": 2}, epsilon=2, seed=1, vectors="few.txt",
    )  # fmt: skip
    assert release.path.read_text() == by_command
    assert release.summary["settings"]["mechanism"] == "shy"
    assert release.summary["settings"]["mechanism_settings"] == {"shyness": 2}
    assert Privatizer(policy=f"{policy}:QX", mechanism=mechanism, epsilon=2).resumable
    few = ["--vectors", "few.txt", "--sample", "20"]
    assert main(["compare", mechanism, "--epsilon", "2", *few]) == 0
    text = STUDY.replace("MECHANISM", mechanism).replace("POLICY", policy)
    (folder / "study.toml").write_text(text)
    study = read_spec(folder / "study.toml", Doors((folder / "shy.py",)))
    run = run_study(study, folder / "out", workers=0)
    assert run.complete
    released = [path.read_text() for path in (folder / "out").rglob("*.jsonl") if "dear" in
                path.read_text() and "QX" not in path.read_text()]  # fmt: skip
    assert released


@pytest.mark.usefixtures("plugin")
def test_a_plug_in_of_one_file_and_one_entry(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "mechanisms"]) == 0
    assert "shy" in capsys.readouterr().out
    check_mechanism("shy", settings={"shyness": 3})
    check_policy("codes:QX", ["Your code is QX77."])
    assert parse_policy("codes", {"codes.letters": "QX"}) == parse_policy("codes:QX")
    uses_it(folder, "shy", "codes")


def test_the_file_alone(folder: Path) -> None:
    (folder / "shy.py").write_text(CODE)
    check_mechanism("shy.py:Shy")
    uses_it(folder, "shy.py:Shy", "shy.py:Codes")
    few = ["--vectors", "few.txt", "--draws", "500", "--pairs", "20", "--seed", "1"]
    assert main(["verify", "shy.py:Shy", "--epsilon", "2", *few]) == 0
