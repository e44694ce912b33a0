"""Tables in other dialects: what is read off their beginning, and that every other byte stays."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.files import separated
from sfumato.files.dialect import Dialect
from sfumato.files.layout import Layout
from sfumato.text.edits import Edit, Edited

Read = Callable[..., Any]


def rewritten(content: str, change: Callable[[str], str] = str, **settings: Any) -> str:
    def edited(old: str) -> Edited:
        new = change(old)
        return Edited.of(old, [Edit(0, len(old), new)] if new != old else [])

    layout = Layout(several=True, **settings)
    return b"".join(
        chunk.rewritten([edited(one.text) for one in chunk.documents()])
        for chunk in separated.read(io.BytesIO(content.encode()), layout)
    ).decode()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_what_separates_is_read_off_the_first_row(delimiter: str) -> None:
    content = (
        delimiter.join(["id", "text", "n"]) + "\n" + delimiter.join(["1", "a b", "2.5"]) + "\n"
    )
    assert rewritten(content, lambda _: "NEW") == content.replace("a b", '"NEW"')


def test_decimal_commas_and_commas_in_text_do_not_matter() -> None:
    content = 'id;text;price\n1;"a, b; c";12,50\n2;so, it, goes;1.000,00\n'
    changed = rewritten(content, lambda old: old.upper())
    assert changed == 'id;text;price\n1;"A, B; C";12,50\n2;"SO, IT, GOES";1.000,00\n'


def test_apostrophes_quote_where_nothing_else_does() -> None:
    content = "'id','text'\n'1','it''s, so'\n"
    assert rewritten(content, str.upper) == "'id','text'\n'1','IT''S, SO'\n"
    said = 'id,text\n1,\'tis "so"\n'
    assert rewritten(said) == said


def test_without_a_header_columns_have_numbers() -> None:
    content = "1;Tom said so;12,5\n2;Ann;3,5\n"
    dialect = Dialect(header=False)
    assert rewritten(content, lambda _: "NEW", field="2", dialect=dialect) == (
        '1;"NEW";12,5\n2;"NEW";3,5\n'
    )
    assert rewritten(content, field="2", drop=("1",), dialect=dialect) == (
        "Tom said so;12,5\nAnn;3,5\n"
    )
    with pytest.raises(BadInput, match=r"no field 'text'.*\(there are 3 columns\)") as caught:
        rewritten(content, dialect=dialect)
    assert "Tom" not in str(caught.value)


def test_a_first_row_of_data_is_not_listed() -> None:
    with pytest.raises(BadInput, match=r"there are 2 columns") as caught:
        rewritten("Tom,Berlin\nAnn,Rome\n")
    assert "Tom" not in str(caught.value)
    assert "Berlin" not in str(caught.value)


def test_what_is_given_counts_and_not_the_beginning() -> None:
    content = "id;x,text\n1;2,a\n"
    changed = rewritten(content, str.upper, dialect=Dialect(delimiter=","))
    assert changed == 'id;x,text\n1;2,"A"\n'
    content = 'id,text\n1,"a\n'
    changed = rewritten(content, str.upper, dialect=Dialect(quote="none"))
    assert changed == 'id,text\n1,"A\n'


@pytest.mark.parametrize("given", [{"delimiter": ";;"}, {"delimiter": ""}, {"quote": "ab"}])
def test_a_delimiter_is_one_character(given: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument, match="must be one character"):
        Dialect(**given)  # type: ignore[arg-type]
    assert Dialect(delimiter="tab").delimiter == "\t"


CELLS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff"), max_size=8
)
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=4)


@given(ROWS, st.sampled_from(",;\t|"), st.sampled_from("\"'"), st.booleans(), st.booleans())
def test_every_other_byte_of_any_dialect_stays(
    rows: list[tuple[str, str, str]], delimiter: str, quote: str, header: bool, all_quoted: bool
) -> None:
    stream = io.StringIO()
    quoting: Any = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(stream, delimiter=delimiter, quotechar=quote, quoting=quoting)
    names = ("id", "text", "note") if header else ("1", "2", "3")
    writer.writerows([names, *rows] if header else rows)
    content = stream.getvalue()
    dialect = Dialect(delimiter=delimiter, quote=quote, header=header)
    assert rewritten(content, field=names[1], dialect=dialect) == content
    changed = rewritten(content, lambda old: f"<{old}>", field=names[1], dialect=dialect)
    parsed = list(
        csv.reader(io.StringIO(changed, newline=""), delimiter=delimiter, quotechar=quote)
    )
    assert parsed[int(header) :] == [[a, f"<{b}>", c] for a, b, c in rows]
    # The first and the last column go; what is left of a row is the literal that stood there.
    dropped = rewritten(content, field=names[1], drop=(names[0], names[2]), dialect=dialect)
    chunks = separated.read(io.BytesIO(content.encode()), layout(names[1], dialect))
    literals = [one.literal for chunk in chunks for one in chunk.records if one.text is not None]
    first = content.split(delimiter)[1] + "\r\n" if header else ""
    assert dropped == first + "".join(one + "\r\n" for one in literals)


def layout(field: str, dialect: Dialect) -> Layout:
    return Layout(field=field, dialect=dialect)


@given(ROWS.filter(bool), st.sampled_from(",;\t|"))
def test_the_dialect_of_a_quoted_table_is_found(
    rows: list[tuple[str, str, str]], delimiter: str
) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([("id", "text", "note"), *rows])
    found = Dialect().read_off(stream.getvalue(), ["text"])
    assert (found.delimiter, found.quote) == (delimiter, '"')


def test_what_arrives_live_is_handed_on_row_by_row() -> None:
    def lines() -> Any:
        yield b"id;text\n"
        yield b"1;a\n"
        raise AssertionError("nothing may be read before it is needed")

    chunks = separated.read(lines(), Layout(live=True))
    assert next(chunks).documents() == []
    assert [one.text for one in next(chunks).documents()] == ["a"]
