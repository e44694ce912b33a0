"""The verb ``privatize``: flat keywords, every field that is named, a result to look at."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from sfumato.cli.main import main
from sfumato.cli.output import in_options
from sfumato.core.errors import BadInput, CannotResume, InvalidArgument, MalformedRecord
from sfumato.files import chunks
from sfumato.policies.patterns import Regex
from sfumato.releases import job as jobs
from sfumato.releases.release import Release
from sfumato.vectors.space import Space
from sfumato.verbs.privatize import privatize

ROWS: list[dict[str, str | None]] = [
    {"id": "7a", "subject": "order 12, now", "other": "12 and 34", "body": "is it 34? \"56\""},
    {"id": "7b", "subject": "no number", "other": "99", "body": "none here"},
    {"id": "7c", "subject": "", "other": "", "body": "line one\nline 78"},
]  # fmt: skip
FORMATS = ("jsonl", "csv", "tsv", "parquet")


def write(path: Path, rows: list[dict[str, str | None]] = ROWS) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        with path.open("w", newline="") as stream:
            separator = "," if path.suffix == ".csv" else "\t"
            # Tab-separated files have no quotation marks, and so no line breaks in a field.
            plain = [
                {key: (one or "").replace("\n", " ") for key, one in row.items()} for row in rows
            ]
            writer = csv.DictWriter(
                stream,
                list(rows[0]),
                delimiter=separator,
                quoting=csv.QUOTE_MINIMAL if separator == "," else csv.QUOTE_NONE,
                quotechar='"' if separator == "," else None,
            )
            writer.writeheader()
            writer.writerows(rows if separator == "," else plain)
    return path


def read(path: Path) -> list[dict[str, str | None]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return list(parquet.read_table(path).to_pylist())
    with path.open(newline="") as stream:
        if path.suffix == ".csv":
            return list(csv.DictReader(stream))
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def hides_all_named(path: Path, before: Path, fields: list[str]) -> bool:
    """Whether no digit is left in the fields, and all other fields are what they were."""
    old, new = read(before), read(path)
    hidden = not any(re.search(r"\d", row[name] or "") for row in new for name in fields)
    rest = [{key: row[key] for key in row if key not in fields} for row in old]
    return hidden and rest == [{key: row[key] for key in row if key not in fields} for row in new]


@pytest.mark.parametrize("kind", FORMATS)
def test_every_field_that_is_named_is_privatized(tmp_path: Path, kind: str) -> None:
    source, output = write(tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
    fields = ["body", "subject"]
    release = privatize(source, output, field=fields, policy="digits", mechanism="redact")
    assert hides_all_named(output, source, fields)
    assert release.counts["documents"] == 3
    assert release.counts["replaced_stretches"] == 4
    assert release.summary["settings"]["field"] == fields


def test_twin_the_last_field_alone_is_caught(tmp_path: Path) -> None:
    source, output = write(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    privatize(source, output, field="subject", policy="digits", mechanism="redact")
    assert not hides_all_named(output, source, ["body", "subject"])


@pytest.mark.parametrize("kind", FORMATS)
def test_a_record_costs_the_sum_over_its_fields(
    tmp_path: Path, small_space: Space, kind: str
) -> None:
    source = write(tmp_path / f"in.{kind}")
    both = privatize(
        source,
        tmp_path / f"both.{kind}",
        field=["subject", "body"],
        policy="digits",
        mechanism="laplace",
        epsilon=1,
        vectors=small_space,
    )
    largest = "privatized_words_in_largest_document"
    assert both.summary["per_document"][largest] == 3
    assert both.counts["privatized_words"] == 4
    one = privatize(
        source, tmp_path / f"one.{kind}", field="body", policy="digits",
        mechanism="laplace", epsilon=1, vectors=small_space,
    )  # fmt: skip
    assert one.summary["per_document"][largest] == 2
    assert one.summary["settings"]["field"] == "body"


def test_fields_without_text_are_left_as_they_are(tmp_path: Path) -> None:
    rows: list[dict[str, str | None]] = [
        {"subject": None, "body": "12"}, {"subject": None, "body": None},
        {"subject": "a", "body": None},
    ]  # fmt: skip
    for kind in ("jsonl", "parquet"):
        source, output = write(tmp_path / f"in.{kind}", rows), tmp_path / f"out.{kind}"
        release = privatize(
            source, output, field=["subject", "body"], policy="digits", mechanism="redact"
        )
        assert [row["subject"] for row in read(output)] == [None, None, "a"]
        assert [row["body"] for row in read(output)] == ["[NUMBER]", None, None]
        assert release.counts["documents"] == 2


def test_a_record_is_not_cut_in_two_and_a_run_goes_on(
    tmp_path: Path, small_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "RECORDS", 3)  # not a multiple of two fields
    rows: list[dict[str, str | None]] = [{"a": f"x {n}", "b": f"{n} y {n}"} for n in range(8)]
    source, output = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    work = jobs._privatize_chunk

    def interrupted(shared: object, item: object) -> object:
        if item[0] == 2:  # type: ignore[index]
            raise KeyboardInterrupt
        return work(shared, item)  # type: ignore[arg-type]

    def go(field: list[str], *, resume: bool) -> Release:
        return privatize(
            source, output, field=field, policy="digits", mechanism="laplace", epsilon=1,
            vectors=small_space,
            resume=resume, seed=3,
        )  # fmt: skip

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "_privatize_chunk", interrupted)
        with pytest.raises(KeyboardInterrupt):
            go(["a", "b"], resume=False)
    with pytest.raises(CannotResume, match="field changed"):
        go(["a"], resume=True)
    release = go(["a", "b"], resume=True)
    assert release.counts["documents"] == 8
    assert release.summary["per_document"]["privatized_words_in_median_document"] == 3
    assert release.reproducible
    assert repr(release).endswith("(whoever knows the seed can undo the noise)")


@pytest.mark.parametrize(
    ("field", "error", "message"),
    [
        (["body", "body"], InvalidArgument, "several different ones"),
        ([], InvalidArgument, "must name a column"),
        (["body", ""], InvalidArgument, "field='' must be the name"),
        (["body", "subjekt"], MalformedRecord, "did you mean 'subject'"),
    ],
)
def test_fields_that_cannot_be_are_refused(
    tmp_path: Path, field: list[str], error: type[Exception], message: str
) -> None:
    source = write(tmp_path / "in.jsonl")
    with pytest.raises(error, match=message):
        privatize(source, tmp_path / "o.jsonl", field=field, policy="digits", mechanism="redact")
    assert not (tmp_path / "o.jsonl").exists()


def test_plain_text_has_no_fields_and_numbers_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("12\n")
    with pytest.raises(InvalidArgument, match="txt has no fields"):
        privatize(tmp_path / "in.txt", tmp_path / "o.txt", field=["a", "b"], mechanism="redact")
    (tmp_path / "in.jsonl").write_text('{"a": "x", "b": 3}\n')
    with pytest.raises(BadInput, match="the field 'b' is not text"):
        privatize(tmp_path / "in.jsonl", tmp_path / "o.jsonl", field=["a", "b"], mechanism="redact")


def test_the_command_says_what_the_verb_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(write(tmp_path / "in.csv"))
    chosen = ["--field", "subject", "--field", "body", "--policy", "digits", "-m", "redact"]
    assert main(["privatize", source, "-o", str(tmp_path / "cli.csv"), *chosen]) == 0
    said = capsys.readouterr().out.splitlines()
    release = privatize(
        source, tmp_path / "verb.csv", field=["subject", "body"], policy="digits",
        mechanism="redact",
    )  # fmt: skip
    assert said == [in_options(line) for line in release.lines]
    assert (tmp_path / "cli.csv").read_bytes() == (tmp_path / "verb.csv").read_bytes()
    assert main(["privatize", source, "-o", str(tmp_path / "j.csv"), *chosen, "--json"]) == 0
    # By what the input is known again has a salt of its own.
    printed = json.loads(capsys.readouterr().out) | {"input": release.summary["input"]}
    assert printed == dict(release.summary)


def test_a_release_can_be_looked_at(tmp_path: Path, small_space: Space) -> None:
    folder = tmp_path / "<b>"
    folder.mkdir()
    source = write(folder / "in.jsonl")
    release = privatize(
        source, folder / "out.jsonl", field="body", policy=[Regex("is it"), "digits"],
        exclude="regex:56", mechanism="laplace", epsilon=1, vectors=small_space,
    )  # fmt: skip
    assert release.side == folder / "out.jsonl.guarantee.json"
    assert release.path.exists()
    assert release.guarantee.epsilon == 1
    assert release.summary["sentence"] in repr(release)
    assert release.counts["privatized_words"] == 4
    shown = release._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
    assert "is it" not in repr(release) + shown


def test_levels_settings_and_what_does_not_go_together(tmp_path: Path, small_space: Space) -> None:
    source = write(tmp_path / "in.jsonl")
    release = privatize(
        source, tmp_path / "l.jsonl", field="body", level=[(1, "digits"), (2, Regex("none"))],
        vectors=small_space,
    )  # fmt: skip
    assert [one["epsilon"] for one in release.summary["settings"]["levels"]] == [1, 2]
    with pytest.raises(InvalidArgument, match="leave out"):
        privatize(source, tmp_path / "m.jsonl", level=[(1, "digits")], epsilon=1)
    with pytest.raises(InvalidArgument, match="did you mean 'regions'"):
        privatize(source, tmp_path / "m.jsonl", epsilon=1, settings={"pii.region": ("DE",)})
    with pytest.raises(InvalidArgument, match="looks like csv"):
        privatize(source, tmp_path / "m.csv", epsilon=1, policy="digits")
