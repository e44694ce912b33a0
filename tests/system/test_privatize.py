"""``sfumato privatize`` on every format, through pipes, with workers, and what it leaves behind."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd

from sfumato.vectors.load import default_space
from system.conftest import Command, write_jsonl

SECRET = "Zyxquorthane"
# Words for words, so that what is put in can be compared with the vocabulary.
BY_WORDS = ["-p", "digits", "-m", "laplace", "-e", "5"]
CANARY = "145572"
pytestmark = pytest.mark.usefixtures("small_vectors", "small_chunks")
TEXTS = [
    f"My ID is {CANARY}.\tÅsa said: call 555-0142!",
    "No number here 👩‍👧\u200d, \u202eשלום, e\u0301.",
    "",
    "Room 12 on floor 7",
]


def side(output: Path) -> dict[str, object]:
    content = output.with_name(output.name + ".guarantee.json").read_text(encoding="utf-8")
    loaded: dict[str, object] = json.loads(content)
    return loaded


def softened(before: str, after: str) -> bool:
    """Whether every word with a digit was replaced by words of the vocabulary, and nothing else."""
    from sfumato.text.words import Words

    old, new = Words.of(before), Words.of(after)
    assert len(old) == len(new)
    known = set(default_space().words)
    for place in range(len(old)):
        has_digit = any(character.isnumeric() for character in old[place])
        assert new[place] in known if has_digit else new[place] == old[place]
    gaps_old = "".join(before[e:s] for e, s in zip(old.ends, old.starts[1:], strict=False))
    gaps_new = "".join(after[e:s] for e, s in zip(new.ends, new.starts[1:], strict=False))
    return gaps_old == gaps_new


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_text_lines(sfumato: Command, tmp_path: Path, suffix: str) -> None:
    packs: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstd.compress}
    unpacks: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".zst": zstd.decompress}
    pack, unpack = packs.get(suffix, bytes), unpacks.get(suffix, bytes)
    source, output = tmp_path / f"in.txt{suffix}", tmp_path / f"out.txt{suffix}"
    source.write_bytes(pack("\r\n".join(TEXTS).encode()))
    result = sfumato("privatize", source, "-o", output, *BY_WORDS)
    assert result.returncode == 0, result.stderr
    after = unpack(output.read_bytes()).decode()
    lines = after.split("\r\n")
    assert len(lines) == len(TEXTS)
    assert all(softened(old, new) for old, new in zip(TEXTS, lines, strict=True))
    assert CANARY not in after


def test_jsonl_keeps_the_other_fields_and_writes_the_guarantee(
    sfumato: Command, tmp_path: Path
) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    line = '{"n": 0.10000000000000000555, "note": "id 7", "text": %s, "z": [1e400]}\n'
    source.write_text("".join(line % json.dumps(text) for text in TEXTS), encoding="utf-8")
    result = sfumato("privatize", source, "-o", output, *BY_WORDS,
                     "--json", "--keep", "*")  # fmt: skip
    assert result.returncode == 0, result.stderr
    for old, new in zip(TEXTS, output.read_text(encoding="utf-8").splitlines(), strict=True):
        assert new.startswith('{"n": 0.10000000000000000555, "note": "id 7", "text": ')
        assert new.endswith(', "z": [1e400]}')
        assert softened(old, json.loads(new)["text"])
    summary = side(output)
    assert json.loads(result.stdout) == summary
    assert summary["schema"] == 1
    assert summary["for_release"] is True
    assert summary["counts"] == {
        "documents": 4,
        "words": 19,
        "privatized_words": 5,
        "uncovered_words": 0,
    }
    per_document = summary["per_document"]
    assert isinstance(per_document, dict)
    assert per_document["privatized_words_in_median_document"] == 0
    assert per_document["privatized_words_in_largest_document"] == 3
    assert "every other field of a record" in str(summary["sentence"])


def test_csv_and_parquet(sfumato: Command, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    with table.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "text", "n"])
        writer.writerows([[str(n), text, "1.50"] for n, text in enumerate(TEXTS)])
    columns = {"id": list(range(4)), "text": TEXTS, "n": [1.5, None, 2.5, 3.5]}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    for suffix in ("csv", "parquet"):
        result = sfumato(
            "privatize", f"in.{suffix}", "-o", f"out.{suffix}", *BY_WORDS,
            cwd=tmp_path,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
    rows = list(csv.reader(io.StringIO((tmp_path / "out.csv").read_text("utf-8"), newline="")))
    assert [(row[0], row[2]) for row in rows[1:]] == [(str(n), "1.50") for n in range(4)]
    assert all(softened(old, row[1]) for old, row in zip(TEXTS, rows[1:], strict=True))
    parquet = pq.read_table(tmp_path / "out.parquet")
    assert parquet.drop_columns(["text"]).to_pydict() == {"id": columns["id"], "n": columns["n"]}
    assert all(map(softened, TEXTS, parquet.column("text").to_pylist()))


def test_a_pipe_carries_the_data_and_stderr_the_summary(sfumato: Command, tmp_path: Path) -> None:
    guarantee = tmp_path / "g.json"
    result = sfumato(
        "privatize", "-", "-o", "-", *BY_WORDS, "--guarantee", guarantee,
        stdin="\n".join(TEXTS).encode(), cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0
    assert all(map(softened, TEXTS, result.stdout.decode().split("\n")))
    assert b"documents" in result.stderr
    assert json.loads(guarantee.read_text())["counts"]["documents"] == 4
    assert list(tmp_path.iterdir()) == [guarantee]
    piped = sfumato(
        "privatize", "-", "-o", "-", *BY_WORDS, "--format", "jsonl",
        stdin=b'{"text": "7 a"}\n',
    )  # fmt: skip
    assert json.loads(piped.stdout)["text"].endswith(" a")


def test_whole_file_and_empty_file_and_emoji_only(sfumato: Command, tmp_path: Path) -> None:
    for content, documents in (("a 1\nb 2\n", 1), ("", 1), ("😀🎉\n", 1)):
        source, output = tmp_path / "in.txt", tmp_path / "out.txt"
        source.write_text(content, encoding="utf-8")
        options = ["-p", "digits", "-e", "5", "--overwrite"]
        result = sfumato("privatize", source, "-o", output, "--whole-file", *options)
        assert result.returncode == 0, result.stderr
        assert softened(content, output.read_text(encoding="utf-8"))
        counts = side(output)["counts"]
        assert isinstance(counts, dict)
        assert counts["documents"] == documents


def test_an_empty_file_is_told_from_one_in_which_nothing_is_found(
    sfumato: Command, tmp_path: Path
) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    for content, said in (("", b"holds no words"), ("plain words\n", b"finds nothing in these")):
        source.write_text(content, encoding="utf-8")
        for quiet in ([], ["-q"]):
            options = ["-p", "digits", "-e", "5", "--overwrite", *quiet]
            result = sfumato("privatize", source, "-o", output, *options)
            assert said in result.stdout + result.stderr
            assert content or b"Exactly" not in result.stdout  # nothing was there to protect
    source.write_text("", encoding="utf-8")
    for options in ([], ["--json"]):
        scanned = sfumato("scan", source, "-p", "digits", *options)
        assert b"the input holds no document" in scanned.stderr


def test_a_seed_gives_the_same_output_for_any_number_of_workers_and_stamps_it(
    sfumato: Command, tmp_path: Path, vectors_file: Path
) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [f"code {n} x" for n in range(40)])
    outputs = []
    for name, workers, seed in (("a", "1", "3"), ("b", "2", "3"), ("c", "1", "4")):
        output = tmp_path / f"{name}.jsonl"
        result = sfumato(
            "privatize", source, "-o", output, "-p", "digits", "-e", "5", "--seed", seed,
            "--workers", workers, "--vectors", vectors_file,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert b"NOT FOR RELEASE" in result.stdout
        assert side(output)["for_release"] is False
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1]
    assert outputs[0] != outputs[2]


def test_without_a_seed_two_runs_differ(sfumato: Command, tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ["1 2 3 4 5 6 7 8 9"] * 5)
    for name in ("a", "b"):
        sfumato("privatize", source, "-o", tmp_path / f"{name}.jsonl", "-p", "digits", "-e", "1")
    assert (tmp_path / "a.jsonl").read_bytes() != (tmp_path / "b.jsonl").read_bytes()


def test_unknown_words_kept_are_counted_and_said(sfumato: Command, tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [f"ids {CANARY} and {CANARY}"] * 3)
    output = tmp_path / "out.jsonl"
    options = ["-p", "digits", "-e", "5", "--unknown", "keep"]
    assert sfumato("privatize", source, "-o", output, *options).returncode == 0
    assert output.read_text().count(CANARY) == 6
    summary = side(output)
    assert "6 selected words outside the vocabulary" in str(summary["sentence"])


def test_no_private_text_leaves_by_a_side_door(
    sfumato: Command, tmp_path: Path, vectors_file: Path
) -> None:
    """A secret is searched in everything a run prints or writes, failing or finished."""
    texts = [f"{SECRET} {n} word" for n in range(20)]
    source = write_jsonl(tmp_path / "in.jsonl", texts)
    good = source.read_bytes()
    everything = ["--policy", f"regex:{SECRET}|[0-9]+", "-e", "3", "--vectors", str(vectors_file)]
    seen: list[int] = []
    for content in (good, good + b'{"text": "' + SECRET.encode() + b"\n", good + b"\xff"):
        source.write_bytes(content)
        for workers in ("1", "2"):
            folder = tmp_path / f"run{len(seen)}"
            folder.mkdir()
            result = sfumato(
                "privatize", source, "-o", folder / "out.jsonl", *everything,
                "--workers", workers, "--json",
            )  # fmt: skip
            seen.append(result.returncode)
            assert SECRET.encode() not in result.stdout + result.stderr
            for path in folder.rglob("*"):
                if path.is_file():
                    assert SECRET.encode() not in path.read_bytes(), path
                assert SECRET not in str(path)
    assert seen == [0, 0, 3, 3, 3, 3]


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    import subprocess

    from system.conftest import EXECUTABLE, environment

    program = (
        "import sys; from sfumato.cli.main import main; code = main(sys.argv[1:]); "
        "status = open('/proc/self/status').read(); "  # getrusage would count the parent's memory
        "print(status.split('VmHWM:')[1].split()[0]); sys.exit(code)"
    )
    peaks = []
    for size in (200, 1_400):
        source = write_jsonl(tmp_path / f"{size}.jsonl", ["few words 1 here " + "-" * 9000] * size)
        result = subprocess.run(
            [*EXECUTABLE[:2], program, "privatize", str(source), "-o", "/dev/null", "-e", "5",
             "-p", "regex:zzz"],
            capture_output=True, env=environment(), check=True,
        )  # fmt: skip
        peaks.append(int(result.stdout.split()[-1]))
    # The corpus grew by 11 MB; keeping it, or its results, would show.
    assert peaks[1] - peaks[0] < 6_000, peaks
