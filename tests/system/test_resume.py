"""A run that is killed goes on: no document lost, none twice, none half-written."""

from __future__ import annotations

import gzip
import json
import os
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from system.conftest import Command, ended, write_jsonl

TEXTS = [f"Order {number} came with {number % 97} parts" for number in range(30)]  # four chunks
FINISHED = "sfumato.releases.parts:Parts.finish"
pytestmark = pytest.mark.usefixtures("small_chunks")


@pytest.fixture
def options(vectors_file: Path) -> list[str]:
    return ["--policy", "digits", "--epsilon", "5", "--vectors", str(vectors_file)]


def corpus_at(path: Path) -> Path:
    if path.suffix == ".parquet":
        rows = {"id": list(range(len(TEXTS))), "text": TEXTS}
        pq.write_table(pa.table(rows), path)
        return path
    write_jsonl(path.with_name("in.jsonl"), TEXTS)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(path.with_name("in.jsonl").read_bytes()))
    return path


def texts_in(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return [str(text) for text in pq.read_table(path).column("text").to_pylist()]
    content = path.read_bytes()
    plain = gzip.decompress(content) if path.suffix == ".gz" else content
    return [json.loads(line)["text"] for line in plain.decode().splitlines()]


def killed_in_the_middle(arguments: list[str], output: Path) -> int:
    """Start a run, kill it once a part is finished, return how many parts there are."""
    threads = {"OPENBLAS_NUM_THREADS": "1"}
    killed = ended(FINISHED, 1, signal.SIGKILL, arguments, extra=threads)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not output.exists()
    return len(list(output.with_name(output.name + ".parts").glob("*.part")))


@pytest.mark.parametrize(
    ("workers", "suffix"), [("1", ".jsonl"), ("2", ".jsonl.gz"), ("1", ".parquet")]
)
def test_killed_and_resumed_equals_never_killed(
    sfumato: Command, tmp_path: Path, options: list[str], suffix: str, workers: str
) -> None:
    source = corpus_at(tmp_path / f"in{suffix}")
    output = tmp_path / f"out{suffix}"
    options += ["--seed", "11"]
    crew = [*options, "--workers", workers]
    finished = killed_in_the_middle(["privatize", str(source), "-o", str(output), *crew], output)
    assert finished >= 1
    plain = sfumato("privatize", source, "-o", output, *crew)
    assert plain.returncode == 4
    assert b"--resume" in plain.stderr
    assert not output.exists()
    resumed = sfumato("privatize", source, "-o", output, *crew, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    whole = tmp_path / f"whole{suffix}"
    assert sfumato("privatize", source, "-o", whole, *options).returncode == 0
    assert texts_in(output) == texts_in(whole)
    assert len(texts_in(output)) == len(TEXTS)
    assert not output.with_name(output.name + ".parts").exists()
    sides = [path.with_name(path.name + ".guarantee.json") for path in (output, whole)]
    told, expected = (json.loads(path.read_bytes()) for path in sides)
    # The mark of the input is salted anew for each output.
    assert told.pop("input").keys() == expected.pop("input").keys()
    assert told == expected


def test_resume_refuses_other_settings_another_input_and_another_pattern(
    sfumato: Command, tmp_path: Path, vectors_file: Path
) -> None:
    source = corpus_at(tmp_path / "in.jsonl")
    output = tmp_path / "out.jsonl"
    base = ["privatize", str(source), "-o", str(output), "--policy", r"regex:\d+"]
    base += ["--vectors", str(vectors_file)]
    killed_in_the_middle([*base, "--epsilon", "5"], output)
    for change, what in (
        (["--epsilon", "6"], b"epsilon"),
        (["--epsilon", "5", "--unknown", "keep"], b"unknown"),
        (["--epsilon", "5", "--policy", "regex:[a-z]+"], b"policy"),
    ):
        refused = sfumato(*base, *change, "--resume")
        assert refused.returncode == 4
        assert what in refused.stderr
        assert not output.exists()
    source.write_text(source.read_text() + '{"text": "one more"}\n')
    refused = sfumato(*base, "--epsilon", "5", "--resume")
    assert refused.returncode == 4
    assert b"input changed" in refused.stderr
    again = sfumato(*base, "--epsilon", "5", "--overwrite")
    assert again.returncode == 0
    assert len(texts_in(output)) == len(TEXTS) + 1


def test_resuming_a_finished_run_changes_nothing_and_other_settings_are_refused(
    sfumato: Command, tmp_path: Path, options: list[str]
) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", TEXTS[:3])
    output = tmp_path / "out.jsonl"
    assert sfumato("privatize", source, "-o", output, *options).returncode == 0
    before = output.read_bytes()
    assert sfumato("privatize", source, "-o", output, *options, "--resume").returncode == 0
    assert output.read_bytes() == before
    for change in (
        ["--epsilon", "6"],
        ["--policy", "pii:email"],
        ["--policy", "regex:a"],
        ["--seed", "1"],
        ["--field", "id"],
    ):
        other = sfumato("privatize", source, "-o", output, *options, *change, "--resume")
        assert other.returncode == 4, change
        assert output.read_bytes() == before
    elsewhere = write_jsonl(tmp_path / "older.jsonl", TEXTS[3:6])
    os.utime(elsewhere, (1_600_000_000, 1_600_000_000))
    assert sfumato("privatize", elsewhere, "-o", output, *options, "--resume").returncode == 4


def test_an_interrupted_run_says_so_and_can_go_on(
    sfumato: Command, tmp_path: Path, options: list[str]
) -> None:
    source = corpus_at(tmp_path / "in.jsonl")
    output = tmp_path / "out.jsonl"
    arguments = ["privatize", str(source), "-o", str(output), *options]
    stopped = ended(FINISHED, 1, signal.SIGINT, arguments)
    assert stopped.returncode == 130
    assert stopped.stderr.decode().strip().endswith("interrupted")
    assert b"Traceback" not in stopped.stderr
    assert sfumato(*arguments, "--resume").returncode == 0
    assert len(texts_in(output)) == len(TEXTS)
