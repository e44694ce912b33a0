"""A study with a mechanism that rewrites documents: its levels, attack, measure and report."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato
from sfumato.core.errors import InvalidArgument
from sfumato.results.row import LEAKAGE, NO_PRIVACY, UTILITY
from sfumato.studies.folder import StudyFolder
from sfumato.studies.runner import run_study
from small_study import small_study
from unit.models.folders import autoencoder

STUDY = """
title = "Rewritten"
seeds = [1]
corpus = { kind = "customersim", count = 12, seed = 5, lines = 2 }

[[methods]]
name = "pool"
mechanism = "sentences"
epsilon = [4, 20]
settings = { pool = "pool.txt", most = 4, fill = true }

[attacks.reidentification]
[measures.rewriting]
"""
POOL = (
    "The order is late\nMy number is wrong\nThank you for calling\nWhich address is it\nGoodbye\n"
)


@pytest.mark.usefixtures("small_vectors")
def test_levels_are_attacked_and_measured(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text(POOL)
    run_study(small_study(tmp_path, STUDY), tmp_path / "out", workers=0)
    rows = StudyFolder(tmp_path / "out").rows()
    found = {(row.method, row.level, row.metric): row.value for row in rows}
    for level in (4.0, 20.0):
        assert found["pool", level, "source words kept"] is not None
        assert found["pool", level, "re-identified by meaning"] is not None
    assert found[NO_PRIVACY, None, "source words kept"] == 1.0
    assert found[NO_PRIVACY, None, "re-identified by meaning"] > 0.5  # type: ignore[operator]
    assert {row.role for row in rows} >= {LEAKAGE, UTILITY}
    made = sfumato.report(tmp_path / "out", output=tmp_path / "report.html")
    assert "source words kept" in Path(made.path).read_text()


@pytest.mark.usefixtures("small_vectors")
def test_a_model_in_a_folder_beside_the_study_rewrites(tmp_path: Path) -> None:
    autoencoder(tmp_path / "tiny")
    latent = STUDY.replace('mechanism = "sentences"', 'mechanism = "latent"').replace(
        '{ pool = "pool.txt", most = 4, fill = true }', '{ model = "tiny" }'
    )
    run_study(small_study(tmp_path, latent), tmp_path / "out", workers=0)
    rows = StudyFolder(tmp_path / "out").rows()
    found = {(row.method, row.level, row.metric): row.value for row in rows}
    assert found["pool", 20.0, "source words kept"] is not None
    assert found["pool", 20.0, "re-identified by words"] is not None


def test_a_policy_that_selects_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text(POOL)
    wrong = STUDY.replace('mechanism = "sentences"', 'mechanism = "sentences"\npolicy = "digits"')
    with pytest.raises(InvalidArgument, match="nothing to select"):
        run_study(small_study(tmp_path, wrong), tmp_path / "out", workers=0)
