"""Real files and live pipes, as users meet them: columns, dialects, lines as they arrive."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from system.conftest import EXECUTABLE, Command, ended, environment

REDACT = ["--policy", "pii", "--mechanism", "redact"]
LIMIT = 1200  # it hangs; a busy machine takes long, too


def side(output: Path) -> dict[str, Any]:
    content = output.with_name(output.name + ".guarantee.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(content)
    return loaded


def test_columns_are_named_with_commas_dropped_and_kept(sfumato: Command, tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("id;subject;body;who\n1;ask Tom Miller;mail tom@web.de 😀;Tom Miller\n")
    command = ["privatize", source, "-o", output, *REDACT, "--field", "subject,body"]
    result = sfumato(*command)
    assert result.returncode == 0, result.stderr
    assert b"column who: the policy finds something in 100 % of its cells" in result.stdout
    assert b"NOT FOR RELEASE YET" in result.stdout
    assert b"(--drop) or kept on purpose (--keep); left as they were: id, who" in result.stdout
    result = sfumato(*command, "--overwrite", "--drop", "who", "--keep", "id")
    assert b"NOT FOR RELEASE" not in result.stdout
    assert output.read_text() == 'id;subject;body\n1;"ask [PERSON]";"mail [EMAIL] 😀"\n'
    written = side(output)
    assert written["for_release"] is True
    assert written["settings"]["delimiter"] == ";"
    assert written["settings"]["field"] == ["subject", "body"]


def test_a_field_that_is_missing_lists_the_columns(sfumato: Command, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("id,message\n1,a\n")
    result = sfumato("privatize", source, "-o", tmp_path / "o.csv", *REDACT, "--field", "mesage")
    assert result.returncode == 3
    assert b"did you mean 'message'? (there are: id, message)" in result.stderr


def test_dialect_options(sfumato: Command, tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("1|'mail tom@web.de'|2,5\n")
    result = sfumato(
        "privatize", source, "-o", output, *REDACT, "--no-header", "--delimiter", "|",
        "--quote", "'", "--field", "2", "--keep", "*",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert output.read_text() == "1|'mail [EMAIL]'|2,5\n"
    assert side(output)["columns"]["left"][0]["name"] == "1"
    refused = sfumato("privatize", "-", "-o", "-", *REDACT, "--delimiter", "|", stdin=b"a")
    assert refused.returncode == 2
    assert b"txt has no delimiter: leave out --delimiter" in refused.stderr


def test_a_dialect_of_a_pipe_is_read_off_and_told(sfumato: Command, tmp_path: Path) -> None:
    result = sfumato(
        "privatize", "-", "-o", "-", "--format", "csv", *REDACT, "--keep", "*",
        "--guarantee", tmp_path / "g.json", stdin=b"n|text\n1|mail tom@web.de\n",
    )  # fmt: skip
    assert result.stdout == b'n|text\n1|"mail [EMAIL]"\n'
    assert json.loads((tmp_path / "g.json").read_text())["settings"]["delimiter"] == "|"


@pytest.mark.parametrize("how", [None, signal.SIGINT, signal.SIGTERM])
def test_a_line_comes_out_before_the_next_goes_in(
    tmp_path: Path, how: signal.Signals | None
) -> None:
    """Nothing here is written before what was written last has been read: waiting would hang."""
    guarantee = tmp_path / "g.json"
    with subprocess.Popen(
        [*EXECUTABLE, "privatize", "-", "-o", "-", *REDACT, "--follow", "--guarantee", guarantee],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        # A shell's & has interrupts ignored, and what is started from there inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        limit = threading.Timer(LIMIT, process.kill)
        limit.start()
        for number in range(3):
            process.stdin.write(f"line {number}: write to tom@web.de\n".encode())
            process.stdin.flush()
            assert process.stdout.readline() == f"line {number}: write to [EMAIL]\n".encode()
        process.stdin.close() if how is None else process.send_signal(how)
        assert process.stdout.read() == b""
        told = process.stderr.read()
        assert process.wait() == 0, told
        limit.cancel()
    assert b"3 documents, 3 stretches replaced" in told
    assert json.loads(guarantee.read_text())["counts"]["documents"] == 3


def test_json_lines_and_tables_arrive_live(sfumato: Command) -> None:
    for name, given, expected in (
        ("jsonl", b'{"text": "tom@web.de"}\n', b'{"text": "[EMAIL]"}\n'),
        ("csv", b"a;text\n1;tom@web.de\n", b'a;text\n1;"[EMAIL]"\n'),
    ):
        command = ["privatize", "-", "-o", "-", "--format", name, "--follow", "--keep", "*"]
        result = sfumato(*command, *REDACT, stdin=given)
        assert result.stdout == expected, result.stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["-", "-o", "out.txt"], b"from a pipe to a pipe"),
        (["in.txt", "-o", "-"], b"tail -f FILE"),
        (["-", "-o", "-", "--workers", "2"], b"leave out --workers"),
        (["-", "-o", "-", "--whole-file"], b"leave out --whole-file"),
        (["-", "-o", "-", "--format", "parquet"], b"cannot be"),
    ],
)
def test_what_cannot_be_followed_is_refused(
    sfumato: Command, tmp_path: Path, options: list[str], complaint: bytes
) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    result = sfumato("privatize", *options, *REDACT, "--follow", cwd=tmp_path)
    assert result.returncode in (2, 4)
    assert complaint in result.stderr


@pytest.mark.usefixtures("small_chunks")
def test_a_killed_run_with_nested_fields_goes_on(
    sfumato: Command, tmp_path: Path, vectors_file: Path
) -> None:
    source, whole = tmp_path / "in.jsonl", tmp_path / "whole.jsonl"
    lines = [
        {
            "who": "Tom Miller",
            "messages": [{"role": "user", "content": f"id {n}"}] * 2,
        }
        for n in range(30)
    ]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = ["-p", "digits", "-e", "5", "--seed", "3", "--field", "messages[].content"]
    options += ["--drop", "who", "--vectors", str(vectors_file)]
    killed = tmp_path / "out.jsonl"
    command = ["privatize", str(source), "-o", str(killed), *options]
    result = ended("sfumato.releases.job:_privatize_chunk", 2, signal.SIGKILL, command)
    assert result.returncode == -signal.SIGKILL
    for path in (tmp_path / "out.jsonl.parts").iterdir():
        assert b"Tom" not in path.read_bytes()
    for output, more in ((killed, ["--resume"]), (whole, [])):
        done = sfumato("privatize", source, "-o", output, *options, *more)
        assert done.returncode == 0, done.stderr
        assert b"left as they were: messages[].role" in done.stdout
    assert killed.read_bytes() == whole.read_bytes()
    assert side(killed)["columns"] == side(whole)["columns"]
    assert side(killed)["columns"]["left"] == [
        {"name": "messages[].role", "kept": False, "cells": 60, "found_in": 0}
    ]


@pytest.mark.usefixtures("small_vectors")
def test_the_report_and_attacks_read_the_field_from_the_side_file(
    sfumato: Command, tmp_path: Path
) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    rows = "".join(f"{n};call number {n} about the house;{n},5\n" for n in range(30))
    source.write_text("id;body;price\n" + rows)
    made = sfumato(
        "privatize", source, "-o", output, "--field", "body", "-p", "digits", "-e", "5",
        "-m", "exponential", "--keep", "id",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    page = tmp_path / "page.html"
    result = sfumato("report", output, "-o", page, "--originals", source, "--samples", "1")
    assert result.returncode == 0, result.stderr
    content = page.read_text()
    assert "about the house" in content
    assert "What was left as it was" in content
    assert "nobody has decided: not for release" in content
    assert "Nobody has decided about columns that were left as they were" in content
    found = sfumato("attack", "token-inference", output, "--originals", source, "--json")
    assert found.returncode == 0, found.stderr


def test_an_attack_on_several_fields_asks_for_one(sfumato: Command, tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a,b\nroom 1,room 2\n")
    sfumato("privatize", source, "-o", output, "--field", "a,b", "-p", "digits", "-e", "5")
    result = sfumato("attack", "token-inference", output, "--originals", source)
    assert result.returncode == 2
    assert b"was privatized in several texts of a record (a, b)" in result.stderr
