"""Pages that several tests look at: each is made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.releases.job import Job, run_job
from sfumato.releases.privatizer import Privatizer
from sfumato.reports import write_report
from unit.reports.example_run import write_run
from unit.reports.example_study import Said, partly, write_study
from unit.reports.reading import HOSTILE

# Two folders of tests look at these pages; a session makes them once all the same.
_MADE: dict[str, Path] = {}


@pytest.fixture(scope="session")
def study_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a finished study."""
    if "study" not in _MADE:
        folder = write_study(tmp_path_factory.mktemp("reports") / "study")
        _MADE["study"] = write_report(folder).path
    return _MADE["study"]


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a study with failures, in which every free text tries to break out."""
    if "hostile" not in _MADE:
        folder = tmp_path_factory.mktemp("reports") / "hostile"
        write_study(folder, Said.hostile(HOSTILE), state=partly, public=False)
        _MADE["hostile"] = write_report(folder).path
    return _MADE["hostile"]


@pytest.fixture(scope="session")
def run_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a training run."""
    if "run" not in _MADE:
        _MADE["run"] = write_report(write_run(tmp_path_factory.mktemp("reports") / "run")).path
    return _MADE["run"]


@pytest.fixture(scope="session")
def file_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a privatized file."""
    if "file" not in _MADE:
        folder = tmp_path_factory.mktemp("reports")
        (folder / "notes.txt").write_text("I am Tom Miller since 5 May 2021, call 515 555 0146.\n")
        source = Source.of(folder / "notes.txt", Layout())
        run_job(Job(source=source, target=folder / "soft.txt"), Privatizer())
        _MADE["file"] = write_report(folder / "soft.txt").path
    return _MADE["file"]
