"""Text that new documents are made of must not be the input; texts that are missing show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import sfumato
from sfumato.core.errors import InvalidArgument
from sfumato.files import apart
from sfumato.mechanisms.selective import MISSING_LEAK
from sfumato.releases.privatizer import Privatizer
from sfumato.verbs.privatize import privatize
from unit.models.folders import gpt2, with_our_tokenizer

PRIVATE = "Ann Smith has HIV.\nBob Jones, of 12 Main Street in Boston, is fine.\n"
PUBLIC = "The food was cold.\nNobody came for an hour, and the room was cold.\nThe view is nice.\n"


@pytest.fixture
def private(tmp_path: Path) -> Path:
    path = tmp_path / "private.txt"
    path.write_text(PRIVATE)
    return path


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    path = tmp_path / "pool.txt"
    path.write_text(PUBLIC)
    return path


def rewrite(source: Path, pool: Path, **more: Any) -> Path:
    output = source.with_name(f"out{source.suffix}")
    settings = {"pool": str(pool), "most": 1, "fill": True}
    privatize(source, output, mechanism="sentences", epsilon=8.0, settings=settings, **more)
    return output


def test_the_input_is_no_pool(private: Path, pool: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(private)
    copy = tmp_path / "copy.txt"
    copy.write_text(PRIVATE)
    for wrong in (private, link, copy):
        with pytest.raises(InvalidArgument, match="pool: this is the private input itself"):
            rewrite(private, wrong)
        with pytest.raises(InvalidArgument, match="the private input itself"):
            rewrite(private, wrong, dry_run=True)
    # One document of it among others, in another format.
    mixed = tmp_path / "mixed.jsonl"
    texts = [*PUBLIC.splitlines(), PRIVATE.splitlines()[1] + " "]
    mixed.write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
    with pytest.raises(InvalidArgument, match="its document 4 is also") as refused:
        rewrite(private, mixed)
    assert "Boston" not in str(refused.value)
    assert not (tmp_path / "out.txt").exists()
    # What is short occurs in unrelated texts.
    private.write_text("The food was cold.\nAnn Smith has HIV.\n")
    assert "Ann" not in rewrite(private, pool).read_text()


def test_without_the_guard_the_input_comes_out(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart.Marks, "place", lambda *_: None)
    for name in ("is_same_file", "is_same_content"):
        monkeypatch.setattr(f"sfumato.files.apart.{name}", lambda *_: False)
    written = rewrite(private, private).read_text().splitlines()
    assert set(written) <= set(PRIVATE.splitlines())


def test_the_input_is_no_vocabulary(private: Path, pool: Path, tmp_path: Path) -> None:
    torch.manual_seed(1)
    folder = str(with_our_tokenizer(gpt2(), tmp_path / "model"))
    settings = {"model": folder, "window": 2.0, "tokens": 2, "prompt": "{} :"}
    for wrong, right in ((private, pool), (pool, private)):
        with pytest.raises(InvalidArgument, match="vocabulary: this is the private input"):
            privatize(
                wrong, tmp_path / "out.txt", mechanism="temperature", overwrite=True,
                settings=settings | {"vocabulary": str(wrong)},
            )  # fmt: skip
        made = privatize(
            wrong, tmp_path / "out.txt", mechanism="temperature", overwrite=True,
            settings=settings | {"vocabulary": str(right)},
        )  # fmt: skip
        assert "the vocabulary has, which must be public" in made.guarantee.sentence()


def test_in_memory_the_statement_says_that_a_pool_must_be_public(pool: Path) -> None:
    made = Privatizer(
        policy="everything", mechanism="sentences", epsilon=8.0, settings={"pool": str(pool)}
    )
    assert "what stands in the pool, which must be public" in made.guarantee().sentence()


def shown(output: Path) -> list[str]:
    told = json.loads(output.with_name(output.name + ".guarantee.json").read_text())
    leaks: list[str] = told["guarantee"]["leaks"]
    assert all(one in told["sentence"] for one in leaks)
    return leaks


def test_a_text_that_is_missing_shows_and_the_statement_says_so(pool: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    records: list[dict[str, str | None]] = [
        {"a": "Ann has a dog.", "b": None},
        {"a": None, "b": "Eve."},
        {"a": "", "b": None},
    ]
    source.write_text("".join(json.dumps(one) + "\n" for one in records))
    output = rewrite(source, pool, field=["a", "b"])
    written = [json.loads(line) for line in output.read_text().splitlines()]
    # Which field was filled can be seen; an empty text cannot be told from any other.
    kept = [{name for name, value in one.items() if value is None} for one in written]
    assert kept == [{"b"}, {"a"}, {"b"}]
    assert written[2]["a"] in PUBLIC.splitlines()
    assert MISSING_LEAK in shown(output)
    made = Privatizer(
        policy="everything", mechanism="sentences", epsilon=8.0, settings={"pool": str(pool)}
    )
    assert made.privatize([None, "x"])[0] is None
    assert MISSING_LEAK in made.guarantee().leaks


def test_lines_are_never_missing(private: Path, pool: Path) -> None:
    private.write_text(PRIVATE + "\n\n")
    output = rewrite(private, pool)
    assert set(output.read_text().splitlines()) <= set(PUBLIC.splitlines())
    assert MISSING_LEAK not in shown(output)


def test_words_and_stretches_have_no_such_statement() -> None:
    made = sfumato.Privatizer(policy="digits", mechanism="redact")
    assert MISSING_LEAK not in made.guarantee().leaks
