"""Cells that an engine computes: each once, whatever it does, with the figures of a local run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.releases.payment import Payment
from sfumato.studies import elsewhere
from sfumato.studies.folder import StudyFolder
from sfumato.studies.runner import run_study
from sfumato.studies.worker import Work, compute_cell
from small_study import SMALL, small_study
from unsteady_engine import BEFORE, LOST, Unsteady

STUDY = SMALL.replace("seeds = [1, 2]", "seeds = [1]").replace("epsilon = [1, 9]", "epsilon = 1")


def figures(folder: Path) -> list[dict[str, Any]]:
    """All but what they cost."""
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    costs = ("seconds", "cpu_seconds", "peak_memory")
    return [
        {name: one for name, one in row.items() if name not in costs}
        for row in rows
        if row["role"] != "cost"
    ]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("local")
    run_study(small_study(folder, STUDY), folder / "out", workers=0)
    return folder / "out"


def test_an_engine_that_kills_and_repeats_gives_the_figures_of_a_local_run(
    tmp_path: Path, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []

    def counted(work: Work, cell: Any) -> bool:
        done = compute_cell(work, cell)
        computed.extend([cell.key] * done)
        return done

    monkeypatch.setattr(elsewhere, "compute_cell", counted)
    monkeypatch.setattr(elsewhere, "WAIT", 0)
    engine = Unsteady({0: (BEFORE, LOST), 1: (LOST, LOST), 3: (BEFORE,), 5: (LOST,)})
    seen: list[Work] = []
    study = small_study(tmp_path, STUDY)
    found = run_study(study, tmp_path / "out", engine=engine, watch=seen.append)
    assert found.complete
    assert len(computed) == len(set(computed)) == found.cells == len(seen)
    assert figures(tmp_path / "out") == figures(local)
    # Through the engine went the numbers of cells, and neither the study nor a figure.
    assert not any(b"SMDP" in one or b"digits" in one for one in engine.sent)
    assert not StudyFolder(tmp_path / "out").lock("errand").exists()
    again = run_study(study, tmp_path / "out", resume=True, engine=engine)
    assert again.complete
    assert len(computed) == found.cells


def test_the_count_notices_an_engine_that_computes_without_looking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin ignores what is there: a cell whose answer was lost is computed twice."""
    computed: list[str] = []

    def blind(work: Work, cell: Any) -> bool:
        work.folder.record(cell.key).unlink(missing_ok=True)
        computed.append(cell.key)
        return compute_cell(work, cell)

    monkeypatch.setattr(elsewhere, "compute_cell", blind)
    found = run_study(small_study(tmp_path, STUDY), tmp_path / "out", engine=Unsteady({0: (LOST,)}))
    assert len(computed) == found.cells + 1


def test_what_is_charged_is_not_computed_elsewhere(tmp_path: Path) -> None:
    payment = Payment(str(tmp_path / "budget"), "corpus:one")
    with pytest.raises(InvalidArgument, match="charged by the process"):
        run_study(
            small_study(tmp_path, STUDY), tmp_path / "out", payment=payment, engine=Unsteady()
        )
