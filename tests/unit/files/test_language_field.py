"""The language of a record, as a field of it says: in every format, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.text.document import Document

ROWS = [
    {"lang": "de-AT", "text": "eins"},
    {"lang": "EN", "text": "two"},
    {"lang": "", "text": "drei"},
    {"lang": "Klingonisch", "text": "vier"},
    {"lang": "zh_Hant_TW", "text": "fünf"},
]
CODES = ["de", "en", "", "", "zh"]
SUFFIXES = ["csv", "tsv", "jsonl", "parquet", "xlsx"]


def write(path: Path) -> Path:
    match path.suffix:
        case ".parquet":
            pq.write_table(pa.Table.from_pylist(ROWS), path)
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
        case ".xlsx":
            book = Workbook()
            sheet = book.active
            for row in [list(ROWS[0]), *(list(row.values()) for row in ROWS)]:
                sheet.append(row)
            book.save(path)
        case suffix:
            with path.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, delimiter="\t" if suffix == ".tsv" else ",")
                writer.writerows([list(ROWS[0]), *(list(row.values()) for row in ROWS)])
    return path


def read(path: Path, layout: Layout) -> list[Document]:
    with Source.of(path, layout).opened() as (chunks, _):
        return [document for chunk in chunks for document in chunk.documents()]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_field_says_the_language(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"in.{suffix}")
    assert [one.language for one in read(path, Layout(language_field="lang"))] == CODES
    assert [one.language for one in read(path, Layout())] == [""] * len(CODES)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("field", ["text", "*"])
def test_a_missing_field_is_named(tmp_path: Path, suffix: str, field: str) -> None:
    path = write(tmp_path / f"in.{suffix}")
    with pytest.raises(BadInput, match="there is no field 'lng'; did you mean 'lang'"):
        read(path, Layout(language_field="lng", field=field, several=True))


def test_it_is_not_dropped_and_has_a_name() -> None:
    with pytest.raises(InvalidArgument, match="shows the language anyway"):
        Layout(language_field="lang", drop=("lang",))
    with pytest.raises(InvalidArgument, match="language_field='' must be the name"):
        Layout(language_field="")


def test_how_a_file_was_read_names_it_only_if_it_was_given(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv")
    told = Source.of(path, Layout(language_field="lang")).settings()
    assert told["language_field"] == "lang"
    assert "language_field" not in Source.of(path, Layout()).settings()
