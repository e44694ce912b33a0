"""A study that was really run has a page: what one part writes, the other reads."""

from __future__ import annotations

import sys

import pytest

from sfumato.reports import write_report
from sfumato.studies.parsing import parse_spec
from sfumato.studies.runner import run_study
from unit.reports.reading import Read, assert_sound

pytestmark = pytest.mark.usefixtures("small_vectors")

STUDY = """
title = "Digits under two levels"
anchors = false

[corpus]
kind = "customersim"
count = 6
seed = 5

[[methods]]
name = "SMDP"
mechanism = "exponential"
policy = "digits"
epsilon = [2, 40]

[[methods]]
name = "masks"
mechanism = "redact"
policy = "digits"

[attacks.token-inference]
attacker = "nearest"

[measures.text]
[measures.deniability]
words = 5
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Read:
    folder = tmp_path_factory.mktemp("real") / "study"
    study = parse_spec(STUDY, folder.parent, "real")
    run_study(study, folder, workers=0, command=["sfumato", "study", "run", "real.toml"])
    monkey = pytest.MonkeyPatch()
    monkey.setitem(sys.modules, "altair", None)  # tables say the same, and sooner
    try:
        return assert_sound(write_report(folder).path.read_bytes())
    finally:
        monkey.undo()


def test_every_part_is_there(page: Read) -> None:
    names = [one.attributes["id"] for one in page.all("section")]
    for name in ("methods", "tradeoff", "hiding", "cost", "texts", "figures", "provenance"):
        assert name in names
    text = page.text()
    assert "6 generated customer-service dialogues" in text
    assert "word overlap" in text
    assert "Deniability under SMDP." in text
    assert "sfumato study run real.toml" in text
    # A mask has no level to choose: it does not look at the original.
    assert "is chosen without looking at the original" in text


def test_samples_of_a_generated_corpus_are_shown(page: Read) -> None:
    kinds = {one.attributes["class"] for one in page.all("mark")}
    assert {"found", "new"} <= kinds
    headings = [one.text for one in page.all("h4")]
    assert "SMDP, ε = 2" in headings
    assert "This page contains private text." not in page.text()
