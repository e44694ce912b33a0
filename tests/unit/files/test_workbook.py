"""Workbooks: cells are exchanged, and nothing of the old workbook is carried along unseen."""

from __future__ import annotations

import datetime
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.core.errors import BadInput, InvalidArgument, MalformedRecord
from sfumato.releases.release import Release

openpyxl: Any = pytest.importorskip("openpyxl")

SECRETS = (b"Miller", b"tom@web.de", b"4711")
DAY = datetime.datetime(2024, 5, 1)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A sheet with a secret in every corner, and another sheet with more of them."""
    from openpyxl.comments import Comment
    from openpyxl.worksheet.datavalidation import DataValidation

    made = openpyxl.Workbook()
    made.properties.creator = made.properties.lastModifiedBy = "Tom Miller"
    sheet = made.active
    sheet.title = "Miller's calls"
    sheet.append(["id", "note", "who", "when", "price"])
    sheet.append([1, "call Tom Miller 😀", "Tom Miller", DAY, 12.5])
    sheet.append([2, None, None, None, None])
    sheet["B2"].comment = Comment("his number is 4711", "Tom Miller")
    sheet["A2"].hyperlink = "mailto:tom@web.de"
    sheet["E2"].number_format = "0.00"
    sheet["A3"].number_format = '"Tom Miller" 0'
    sheet.oddHeader.center.text = "Tom Miller"
    valid = DataValidation(type="list", formula1='"Tom Miller,Ann"')
    sheet.add_data_validation(valid)
    valid.add("C2")
    sheet.auto_filter.ref = "A1:E3"
    sheet.auto_filter.add_filter_column(2, ["Tom Miller"])
    made.create_sheet("More").append(["Tom Miller", 4711])
    path = tmp_path / "in.xlsx"
    made.save(path)
    return path


def released(path: Path, **settings: Any) -> Release:
    given: dict[str, Any] = {"field": "note", "mechanism": "redact", "overwrite": True} | settings
    return sfumato.privatize(path, path.with_name("out.xlsx"), **given)


def rows(path: Path) -> list[tuple[Any, ...]]:
    (sheet,) = openpyxl.load_workbook(path).worksheets
    return [tuple(cell.value for cell in row) for row in sheet.iter_rows()]


def unzipped(path: Path) -> bytes:
    with zipfile.ZipFile(path) as packed:
        return b"\n".join(packed.read(name) for name in packed.namelist())


def test_named_cells_are_exchanged_and_the_others_stay(book: Path) -> None:
    release = released(book, keep="*")
    assert rows(release.path) == [
        ("id", "note", "who", "when", "price"),
        (1, "call [PERSON] 😀", "Tom Miller", DAY, 12.5),
        (2, None, None, None, None),
    ]
    sheet = openpyxl.load_workbook(release.path).active
    assert (sheet.title, sheet["E2"].number_format) == ("Sheet1", "0.00")


def test_no_corner_of_the_workbook_keeps_a_secret(book: Path) -> None:
    assert all(secret in unzipped(book) for secret in SECRETS)
    release = released(book, drop="who", keep=["id", "when", "price"])
    assert not [secret for secret in SECRETS if secret in unzipped(release.path)]
    assert release.summary["for_release"] is True
    # The twin: the workbook is loaded, its cells are exchanged, and it is saved again.
    twin = openpyxl.load_workbook(book)
    for row in twin.active.iter_rows(min_row=2):
        row[1].value = row[2].value = None
    twin.save(book.with_name("twin.xlsx"))
    content = unzipped(book.with_name("twin.xlsx"))
    assert all(secret in content for secret in SECRETS)


def test_other_columns_are_looked_at(book: Path) -> None:
    release = released(book)
    assert release.undecided == ["id", "who", "when", "price"]
    assert release.shares["who"] == 1
    assert released(book, field="*").undecided == ["id", "when", "price"]


def test_a_number_in_a_named_column_is_looked_at_too(tmp_path: Path) -> None:
    made = openpyxl.Workbook()
    for row in (["phone", "n"], [4915112345678, 1], ["none", 2]):
        made.active.append(row)
    made.save(tmp_path / "in.xlsx")
    release = released(tmp_path / "in.xlsx", field="phone", policy="digits")
    assert rows(release.path) == [("phone", "n"), ("[NUMBER]", 1), ("none", 2)]


def test_formulas_become_values_and_need_them(tmp_path: Path) -> None:
    made = openpyxl.Workbook()
    made.active.append(["note", "sum"])
    made.active.append(["a", '=CONCAT("Miller", A2)'])
    path = tmp_path / "in.xlsx"
    made.save(path)
    with pytest.raises(MalformedRecord, match="row 2 of the sheet holds a formula"):
        released(path)
    whole = path.read_bytes()
    packed, patched = zipfile.ZipFile(io.BytesIO(whole)), io.BytesIO()
    with zipfile.ZipFile(patched, "w") as again:
        for name in packed.namelist():
            content = packed.read(name)
            if name.endswith("sheet1.xml"):
                assert b"<v></v>" in content or b"<v />" in content or b"<v/>" in content
                for empty in (b"<v></v>", b"<v />", b"<v/>"):
                    content = content.replace(empty, b"<v>7</v>")
            again.writestr(name, content)
    path.write_bytes(patched.getvalue())
    release = released(path, keep="*")
    assert rows(release.path)[1] == ("a", 7)
    assert b"Miller" not in unzipped(release.path)


def test_a_text_like_a_formula_stays_a_text(tmp_path: Path) -> None:
    made = openpyxl.Workbook()
    made.active.append(["note", "n"])
    made.active.append(["x", 1])
    made.active["A2"].value = "=1+1 Tom Miller"
    made.active["A2"].data_type = "s"
    made.save(tmp_path / "in.xlsx")
    release = released(tmp_path / "in.xlsx")
    cell = openpyxl.load_workbook(release.path).active["A2"]
    assert (cell.value, cell.data_type) == ("=1+1 [PERSON]", "s")


def test_sheets_headers_and_mistakes(book: Path) -> None:
    release = released(book, sheet="More", header=False, field="1", keep="2")
    assert rows(release.path) == [("[PERSON]", 4711)]
    with pytest.raises(InvalidArgument, match="is none of 2 sheets"):
        released(book, sheet="Tom")
    with pytest.raises(BadInput, match=r"did you mean 'note'\? \(there are: id, note, who"):
        released(book, field="noet")
    damaged = book.with_name("damaged.xlsx")
    damaged.write_bytes(book.read_bytes()[:900])
    with pytest.raises(BadInput, match="not a workbook"):
        released(damaged)
    empty = book.with_name("empty.xlsx")
    openpyxl.Workbook().save(empty)
    assert released(empty).counts["documents"] == 0


def test_a_workbook_does_not_say_when_it_was_written(book: Path) -> None:
    output = released(book).path
    with zipfile.ZipFile(output) as archive:
        assert {one.date_time for one in archive.infolist()} == {(2000, 1, 1, 0, 0, 0)}
        about = archive.read("docProps/core.xml")
    properties = openpyxl.load_workbook(output).properties
    assert properties.created == properties.modified == datetime.datetime(2000, 1, 1)
    assert about.count(b"2000-01-01T00:00:00Z") == 2
