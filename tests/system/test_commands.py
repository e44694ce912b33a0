"""scan, explain, list, show, policy score, data: what a person types and gets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from system.conftest import Command, write_jsonl


def test_scan_prints_spans_as_json_with_character_offsets(sfumato: Command, tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ["😀 mail jo@example.org or 12", "nothing"])
    result = sfumato("scan", source, "--policy", "pii", "--json")
    assert result.returncode == 0, result.stderr
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert (first["id"], second) == ("d0", {"id": "d1", "spans": []})
    (span,) = (span for span in first["spans"] if span["label"] == "EMAIL")
    assert set(span) == {"start", "end", "label", "rule"}
    assert "😀 mail jo@example.org or 12"[span["start"] : span["end"]] == "jo@example.org"


def test_scan_counts_by_type_for_people(sfumato: Command, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a 1\nb [bold] 2 3\n", encoding="utf-8")
    result = sfumato("scan", tmp_path / "in.txt", "--policy", "digits")
    text = result.stdout.decode()
    assert "3 spans in 2 documents" in text
    assert "[bold]" in text
    assert "NUMBER" in text


def test_control_characters_do_not_reach_the_terminal(sfumato: Command, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"a \x1b]0;evil\x07 12\n")
    for command in (["scan", tmp_path / "in.txt", "-p", "digits"], ["explain", "-", "-e", "5"]):
        result = sfumato(*command, stdin=b"a \x1b[31m 12")
        assert result.returncode == 0
        assert b"\x1b" not in result.stdout


def test_scan_reads_a_pipe(sfumato: Command) -> None:
    result = sfumato("scan", "-", "--policy", "digits", "--json", stdin=b"a 1\nb\n")
    assert [len(json.loads(line)["spans"]) for line in result.stdout.splitlines()] == [1, 0]


def test_explain_shows_each_word(sfumato: Command) -> None:
    result = sfumato("explain", "Aspirin [red] 81 mg", "--epsilon", "5", "--draws", "50", "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert [word["original"] for word in answer["words"]] == ["Aspirin", "red", "81", "mg"]
    assert 0 <= answer["words"][0]["kept"]["value"] <= 1
    assert "For every word" in answer["sentence"]
    people = sfumato("explain", "Aspirin [red] 81 mg", "--epsilon", "5", "--draws", "50")
    assert b"Aspirin" in people.stdout
    assert b"stays with probability" in people.stdout


def test_list_and_show(sfumato: Command) -> None:
    everything = json.loads(sfumato("list", "--json").stdout)
    assert {"kind", "name", "summary"} == set(everything[0])
    names = {(one["kind"], one["name"]) for one in everything}
    assert {("mechanisms", "laplace"), ("policies", "pii"), ("vectors", "glove-6b-50d")} <= names
    shown = sfumato("show", "laplace")
    assert b"Why it holds" in shown.stdout
    assert json.loads(sfumato("show", "mechanisms/laplace", "--json").stdout)["name"] == "laplace"
    assert b"policies/digits" in sfumato("show", "digits").stdout


def test_generated_dialogues_can_be_scored(sfumato: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl.gz"
    assert sfumato("data", "customersim", "-n", "40", "-o", corpus).returncode == 0
    refused = sfumato("data", "customersim", "-n", "40", "-o", corpus)
    assert refused.returncode == 4
    result = sfumato("policy", "score", corpus, "--policy", "everything", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["recall"][-1]["label"] == "overall"
    assert report["recall"][-1]["recall"] == 1.0
    people = sfumato("policy", "score", corpus, "--policy", "pii").stdout.decode()
    assert people.index("recall") < people.index("precision")


def test_canaries_are_where_the_manifest_says(sfumato: Command, tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [f"Text {n}. More of it." for n in range(30)])
    output = tmp_path / "out.jsonl"
    result = sfumato(
        "data", "canaries", source, "-o", output, "--secret", "145572", "--secret", "000111",
        "-k", "10,3",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    manifest = json.loads((tmp_path / "out.jsonl.canaries.json").read_text())
    texts = [json.loads(line)["text"] for line in output.read_text().splitlines()]
    assert sum(text.count("My ID is 145572.") for text in texts) == 10
    assert sum(text.count("My ID is 000111.") for text in texts) == 3
    for place in manifest["places"]:
        canary = manifest["canaries"][place["canary"]]["text"]
        assert texts[place["document"]][place["start"] : place["end"]] == canary
    drawn = sfumato("data", "canaries", source, "-o", tmp_path / "x.jsonl", "-k", "2", "--json")
    assert len(json.loads(drawn.stdout)["canaries"][0]["secret"]) == 6
    labeled = tmp_path / "gold.jsonl"
    sfumato("data", "customersim", "-n", "3", "-o", labeled)
    moved = sfumato("data", "canaries", labeled, "-o", tmp_path / "z.jsonl")
    assert moved.returncode == 2
    assert b"labeled spans" in moved.stderr
    same = sfumato("data", "canaries", source, "-o", source, "--overwrite")
    assert same.returncode == 2
    for wrong in (["-k", "ten"], ["-k", "-1"], ["--template", "no gap"]):
        bad = sfumato("data", "canaries", source, "-o", tmp_path / "y.jsonl", *wrong)
        assert bad.returncode == 2, bad.stderr
        assert bad.stderr.count(b"\n") == 1


def test_vectors_are_converted_and_used(sfumato: Command, tmp_path: Path) -> None:
    rows = "".join(f"w{n} {n}.5 {-n}.25\n" for n in range(20))
    (tmp_path / "small.txt").write_text(rows)
    output = tmp_path / "small.npy"
    assert sfumato("data", "vectors", tmp_path / "small.txt", "-o", output).returncode == 0
    assert np.load(output).shape == (20, 2)
    (tmp_path / "in.txt").write_text("anything at all\n")
    for vectors in ("small.txt", "small.npy"):
        result = sfumato(
            "privatize", "in.txt", "-o", "-", "-p", "everything", "-e", "1", "--vectors", vectors,
            "-m", "laplace", cwd=tmp_path,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert all(word.startswith("w") for word in result.stdout.decode().split())
        assert b"word vectors in small" in result.stderr


def test_the_standard_output_by_its_name_is_not_emptied(tmp_path: Path) -> None:
    import subprocess

    from system.conftest import EXECUTABLE, environment

    (tmp_path / "in.txt").write_text("only words\n")
    with (tmp_path / "log").open("wb") as log:
        log.write(b"before\n")
        log.flush()
        command = ["privatize", str(tmp_path / "in.txt"), "-o", "/dev/stdout", "-p", "digits"]
        subprocess.run(
            [*EXECUTABLE, *command, "-e", "5"], stdout=log, env=environment(), check=True
        )
    assert (tmp_path / "log").read_bytes() == b"before\nonly words\n"


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    import subprocess

    from system.conftest import EXECUTABLE, environment

    (tmp_path / "in.txt").write_text("many words\n" * 300_000)
    with subprocess.Popen(
        [*EXECUTABLE, "privatize", str(tmp_path / "in.txt"), "-o", "-", "-p", "digits", "-e", "5"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        errors = process.stderr.read()
        assert process.wait() == 0
    assert errors == b""
