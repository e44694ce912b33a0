"""Labeled spans in files: words with tags, and lists of spans in JSON lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sfumato.core.errors import InvalidArgument, MalformedRecord
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.text.document import Document
from sfumato.verbs.privatize import privatize

WORDS = "-DOCSTART- -X- O O\n\nAda\tNNP\tB-PER\nLovelace\tNNP\tI-PER\n,\t,\tO\nU.S.\tNNP\tI-LOC\n"
MORE = "\n  \nBo B-PER\nZoë B-PER\nleft O"


def documents(path: Path, span_field: str | None = None) -> list[Document]:
    return list(Source.of(path, Layout(span_field=span_field)).documents())


def spans(document: Document) -> list[tuple[str, str]]:
    return [(document.text[one.start : one.end], one.label) for one in document.spans]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_words_and_tags(tmp_path: Path, ends: str) -> None:
    path = tmp_path / "notes.conll.gz"
    path.write_bytes(gzip.compress((WORDS + MORE).replace("\n", ends).encode()))
    first, second = documents(path)
    assert first.text == "Ada Lovelace , U.S."
    assert spans(first) == [("Ada Lovelace", "PER"), ("U.S.", "LOC")]
    assert (second.text, spans(second)) == ("Bo Zoë left", [("Bo", "PER"), ("Zoë", "PER")])
    assert (first.id, first.place, second.place) == ("1", "line 3", "line 9")


@pytest.mark.parametrize("line", ["Secret", "Secret Person", "Secret\tX-PER", "Secret\tB-"])
def test_a_malformed_line_is_named_and_not_quoted(tmp_path: Path, line: str) -> None:
    path = tmp_path / "notes.conll"
    path.write_text(f"Ada B-PER\n{line}\n")
    with pytest.raises(MalformedRecord, match="line 2 must have a word") as caught:
        documents(path)
    assert "Secret" not in str(caught.value)


def test_the_format_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "notes.conll"
    path.write_text(WORDS)
    with pytest.raises(InvalidArgument, match="read and not written"):
        privatize(path, tmp_path / "out.conll", epsilon=1)
    assert not (tmp_path / "out.conll").exists()


def line(**changed: object) -> str:
    own = {"text": "Ask Zoë", "marks": [{"start": 4, "end": 7, "label": "PER"}]}
    return json.dumps(own | changed) + "\n"


def test_spans_of_json_lines_are_read_if_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(line() + line(marks=[]))
    assert [spans(one) for one in documents(path, span_field="marks")] == [[("Zoë", "PER")], []]
    assert [spans(one) for one in documents(path)] == [[], []]
    assert Source.of(path, Layout(span_field="marks")).settings()["span_field"] == "marks"
    assert "span_field" not in Source.of(path, Layout()).settings()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("Secret", "field marks must be a list"),
        ([{"start": 4, "end": 8, "label": "Secret"}], "span 1 runs from 4 to 8"),
        ([{"start": 0, "end": 1, "label": "x"}, {"start": 1.5, "end": 2, "label": "x"}], "span 2"),
        (["Secret"], "span 1 must be an object"),
    ],
)
def test_spans_that_cannot_be_are_named_by_line(
    tmp_path: Path, given: object, problem: str
) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(line() + line(marks=given))
    with pytest.raises(MalformedRecord, match=f"line 2.*{problem}") as caught:
        documents(path, span_field="marks")
    assert "Secret" not in str(caught.value)


def test_a_table_has_no_spans(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("text,spans\nx,y\n")
    with pytest.raises(InvalidArgument, match="csv has no labeled spans"):
        documents(path, span_field="spans")
    path.with_suffix(".jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(MalformedRecord, match="line 1: there is no field 'spans'"):
        documents(path.with_suffix(".jsonl"), span_field="spans")
