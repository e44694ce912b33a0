"""The embedded tokenizer is what its script builds out of the embedded word list."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from sfumato.models.bpe import MERGES, default_tokenizer, read_merges, write_merges

SCRIPT = Path(__file__).parents[3] / "scripts" / "build_default_tokenizer.py"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_default_tokenizer", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_what_the_script_builds() -> None:
    assert script().default_merges() == read_merges(MERGES)


def test_merges_are_read_as_they_are_written(tmp_path: Path) -> None:
    merges = read_merges(MERGES)
    write_merges(merges, tmp_path / "merges.txt")
    assert (tmp_path / "merges.txt").read_bytes() == MERGES.read_bytes()


def test_common_english_words_are_one_token() -> None:
    tokenizer = default_tokenizer()
    for word in (" the", " people", " government", " The", " because", "."):
        assert len(tokenizer.encode(word)) == 1


def test_attribution_and_terms_stand_beside_the_data() -> None:
    text = (MERGES.parent / "ATTRIBUTION.md").read_text("utf-8")
    assert "PDDL" in text
    assert "Pennington" in text
