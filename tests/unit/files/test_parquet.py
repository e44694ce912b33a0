"""Parquet: one column is exchanged; types, nulls and the other columns stay."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.core.errors import BadInput, MissingExtra
from sfumato.files import parquet
from sfumato.files.layout import Layout
from sfumato.text.edits import Edited


def stored(table: Any) -> io.BytesIO:
    stream = io.BytesIO()
    pq.write_table(table, stream)
    stream.seek(0)
    return stream


def upper(table: Any, folder: Path) -> Any:
    parts = []
    for number, chunk in enumerate(parquet.read(stored(table), Layout())):
        part = folder / f"{number}.part"
        part.write_bytes(chunk.rewritten([Edited(one.text.upper()) for one in chunk.documents()]))
        parts.append(part)
    output = io.BytesIO()
    parquet.assemble(parts, output)
    return pq.read_table(output)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_only_the_text_changes(tmp_path: Path, kind: Any) -> None:
    table = pa.table(
        {
            "n": pa.array([1.5, None, 3e300]),
            "text": pa.array(["a", None, "é\r\n😀"], type=pa.string()).cast(kind),
            "when": pa.array([0, 1, 2], type=pa.timestamp("us")),
        }
    )
    result = upper(table, tmp_path)
    assert result.schema.equals(table.schema, check_metadata=True)
    assert result.column("text").to_pylist() == ["A", None, "É\r\n😀"]
    assert result.drop_columns(["text"]).equals(table.drop_columns(["text"]))


def test_a_dictionary_does_not_tell_how_many_texts_differed(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": pa.array(["a", "b", None, "a"])
            .dictionary_encode()
            .cast(pa.dictionary(pa.int8(), pa.string())),
            "n": [1, 2, 3, 4],
        }
    ).replace_schema_metadata({"pandas": "two categories", "made": "by hand"})
    result = upper(table, tmp_path)
    assert result.schema.field("text").type == pa.string()
    assert result.schema.metadata is None
    assert result.column("text").to_pylist() == ["A", "B", None, "A"]


def test_many_rows_come_in_chunks_and_in_order(tmp_path: Path) -> None:
    table = pa.table({"text": [f"row {number}" for number in range(10_000)]})
    assert upper(table, tmp_path).column("text").to_pylist()[-1] == "ROW 9999"
    assert len(list(parquet.read(stored(table), Layout()))) > 1


def test_a_table_without_rows_keeps_its_schema(tmp_path: Path) -> None:
    table = pa.schema([("text", pa.string()), ("n", pa.int8())]).empty_table()
    assert upper(table, tmp_path).schema.equals(table.schema)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (pa.table({"txt": ["a"]}), "did you mean 'txt'"),
        (pa.table({"text": [1]}), "the column 'text' is not text"),
    ],
)
def test_a_missing_or_wrong_column_is_named(table: Any, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        list(parquet.read(stored(table), Layout()))


def test_a_column_that_stands_there_twice_and_bytes_that_are_not_text_are_refused() -> None:
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    with pytest.raises(BadInput, match="column 'text' twice"):
        list(parquet.read(stored(twice), Layout()))
    broken = pa.array([b"secret \xff"], type=pa.binary()).view(pa.string())
    (chunk,) = parquet.read(stored(pa.table({"text": broken})), Layout())
    with pytest.raises(BadInput, match="not utf-8") as caught:
        chunk.documents()
    assert caught.value.__context__ is None


def test_something_else_is_not_a_table() -> None:
    with pytest.raises(BadInput, match="not a Parquet file"):
        list(parquet.read(io.BytesIO(b"secret" * 100), Layout()))


def test_a_missing_extra_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sfumato\[parquet\]'"):
        list(parquet.read(io.BytesIO(), Layout()))


def test_author_and_label_are_read_where_they_are_asked_for() -> None:
    table = pa.table({"text": ["a", "b", None], "who": ["ann", None, "eve"], "mood": [1, 2, 3]})
    about = Layout(author_field="who", label_field="mood")
    (chunk,) = parquet.read(stored(table), about)
    assert [(one.author, one.labels) for one in chunk.documents()] == [
        ("ann", ("1",)),
        (None, ("2",)),
    ]
    (plain,) = parquet.read(stored(table), Layout())
    assert [one.author for one in plain.documents()] == [None, None]
    with pytest.raises(BadInput, match="no field 'xyz'; `label_field=NAME` names another"):
        list(parquet.read(stored(table), Layout(label_field="xyz")))
    columns = [pa.array(["a"])] * 3
    twice = pa.Table.from_arrays(columns, names=["text", "who", "who"])
    with pytest.raises(BadInput, match="column 'who' twice"):
        list(parquet.read(stored(twice), Layout(author_field="who")))


def test_what_a_program_wrote_about_a_table_is_left_out(tmp_path: Path) -> None:
    """No policy looks there: an author's name would go out with a file that is for release."""
    secret = {"author": "Ann Smith"}
    inner = pa.struct([pa.field("x", pa.int64(), metadata=secret)])
    schema = pa.schema(
        [
            pa.field("text", pa.string(), metadata=secret),
            pa.field("n", pa.list_(pa.field("item", inner, metadata=secret)), metadata=secret),
            pa.field("m", pa.map_(pa.string(), inner), metadata=secret),
        ],
        metadata=secret,
    )
    row = {"text": "call Tom Miller", "n": [{"x": 3}], "m": [("k", {"x": 4})]}
    pq.write_table(pa.Table.from_pylist([row], schema), tmp_path / "in.parquet")
    given = {"keep": ["n", "m"], "mechanism": "redact"}
    release = sfumato.privatize(tmp_path / "in.parquet", tmp_path / "out.parquet", **given)  # type: ignore[arg-type]
    assert release.summary["for_release"] is True
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.to_pylist() == [row | {"text": "call [PERSON]"}]
    assert table.schema.equals(schema)
    content = (tmp_path / "out.parquet").read_bytes()
    assert b"Ann Smith" not in content
    stored = pq.ParquetFile(tmp_path / "out.parquet").schema_arrow
    assert "Ann" not in stored.to_string(show_field_metadata=True, show_schema_metadata=True)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_value_that_stands_in_no_row_is_not_passed_on(tmp_path: Path, ordered: bool) -> None:
    kind = pa.dictionary(pa.int8(), pa.string(), ordered)
    places = pa.array([0, None, 0], pa.int8())
    values = pa.DictionaryArray.from_arrays(places, ["open", "Tom Zanzibar"], ordered=ordered)
    table = pa.table({"text": ["a", "b", "c"], "who": values})
    assert b"Zanzibar" in stored(table).getvalue()
    result = upper(table, tmp_path)
    assert result.schema.field("who").type == kind
    assert result.column("who").to_pylist() == ["open", None, "open"]
    assert b"Zanzibar" not in b"".join(one.read_bytes() for one in tmp_path.glob("*.part"))


def nested_dictionaries() -> dict[str, Any]:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 0]), ["open", "Tom Zanzibar"])
    ends, wide = pa.array([0, 1, 2]), pa.array([0, 1, 2], pa.int64())
    lists = pa.ListArray.from_arrays(ends, values)
    return {
        "list": lists,
        "large list": pa.LargeListArray.from_arrays(wide, values),
        "structure": pa.StructArray.from_arrays([values], ["who"]),
        "list in a structure": pa.StructArray.from_arrays([lists], ["who"]),
        "map": pa.MapArray.from_arrays(ends, values, values),
    }


@pytest.mark.parametrize("inside", nested_dictionaries())
def test_a_value_of_no_row_is_not_passed_on_from_within_a_column(
    tmp_path: Path, inside: str
) -> None:
    column = nested_dictionaries()[inside]
    table = pa.table({"text": ["a", "b"], "who": column})
    assert b"Zanzibar" in stored(table).getvalue()
    result = upper(table, tmp_path)
    assert result.column("who").to_pylist() == column.to_pylist()
    assert b"Zanzibar" not in b"".join(one.read_bytes() for one in tmp_path.glob("*.part"))
