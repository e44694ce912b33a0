"""Pages that several tests look at: each is made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.reports import write_report
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
