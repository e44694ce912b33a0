"""The files around the package say what is true of it: versions, extras, commands, pages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = set(PROJECT["project"]["optional-dependencies"])


def parsed(name: str) -> Any:
    """The content of a YAML file; numbers stay as they are written."""
    return yaml.load((ROOT / name).read_text("utf-8"), Loader=yaml.BaseLoader)


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def test_the_citation_names_this_version_and_license() -> None:
    citation = parsed("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == PROJECT["project"]["version"]
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["authors"]
    assert citation["message"]


def test_the_workflow_runs_what_decides_whether_a_change_may_land_and_may_only_read() -> None:
    workflow = parsed(".github/workflows/ci.yml")
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    ran = {
        name: [step["run"] for step in job["steps"] if "run" in step]
        for name, job in workflow["jobs"].items()
    }
    here = re.findall(r"^make .*", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    assert ran.pop("check") == here == ["make check", "make test"]
    # Flower has an environment of its own, and a job of its own.
    assert ran == {"federated": ["make test-federated", "make test-deployment"]}
    assert workflow["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in workflow["jobs"].values())
    used = [step["uses"] for step in steps if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in used), used


def test_hooks_call_make_so_that_no_version_floats() -> None:
    repositories = parsed(".pre-commit-config.yaml")["repos"]
    assert {one["repo"] for one in repositories} == {"local"}
    for hook in repositories[0]["hooks"]:
        program, target = hook["entry"].split()
        assert program == "make"
        assert target in make_targets()
        assert hook["language"] == "system"


@pytest.mark.parametrize("name", ["bug", "component", "leak_or_false_claim"])
def test_every_form_warns_of_private_text(name: str) -> None:
    form = parsed(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "body"} <= form.keys()
    first = form["body"][0]
    assert first["type"] == "markdown"
    assert "Never paste private text" in first["attributes"]["value"]
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 1


def test_leaks_are_sent_to_the_private_report() -> None:
    for name in ("bug", "leak_or_false_claim"):
        assert "SECURITY.md" in (ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text("utf-8")
    security = (ROOT / "SECURITY.md").read_text("utf-8")
    assert "private vulnerability report" in security


def test_the_image_installs_extras_that_exist_from_files_that_it_is_given() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    named = re.findall(r"EXTRAS=\"?([a-z,]+)", text)
    assert named
    assert {extra for group in named for extra in group.split(",")} <= EXTRAS
    given = set(re.findall(r"^!(\S+)", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE))
    copied = [line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY")]
    assert {name for names in copied for name in names} == given
    assert all((ROOT / name).exists() for name in given)
    before, _, after = text.partition("\nUSER ")
    assert "pip install" in before
    assert not after.startswith(("root", "0"))
    assert 'ENTRYPOINT ["sfumato"]' in after
    assert "sfumato" in PROJECT["project"]["scripts"]


@pytest.mark.parametrize(("extras", "wanted"), [("", "."), ("attack,train", ".[attack,train]")])
def test_the_image_hands_its_extras_to_pip(extras: str, wanted: str) -> None:
    (line,) = re.findall(
        r"^RUN python -m pip install (.*)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE
    )
    sh = shutil.which("sh") or "/bin/sh"
    said = subprocess.run(
        [sh, "-c", f"printf %s {line}"],
        env={**os.environ, "EXTRAS": extras}, capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert said.stdout == wanted


def test_the_readme_explains_every_extra_and_no_other() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = readme.partition("| extra |")[2].partition("\n\n")[0].splitlines()[2:]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])} == EXTRAS


@pytest.mark.parametrize("federated", [False, True])
def test_constraints_pin_every_dependency_exactly_and_without_a_local_label(
    *, federated: bool
) -> None:
    """Flower has a file of its own, because its limits differ."""
    file = "constraints-federated.txt" if federated else "constraints.txt"
    lines = (ROOT / file).read_text("utf-8").splitlines()[1:]
    assert lines == sorted(lines, key=str.lower)
    pins = dict(line.split("==") for line in lines)
    assert not any("+" in version for version in pins.values())
    pinned = {name.lower().replace("_", "-") for name in pins}
    asked = [*PROJECT["project"]["dependencies"]]
    extras = {"federated", "train"} if federated else EXTRAS - {"federated"}
    asked += [one for extra in extras for one in PROJECT["project"]["optional-dependencies"][extra]]
    names = {re.split(r"[\[<>=;!]", one)[0].strip().lower().replace("_", "-") for one in asked}
    assert names - {"sfumato"} <= pinned


@pytest.fixture(scope="module")
def docs_site() -> ModuleType:
    """The script that mkdocs calls; scripts are no package."""
    spec = spec_from_file_location("docs_site", ROOT / "scripts" / "docs_site.py")
    assert spec
    assert spec.loader
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_reference_shows_what_a_room_exports_and_nothing_else(docs_site: ModuleType) -> None:
    room = ModuleType("sfumato.example", "A room.\n\n>>> 1 + 1\n2\n")
    room.__dict__.update(__all__=["Shown"], Shown=int, Hidden=int)
    page = docs_site.page_of(room)
    assert "::: sfumato.example.Shown" in page
    assert "Hidden" not in page
    assert "```pycon\n>>> 1 + 1\n2\n```" in page


def test_every_room_that_exports_has_a_page(docs_site: ModuleType) -> None:
    rooms = {room.__name__ for room in docs_site.exporting_rooms()}
    said = (ROOT / "src" / "sfumato").glob("*/__init__.py")
    packages = {f"sfumato.{one.parent.name}" for one in said if "__all__" in one.read_text("utf-8")}
    assert {"sfumato", *packages} <= rooms


def test_what_a_docstring_states_becomes_a_list_of_definitions(docs_site: ModuleType) -> None:
    docstring = "Noise.\n\nGuarantee\n    Pure DP.\n\n    For one word.\n\nCare\n    Rounding.\n"
    assert docs_site.as_markdown(docstring) == (
        "Noise.\n\n**Guarantee**\n:   Pure DP.\n\n    For one word.\n\n**Care**\n:   Rounding.\n"
    )


@pytest.mark.parametrize(
    ("tag", "fetches"),
    [
        ('<script src="https://example.org/x.js"></script>', True),
        ('<link rel="stylesheet" href="//example.org/x.css">', True),
        ('<img alt="" src="http://example.org/x.png">', True),
        ('<script src="assets/x.js"></script>', False),
        ('<a href="https://example.org">a link to follow</a>', False),
    ],
)
def test_pages_that_would_fetch_something_are_seen(
    docs_site: ModuleType, tag: str, fetches: bool
) -> None:
    assert bool(docs_site.FETCHED.search(f"<p>{tag}</p>")) is fetches
