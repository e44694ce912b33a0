"""deniability, suggest, compare: what a person types and gets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.cli.main import main
from system.conftest import Command, write_jsonl

Here = Callable[..., tuple[int, str]]

SECRET = "Zyxquorthane"
WORDS = 300


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small public space; one of its words stands far from all others."""
    folder = tmp_path_factory.mktemp("vectors")
    generator = np.random.default_rng(7)
    places = generator.normal(size=(WORDS, 5)).astype(np.float32)
    places[17] = 40.0
    np.save(folder / "toy.npy", places)
    names = [f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(WORDS)]
    names[17] = "hermit"
    (folder / "toy.vocab.txt").write_text("".join(f"{name}\n" for name in names))
    return folder / "toy.npy"


@pytest.fixture(scope="session")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = ["wordaa hermit wordab", f"{SECRET} wordac wordaa 12", "wordba wordbb wordbc"]
    return write_jsonl(tmp_path_factory.mktemp("corpus") / "in.jsonl", texts)


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    """Run a command that fails, in this process and an empty folder: its code and what it said."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        code = main(list(arguments))
        captured = capsys.readouterr()
        assert captured.out == ""
        return code, captured.err

    return run


def answer(result: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def one_line(result: subprocess.CompletedProcess[bytes]) -> str:
    text = result.stderr.decode()
    assert text.count("\n") == 1, text
    assert text.startswith("sfumato: ")
    assert SECRET not in text
    assert result.stdout == b""
    return text


def test_public_words_at_several_levels(sfumato: Command, vectors: Path) -> None:
    command = ("deniability", "exponential", "--epsilon", "8,1,3", "--vectors", vectors)
    found = answer(sfumato(*command, "--json", "--words", "50", "--seed", "1"))
    assert [level["epsilon"] for level in found["levels"]] == [1, 3, 8]
    assert found["words"] == {
        "private": False, "distinct": WORDS, "sampled": 50, "isolated": 30,
        "unknown_occurrences": 0,
    }  # fmt: skip
    medians = [level["keep"]["median"] for level in found["levels"]]
    assert medians == sorted(medians)
    outputs = [level["outputs"]["median"] for level in found["levels"]]
    assert outputs == sorted(outputs, reverse=True)
    for level in found["levels"]:
        assert level["exact"]
        assert level["outputs"]["kind"] == "exact"
        assert level["least_protected"][0]["word"] == "hermit"
        assert len(level["least_protected"]) == 10
    people = sfumato(*command, "--words", "50")
    assert people.stderr == b""
    text = people.stdout.decode()
    assert "hermit" in text
    assert "A median is no promise" in text


def test_draws_are_labeled_as_estimates(sfumato: Command, vectors: Path) -> None:
    command = ("deniability", "laplace", "-e", "3", "--vectors", vectors, "--words", "40")
    (level,) = answer(sfumato(*command, "--draws", "60", "--json"))["levels"]
    assert (level["exact"], level["draws_per_word"]) == (False, 60)
    assert level["outputs"]["kind"] == "lower bound"
    hermit = level["least_protected"][0]
    assert hermit["word"] == "hermit"
    assert hermit["low"] < hermit["high"]
    assert hermit["distance"] > 50
    text = sfumato(*command, "--draws", "60").stdout.decode()
    assert "at least" in text
    assert "95 %" in text
    assert "60 draws" in text


def test_a_seed_repeats_a_measurement(sfumato: Command, vectors: Path) -> None:
    command = ("deniability", "laplace", "-e", "3", "--vectors", vectors, "--json", "--words", "20")
    first, second = (sfumato(*command, "--seed", "5").stdout for _ in range(2))
    assert first == second


def test_words_of_a_corpus_are_for_the_owners_eyes(
    sfumato: Command, vectors: Path, private: Path
) -> None:
    command = ("deniability", "exponential", "-e", "2", "--vectors", vectors, "--corpus", private)
    result = sfumato(*command, "--json")
    found = answer(result)
    assert result.stderr.decode().count("\n") == 1
    assert b"your own eyes" in result.stderr
    assert found["words"] == {
        "private": True, "distinct": 7, "sampled": 7, "isolated": 7, "unknown_occurrences": 2,
    }  # fmt: skip
    (level,) = found["levels"]
    assert {one["word"] for one in level["least_protected"]} <= {
        "wordaa", "wordab", "wordac", "wordba", "wordbb", "wordbc", "hermit",
    }  # fmt: skip
    assert SECRET.encode() not in result.stdout
    fewer = answer(sfumato(*command, "--json", "--words", "3"))
    assert fewer["words"]["sampled"] == 3
    assert "outside the vocabulary: 2 of 10" in sfumato(*command).stdout.decode()


def test_a_policy_says_which_words(sfumato: Command, vectors: Path, private: Path) -> None:
    listed = private.with_name("list.txt")
    listed.write_text("hermit\nwordaa\n")
    command = ("deniability", "exponential", "-e", "2", "--vectors", vectors, "--json")
    for more in (["--corpus", private], []):
        result = sfumato(*command, "--policy", f"lexicon:{listed}", *more)
        found = answer(result)
        assert {one["word"] for one in found["levels"][0]["least_protected"]} == {
            "hermit",
            "wordaa",
        }
        assert b"your own eyes" in result.stderr


@pytest.mark.parametrize("suffix", ["svg", "png", "json"])
def test_a_chart_is_a_real_file_without_a_private_word(
    sfumato: Command, vectors: Path, private: Path, tmp_path: Path, suffix: str
) -> None:
    chart = tmp_path / f"chart.{suffix}"
    command = ("deniability", "exponential", "-e", "1,2,4", "--vectors", vectors, "-o", chart)
    result = sfumato(*command, "--corpus", private)
    assert result.returncode == 0, result.stderr
    content = chart.read_bytes()
    starts = {"svg": b"<svg", "png": b"\x89PNG\r\n\x1a\n", "json": b"{"}
    assert content.lstrip().startswith(starts[suffix])
    for word in (SECRET, "hermit", "wordaa", "wordba"):
        assert word.encode() not in content
    assert [path.name for path in tmp_path.iterdir()] == [chart.name]


def test_without_the_extra_a_chart_is_refused_at_once(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    command = ["deniability", "laplace", "-e", "5", "--vectors", "no.npy"]
    # Vectors that are not there would be complained about later.
    code, said = here(*command, "-o", "c.svg")
    assert code == 5
    assert said == "sfumato: a chart needs an extra: pip install 'sfumato[charts]'\n"
    assert here(*command)[0] == 4


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["deniability", "laplase", "-e", "5"], 2, "did you mean 'laplace'"),
        (["deniability", "laplace"], 2, "--epsilon"),
        (["deniability", "laplace", "-e", "0"], 2, "epsilon=0.0 must be greater than 0"),
        (["deniability", "laplace", "-e", "1,,2"], 2, "separated by commas"),
        (["deniability", "laplace", "-e", "nan"], 2, "finite number"),
        (["deniability", "laplace", "-e", "1", "--eta", "1"], 2, "eta=1.0 must lie between"),
        (["deniability", "laplace", "-e", "1", "--set", "lambda=1"], 2, "unknown setting"),
        (["deniability", "laplace", "-e", "1", "--set", "pii.x=1"], 2, "policy in a setting"),
        (["deniability", "laplace", "-e", "1", "-o", "c.gif"], 2, "format of charts"),
        (["deniability", "laplace", "-e", "1", "-o", "no/c.svg"], 4, "no folder"),
        (["deniability", "laplace", "-e", "1", "-o", "old.svg"], 4, "--overwrite"),
        (["deniability", "laplace", "-e", "1", "--corpus", "no.txt"], 4, "no.txt"),
        (["deniability", "laplace", "-e", "1", "--corpus", "empty.txt"], 3, "no document"),
        (["deniability", "laplace", "-e", "1", "--corpus", "in.dat"], 2, "--format"),
        (["deniability", "redact", "-e", "1"], 2, "replaces whole stretches"),
        (["deniability", "selective", "-e", "1"], 2, "wraps a word mechanism"),
        (["suggest", "laplace", "--keep", "0"], 2, "keep=0.0 must lie between 0 and 1"),
        (["suggest", "laplace", "--keep", "1.5"], 2, "keep=1.5 must lie between 0 and 1"),
        (["suggest", "laplace"], 2, "--keep"),
        (["suggest", "laplase", "--keep", "0.3"], 2, "did you mean 'laplace'"),
        (["suggest", "laplace", "--keep", "0.3", "--corpus", "in.jsonl"], 2, "public words only"),
        (["suggest", "laplace", "--keep", "0.3", "--set", "pii.x=1"], 2, "has no policy"),
        (["compare", "laplace"], 2, "either --epsilon"),
        (["compare", "laplace", "-e", "1", "--keep", "0.3"], 2, "either --epsilon"),
        (["compare", "laplace", "--keep", "1"], 2, "keep=1.0 must lie between"),
        (["compare", "laplase", "-e", "1"], 2, "did you mean 'laplace'"),
        (["compare", "laplace", "-e", "1", "--set", "t=1"], 2, "names no policy"),
        (["compare", "laplace", "-e", "1", "--corpus", "in.jsonl", "--field", "txt"], 3, "'txt'"),
        (["compare", "laplace", "-e", "1", "--corpus", "in.jsonl", "-p", "nothing"], 3, "no word"),
    ],
)
def test_wrong_arguments(
    here: Here, vectors: Path, tmp_path: Path, arguments: list[str], code: int, complaint: str
) -> None:
    write_jsonl(tmp_path / "in.jsonl", [f"{SECRET} wordaa"])
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "in.dat").write_bytes(b"x")
    (tmp_path / "old.svg").write_bytes(b"precious")
    before = sorted(tmp_path.iterdir())
    returned, said = here(*arguments, "--vectors", str(vectors))
    assert complaint in said
    assert said.splitlines()[-1].startswith("sfumato: ")
    assert SECRET not in said
    assert returned == code
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "old.svg").read_bytes() == b"precious"


def test_suggest_finds_the_level_and_names_the_tail(sfumato: Command, vectors: Path) -> None:
    command = ("suggest", "exponential", "--keep", "0.3", "--vectors", vectors)
    found = answer(sfumato(*command, "--json"))
    assert found["reached"]
    assert found["target"] == 0.3
    assert abs(found["keep"]["median"] - 0.3) <= 1e-3
    assert found["keep"]["median_low"] <= 0.3 <= found["keep"]["median_high"]
    assert found["least_protected"][0]["word"] == "hermit"
    assert found["least_protected"][0]["keep"] > 0.99
    again = answer(
        sfumato(
            "deniability", "exponential", "-e", str(found["epsilon"]), "--vectors", vectors,
            "--words", str(WORDS), "--json",
        )
    )  # fmt: skip
    assert abs(again["levels"][0]["keep"]["median"] - 0.3) < 0.1
    text = sfumato(*command).stdout.decode()
    assert "hermit" in text
    assert "costs no privacy" in text
    assert "not a promise for each" in text


def test_suggest_says_how_far_it_goes(sfumato: Command, vectors: Path) -> None:
    result = sfumato(
        "suggest", "binary", "--keep", "0.9", "--set", "bits=3", "--vectors", vectors,
        "--words", "100", "--draws", "30",
    )  # fmt: skip
    assert result.returncode == 2
    assert "it ranges from 0.0000 to 0.0000" in one_line(result)


def test_compare_has_every_mechanism_and_says_what_does_not_compare(
    sfumato: Command, vectors: Path
) -> None:
    command = ("compare", "--epsilon", "2,6", "--vectors", vectors, "--sample", "200")
    found = answer(sfumato(*command, "--json", "--seed", "3"))
    names = {row["mechanism"] for row in found["rows"]}
    assert {"laplace", "exponential", "truncated", "vickrey"} <= names
    reasons = {one["mechanism"]: one["reason"] for one in found["skipped"]}
    assert "wraps a word mechanism" in reasons["selective"]
    assert not set(reasons) & names
    for row in found["rows"]:
        assert row["epsilon"] in (2, 6)
        assert row["guarantee"]["notion"]
        assert 0 <= row["kept"]["low"] <= row["kept"]["value"] <= row["kept"]["high"] <= 1
        assert row["distance"]["relative"] >= 0
        assert row["words_per_second"] > 0
    text = sfumato(*command).stdout.decode()
    assert "cannot be compared" in text
    assert "sfumato suggest" in text
    assert "metric DP [1]" in text


def test_compare_at_equal_keep_on_a_corpus(sfumato: Command, vectors: Path, private: Path) -> None:
    result = sfumato(
        "compare", "laplace", "exponential", "--keep", "0.4", "--vectors", vectors,
        "--corpus", private, "--json", "--seed", "2",
    )  # fmt: skip
    found = answer(result)
    assert b"your own eyes" in result.stderr
    assert found["words"] == {
        "private": True, "occurrences": 10, "sampled": 8, "unknown_occurrences": 2,
    }  # fmt: skip
    assert {row["mechanism"] for row in found["rows"]} == {"laplace", "exponential"}
    for row in found["rows"]:
        assert abs(row["median_keep"]["value"] - 0.4) < 0.1
    for word in (SECRET, "hermit", "wordaa"):
        assert word.encode() not in result.stdout


def test_drugs_stand_out_among_everyday_words(sfumato: Command, tmp_path: Path) -> None:
    # In the embedded space: names of drugs stay where the words around them do not.
    (tmp_path / "note.txt").write_text(
        "She said that he was at home when they came back, and that it had all been for the best. "
        "He went out and took the car, but it was not there any more, so he walked. "
        "The patient takes aspirin and ibuprofen in the morning.\n"
    )
    found = answer(
        sfumato(
            "deniability", "laplace", "-e", "8", "--corpus", tmp_path / "note.txt", "--draws",
            "200", "--json", "--seed", "1",
        )
    )  # fmt: skip
    (level,) = found["levels"]
    exposed = {one["word"]: one["keep"] for one in level["least_protected"]}
    assert {"aspirin", "ibuprofen"} <= set(exposed)
    assert exposed["ibuprofen"] > level["keep"]["median"] + 0.3
