"""Baselines and levels on the command line: every format, workers, resuming, and what is said."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from system.conftest import Command, ended, write_jsonl
from system.test_resume import FINISHED, killed_in_the_middle

TEXTS = [
    "Mail Ada Lovelace at ada@example.org, or call 555-0142! 🙂",
    "No one here.",
    "",
    "ADA LOVELACE’s answer:\tno.",
]
REDACTED = [
    "Mail [PERSON] at [EMAIL], or call [PHONE]! 🙂",
    "No one here.",
    "",
    "[PERSON] answer:\tno.",
]
POLICY = ["--policy", "pii", "--policy", "regex:ADA LOVELACE", "--set", "regex.label=PERSON"]
CODE = re.compile(r"\[(\w+)-([0-9a-f]{12})\]")
MANY = [f"Order {number} of Ada Lovelace and Ngozi Okafor" for number in range(30)]  # four chunks
NAMES = r"regex:(Ada|Ngozi) \w+"  # as ``pii:person`` finds them; every worker loads less
SECRET = b"a key that nobody else has: 7f3e"
pytestmark = pytest.mark.usefixtures("small_chunks")


def write(path: Path, texts: list[str]) -> Path:
    columns = {"id": [str(n) for n in range(len(texts))], "text": texts, "n": ["1.50"] * len(texts)}
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        pq.write_table(pa.table(columns), path)
        return path
    stream = io.StringIO(newline="")
    if kind == "txt":
        stream.write("\r\n".join(texts))
    elif kind == "jsonl":
        stream.writelines(
            json.dumps(dict(zip(columns, row, strict=True))) + "\n"
            for row in zip(*columns.values(), strict=True)
        )
    else:
        writer = csv.writer(stream, delimiter="," if kind == "csv" else "\t")
        writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
    content = stream.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read(path: Path) -> list[str]:
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        table = pq.read_table(path)
        assert set(table.column("n").to_pylist()) == {"1.50"}
        return [str(text) for text in table.column("text").to_pylist()]
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    if kind == "txt":
        return text.split("\r\n")
    if kind == "jsonl":
        records = [json.loads(line) for line in text.splitlines()]
    else:
        delimiter = "," if kind == "csv" else "\t"
        records = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    assert {record["n"] for record in records} == {"1.50"}
    return [record["text"] for record in records]


def side(output: Path) -> dict[str, Any]:
    content = output.with_name(output.name + ".guarantee.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(content)
    return loaded


@pytest.mark.parametrize(
    ("suffix", "workers"),
    [("txt", "1"), ("txt.gz", "2"), ("jsonl", "1"), ("csv", "1"), ("tsv", "1"), ("parquet", "2")],
)
def test_every_format_is_redacted(
    sfumato: Command, tmp_path: Path, suffix: str, workers: str
) -> None:
    texts = [text.replace("\t", " ") for text in TEXTS] if suffix == "tsv" else TEXTS
    source, output = write(tmp_path / f"in.{suffix}", texts), tmp_path / f"out.{suffix}"
    result = sfumato(
        "privatize", source, "-o", output, *POLICY, "-m", "redact", "--workers", workers
    )
    assert result.returncode == 0, result.stderr
    expected = [text.replace("\t", " ") for text in REDACTED] if suffix == "tsv" else REDACTED
    assert read(output) == expected
    assert b"4 documents, 4 stretches replaced\nProtected: every stretch" in result.stdout
    written = side(output)
    assert written["counts"]["replaced_stretches"] == 4
    assert written["counts"]["privatized_words"] is None
    # Masks do not look at the original; of a table, nobody has decided about the other columns.
    assert (written["settings"]["epsilon"], written["for_release"]) == (
        None,
        suffix.startswith("txt"),
    )


@pytest.mark.parametrize("suffix", ["txt", "jsonl", "csv", "tsv", "parquet"])
def test_every_format_has_pseudonyms(sfumato: Command, tmp_path: Path, suffix: str) -> None:
    texts = [text.replace("\t", " ") for text in TEXTS]
    source, output = write(tmp_path / f"in.{suffix}", texts), tmp_path / f"out.{suffix}"
    result = sfumato("privatize", source, "-o", output, *POLICY, "-m", "pseudonym")
    assert result.returncode == 0, result.stderr
    after = read(output)
    assert [CODE.sub(r"[\1]", text) for text in after] == [
        text.replace("\t", " ") for text in REDACTED
    ]
    (first, _, _), (again,) = CODE.findall(after[0]), CODE.findall(after[3])
    assert first == again


def codes_in(path: Path) -> list[set[str]]:
    """The surrogates of the first and of the second name, over all documents."""
    found = [CODE.findall(text) for text in read(path)]
    assert {len(each) for each in found} == {2}
    return [{each[place][1] for each in found} for place in (0, 1)]


def test_all_workers_of_a_run_have_one_key_and_two_runs_have_two(
    sfumato: Command, tmp_path: Path
) -> None:
    source = write(tmp_path / "in.jsonl", MANY)
    options = ["--policy", NAMES, "-m", "pseudonym", "--workers", "2"]
    seen: list[set[str]] = []
    for name in ("a.jsonl", "b.jsonl"):
        result = sfumato("privatize", source, "-o", tmp_path / name, *options)
        assert result.returncode == 0, result.stderr
        first, second = codes_in(tmp_path / name)
        assert len(first) == len(second) == 1
        seen.append(first | second)
    assert len(seen[0] | seen[1]) == 4


def test_a_seed_gives_the_same_surrogates_for_any_number_of_workers_and_stamps_them(
    sfumato: Command, tmp_path: Path
) -> None:
    source = write(tmp_path / "in.jsonl", MANY)
    outputs = []
    for name, workers, seed in (("a", "1", "3"), ("b", "2", "3"), ("c", "1", "4")):
        output = tmp_path / f"{name}.jsonl"
        result = sfumato(
            "privatize", source, "-o", output, "-p", NAMES, "-m", "pseudonym",
            "--seed", seed, "--workers", workers,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert b"NOT FOR RELEASE" in result.stdout
        assert side(output)["settings"]["mechanism_settings"] == {"key": "seed"}
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_with_a_key_file_a_killed_run_goes_on_with_the_same_surrogates(
    sfumato: Command, tmp_path: Path, workers: str
) -> None:
    source, output, key = write(tmp_path / "in.jsonl", MANY), tmp_path / "out.jsonl", tmp_path / "k"
    key.write_bytes(SECRET)
    alone = ["-p", NAMES, "-m", "pseudonym", "--set", f"key_file={key}"]
    options = [*alone, "--workers", workers]
    killed_in_the_middle(["privatize", str(source), "-o", str(output), *options], output)
    before = key.stat()
    key.write_bytes(SECRET[::-1])
    refused = sfumato("privatize", source, "-o", output, *options, "--resume")
    assert refused.returncode == 4
    assert b"changed since the run began" in refused.stderr
    key.write_bytes(SECRET)
    os.utime(key, ns=(before.st_atime_ns, before.st_mtime_ns))
    resumed = sfumato("privatize", source, "-o", output, *options, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    whole = tmp_path / "whole.jsonl"
    assert sfumato("privatize", source, "-o", whole, *alone).returncode == 0
    assert output.read_bytes() == whole.read_bytes()
    assert [len(each) for each in codes_in(output)] == [1, 1]
    assert "key file" in str(side(output)["sentence"])


def test_without_one_resuming_is_refused_and_says_what_helps(
    sfumato: Command, tmp_path: Path
) -> None:
    source, output = write(tmp_path / "in.jsonl", MANY), tmp_path / "out.jsonl"
    options = ["-p", "pii:person", "-m", "pseudonym"]
    killed_in_the_middle(["privatize", str(source), "-o", str(output), *options], output)
    refused = sfumato("privatize", source, "-o", output, *options, "--resume")
    assert refused.returncode == 4
    assert b"key_file=FILE" in refused.stderr
    assert refused.stderr.count(b"\n") == 1
    assert not output.exists()
    assert sfumato("privatize", source, "-o", output, *options, "--overwrite").returncode == 0
    finished = sfumato("privatize", source, "-o", output, *options, "--resume")
    assert finished.returncode == 4
    assert b"key_file=FILE" in finished.stderr


def test_an_interrupted_run_that_cannot_go_on_leaves_nothing(tmp_path: Path) -> None:
    source, output = write(tmp_path / "in.jsonl", MANY), tmp_path / "out.jsonl"
    arguments = ["privatize", str(source), "-o", str(output), "-p", "pii:person", "-m", "pseudonym"]
    parts = output.with_name("out.jsonl.parts")
    stopped = ended(FINISHED, 1, signal.SIGINT, arguments)
    assert stopped.returncode == 130
    assert b"--resume" not in stopped.stderr
    assert not parts.exists()


def test_redaction_goes_on_without_a_key(sfumato: Command, tmp_path: Path) -> None:
    source, output = write(tmp_path / "in.jsonl", MANY), tmp_path / "out.jsonl"
    options = ["-p", "pii:person", "-m", "redact"]
    killed_in_the_middle(["privatize", str(source), "-o", str(output), *options], output)
    # What is left behind does not count the words under a mask, be it all together or by document.
    for counts in tmp_path.glob("out.jsonl.parts/0*.json"):
        left = json.loads(counts.read_bytes())["counts"]
        assert (left["words"], left["per_document"]) == (0, {})
        assert left["places"] == 2 * left["documents"] > 0
    resumed = sfumato("privatize", source, "-o", output, *options, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert side(output)["counts"]["replaced_stretches"] == 2 * len(MANY)
    assert all(text.count("[PERSON]") == 2 for text in read(output))


def test_no_key_and_no_name_leaves_by_a_side_door(sfumato: Command, tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    key = tmp_path / "keys" / "k"
    key.write_bytes(SECRET)
    source = write(tmp_path / "in.jsonl", MANY[:12])
    good, forbidden = source.read_bytes(), (b"Okafor", SECRET, SECRET.hex().encode())
    broken, unreadable = good + b'{"text": "Okafor\n', good + b"\xff"
    for number, (content, workers) in enumerate(((good, 2), (broken, 2), (unreadable, 1))):
        source.write_bytes(content)
        folder = tmp_path / f"run{number}"
        folder.mkdir()
        result = sfumato(
            "privatize", source, "-o", folder / "out.jsonl", "-p", "pii:person", "-m", "pseudonym",
            "--set", f"key_file={key}", "--workers", str(workers), "--json",
        )  # fmt: skip
        assert result.returncode == (0 if number == 0 else 3)
        written = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        for seen in (result.stdout, result.stderr, *written):
            assert not any(one in seen for one in forbidden)
        assert all(str(key).encode() not in seen for seen in written)


def test_levels_with_workers_and_a_seed(
    sfumato: Command, tmp_path: Path, vectors_file: Path
) -> None:
    source = write(tmp_path / "in.jsonl", MANY)
    options = ["--level", "2=pii:person", "--level", "50=digits", "--seed", "3"]
    options += ["--vectors", str(vectors_file)]
    outputs = []
    for name, workers in (("a", "1"), ("b", "2")):
        output = tmp_path / f"{name}.jsonl"
        result = sfumato("privatize", source, "-o", output, *options, "--workers", workers)
        assert result.returncode == 0, result.stderr
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1]
    assert b"Lovelace" not in outputs[0]
    kept = sum(text.split()[1] == str(number) for number, text in enumerate(read(output)))
    assert kept > 15, "at 50 most numbers of the vocabulary stay"
    settings = side(output)["settings"]
    assert settings["levels"] == [
        {"epsilon": 2.0, "policy": "pii(person)"},
        {"epsilon": 50.0, "policy": "digits"},
    ]
    assert b"2 for what 'pii(person)' selects, 50 for what else 'digits' does" in result.stdout


@pytest.mark.parametrize("suffix", ["txt", "jsonl", "csv", "tsv", "parquet"])
def test_levels_in_every_format(sfumato: Command, tmp_path: Path, suffix: str) -> None:
    texts = ["room 12 ask paris", "no", "", "paris 7"]
    source, output = write(tmp_path / f"in.{suffix}", texts), tmp_path / f"out.{suffix}"
    options = ["--level", "0.01=digits", "--level", "1e6=everything", "--except", "regex:ask"]
    result = sfumato("privatize", source, "-o", output, *options)
    assert result.returncode == 0, result.stderr
    after = [text.split() for text in read(output)]
    assert [after[0][0], *after[0][2:], *after[1], *after[2], after[3][0]] == [
        "room", "ask", "paris", "no", "paris",
    ]  # fmt: skip
    assert (after[0][1], after[3][1]) != ("12", "7")
    assert side(output)["counts"]["privatized_words"] == 6


def test_levels_are_resumed_with_the_same_levels_only(
    sfumato: Command, tmp_path: Path, vectors_file: Path
) -> None:
    source, output = write(tmp_path / "in.jsonl", MANY), tmp_path / "out.jsonl"
    spent = ["--seed", "3", "--vectors", str(vectors_file)]
    base = ["privatize", str(source), "-o", str(output), *spent]
    levels = ["--level", "2=pii:person", "--level", "8=regex:[0-9]+"]
    killed_in_the_middle([*base, *levels], output)
    for other in (
        ["--level", "3=pii:person", "--level", "8=regex:[0-9]+"],
        ["--level", "2=pii:person", "--level", "8=regex:[0-8]+"],
        ["--level", "2=pii:person"],
        ["--policy", "pii:person", "--epsilon", "8"],
    ):
        refused = sfumato(*base, *other, "--resume")
        assert refused.returncode == 4, other
        assert b"changed since the run began" in refused.stderr
    assert sfumato(*base, *levels, "--resume").returncode == 0
    whole = tmp_path / "whole.jsonl"
    assert sfumato("privatize", source, "-o", whole, *spent, *levels).returncode == 0
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["-m", "redact", "-e", "5"], 2, "'redact' takes no epsilon: there is no level"),
        (["-m", "pseudonym", "--unknown", "keep"], 2, "'pseudonym' uses no word vectors"),
        (["-m", "redact", "--set", "key_file=x"], 2, "unknown setting of redact 'key_file'"),
        (["-m", "pseudonym", "--set", "key_file=none"], 4, "cannot read the key from none"),
        (["-m", "pseudonym", "--set", "key_file=short"], 2, "must have 16 to 4096 bytes"),
        (["-m", "pseudonym", "--set", "key_file=."], 4, "not an ordinary file"),
        (["-m", "redact", "--level", "2=pii"], 2, "'redact' replaces whole stretches"),
        (["-m", "levels"], 2, "'levels' wraps a word mechanism: name that one"),
        (["-m", "levels", "--level", "2=pii"], 2, "'levels' wraps a word mechanism"),
        (["-m", "selective"], 2, "'selective' wraps a word mechanism"),
        (["--level", "2=pii", "--policy", "digits"], 2, "leave out --policy and --epsilon"),
        (["--level", "2=pii", "--epsilon", "5"], 2, "leave out --policy and --epsilon"),
        (["--level", "pii"], 2, "--level takes EPSILON=POLICY, such as --level 2=pii"),
        (["--level", "Zyxquorthane=3"], 2, "--level takes EPSILON=POLICY"),
        (["--level", "2="], 2, "--level takes EPSILON=POLICY"),
        (["--level", "0=pii"], 2, "epsilon=0.0 must be greater than 0"),
        (["--level", "nan=pii"], 2, "epsilon=nan must be a finite number"),
        (["--level", "2=pi"], 2, "did you mean 'pii'"),
        (["--level", "2=regex:(Zyxquorthane"], 2, "regular expression is not valid"),
        (["--level", "2=nothing"], 2, "'nothing' selects no word"),
        (["-m", "laplace"], 2, "epsilon is missing"),
    ],
)
def test_wrong_arguments(
    sfumato: Command, tmp_path: Path, arguments: list[str], code: int, complaint: str
) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ["Zyxquorthane has 12 cats"])
    (tmp_path / "short").write_bytes(b"Zyxquorthane")
    result = sfumato("privatize", source, "-o", "out.jsonl", *arguments, cwd=tmp_path)
    assert result.returncode == code, result.stderr
    text = result.stderr.decode()
    assert text.startswith("sfumato: ")
    assert text.count("\n") == 1
    assert complaint in text
    assert "Zyxquorthane" not in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "short"]


def test_a_baseline_that_finds_nothing_says_so(sfumato: Command, tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ["nothing here"])
    result = sfumato("privatize", source, "-o", tmp_path / "o.jsonl", "-m", "redact")
    assert result.returncode == 0
    assert b"warning: no word was privatized; the policy finds nothing" in result.stderr


def test_explain_show_and_list_know_them(sfumato: Command) -> None:
    text = "Ask Ada Lovelace for room 12"
    masked = sfumato("explain", text, "-m", "redact", "-p", "pii", "-p", "digits")
    assert masked.returncode == 0, masked.stderr
    assert b"Ask [PERSON] for room [NUMBER]" in masked.stdout
    assert b"stays with probability" not in masked.stdout
    coded = sfumato("explain", text, "-m", "pseudonym", "-p", "pii", "--json")
    (word,) = json.loads(coded.stdout)["words"]
    assert CODE.fullmatch(word["replacement"])
    assert word["kept"] is None
    levels = sfumato("explain", text, "--level", "2=pii", "--level", "8=digits", "--draws", "20")
    assert levels.returncode == 0, levels.stderr
    assert b"level" in levels.stdout
    assert b"stays with" in levels.stdout
    missing = sfumato("explain", text, "-m", "laplace")
    assert (missing.returncode, missing.stdout) == (2, b"")
    assert b"epsilon is missing" in missing.stderr
    for name, says in (("redact", "[PERSON]"), ("pseudonym", "key_file"), ("levels", "strictest")):
        shown = sfumato("show", name)
        assert shown.returncode == 0
        assert says.encode() in shown.stdout
        assert b"Guarantee" in shown.stdout
    names = {one["name"] for one in json.loads(sfumato("list", "mechanisms", "--json").stdout)}
    assert {"redact", "pseudonym", "levels", "selective"} <= names
