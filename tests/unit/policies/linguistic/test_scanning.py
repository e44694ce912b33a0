"""``sfumato scan`` with a linguistic policy: what it finds, and the share of words it selects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.main import app

LINES = "Ann left Paris yesterday\n\nZoë stayed in New York 👩‍👧\nno name here\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(LINES, encoding="utf-8")
    return path


def scan(corpus: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["scan", str(corpus), *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_share_of_words_is_told(corpus: Path, entity_pipeline: Path) -> None:
    setting = ("--set", f"entities.model={entity_pipeline}", "--policy")
    text = scan(corpus, *setting, "entities")
    assert "4 spans in 4 documents" in text
    assert "5 of 12 words selected (41.7%)" in text
    assert "2 of 12 words selected (16.7%)" in scan(corpus, *setting, "entities:PERSON")
    assert "0 of 12 words selected (0.0%)" in scan(corpus, "--policy", "digits")


def test_the_spans_of_every_document_are_printed(
    corpus: Path, entity_pipeline: Path, tmp_path: Path
) -> None:
    arguments = ("--policy", "entities", "--json", "--set", f"entities.model={entity_pipeline}")
    plain = scan(corpus, *arguments)
    lines = [json.loads(line) for line in plain.splitlines()]
    assert [[span["label"] for span in line["spans"]] for line in lines] == [
        ["PERSON", "GPE"], [], ["PERSON", "GPE"], [],
    ]  # fmt: skip
    cache = ("--set", f"entities.cache={tmp_path / 'cache'}")
    assert scan(corpus, *arguments, *cache) == plain
    assert scan(corpus, *arguments, *cache) == plain
