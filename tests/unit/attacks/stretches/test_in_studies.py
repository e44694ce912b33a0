"""Baselines without rows are attacked as everything else, by command, from Python, in a study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato
from sfumato.core.errors import MissingInput
from sfumato.results.row import LEAKAGE, NO_PRIVACY
from sfumato.studies.folder import StudyFolder
from sfumato.studies.runner import run_study
from small_study import SMALL, small_study

ATTACKS = "[attacks.context-inference]\ncandidates = 5\n[attacks.matching]\n"


@pytest.mark.usefixtures("small_vectors")
def test_masks_have_figures_of_leakage_beside_word_mechanisms(tmp_path: Path) -> None:
    text = SMALL.replace("seeds = [1, 2]", "seeds = [1]").replace("count = 6", "count = 12")
    run_study(small_study(tmp_path, text + ATTACKS), tmp_path / "out", workers=0)
    rows = [row for row in StudyFolder(tmp_path / "out").rows() if row.role == LEAKAGE]
    for by in ("context-inference", "matching"):
        mine = [row for row in rows if row.by == by]
        assert {row.method for row in mine} >= {"masks", "SMDP", NO_PRIVACY}
        assert all((row.least, row.most) == (0.0, 1.0) for row in mine)
        assert all(row.chance is not None for row in mine)
    guessed = {
        (row.method, row.level): row.value
        for row in rows
        if row.metric == "re-identified by private words" and row.value is not None
    }
    # Without privacy the numbers give their documents away; behind masks they do not.
    assert guessed[NO_PRIVACY, None] > 0.9
    assert guessed["masks", None] < 0.5


@pytest.mark.parametrize("mechanism", ["redact", "surrogate", "auto"])
def test_a_file_without_rows_is_attacked(tmp_path: Path, mechanism: str) -> None:
    source, soft = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    people = ["Ada Lovelace", "Grace Hopper", "Alan Turing", "Emmy Noether", "Kurt Goedel"]
    source.write_text(
        "".join(
            json.dumps({"text": f"My name is {name}, order number {n}."}) + "\n"
            for n, name in enumerate(people)
        )
    )
    sfumato.privatize(source, soft, mechanism=mechanism)
    scores = sfumato.attack("matching", soft, originals=source)
    assert scores.figure("re-identified by all words").value > 0.5
    guessed = sfumato.attack("context-inference", soft, originals=source)
    assert guessed.figure("guessed").n >= len(people) - 1
    with pytest.raises(MissingInput, match="'context-inference' and 'matching'"):
        sfumato.attack("token-inference", soft, originals=source)
