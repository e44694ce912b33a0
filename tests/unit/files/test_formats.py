"""Whatever is not exchanged comes back byte for byte, in every format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import BadInput, InvalidArgument, MalformedRecord, UndecodableText
from sfumato.files import jsonl, separated
from sfumato.files import lines as text
from sfumato.files.layout import Layout
from sfumato.text.edits import Edit, Edited
from sfumato.text.words import Words

Read = Callable[..., Any]
READERS: dict[str, Read] = {
    "txt": text.read,
    "jsonl": jsonl.read,
    "csv": separated.read,
    "tsv": separated.read_tabs,
}
UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def rewritten(
    read: Read, content: bytes, change: Callable[[str], str] = str, layout: Layout | None = None
) -> bytes:
    def edited(old: str) -> Edited:
        new = change(old)
        return Edited.of(old, [Edit(0, len(old), new)] if new != old else [])

    chunks = read(io.BytesIO(content), layout or Layout())
    return b"".join(
        chunk.rewritten([edited(document.text) for document in chunk.documents()])
        for chunk in chunks
    )


def texts(read: Read, content: bytes, layout: Layout | None = None) -> list[str]:
    chunks = read(io.BytesIO(content), layout or Layout())
    return [document.text for chunk in chunks for document in chunk.documents()]


@given(content=st.binary(max_size=80))
def test_any_bytes_are_given_back_or_refused_with_the_place(content: bytes) -> None:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(UndecodableText, match=f"at byte {error.start} "):
            rewritten(text.read, content)
    else:
        assert rewritten(text.read, content) == content


@given(UNICODE)
def test_a_whole_file_is_one_document(content: str) -> None:
    layout = Layout(whole_file=True)
    assert texts(text.read, content.encode(), layout) == [content]
    assert rewritten(text.read, content.encode(), layout=layout) == content.encode()


def test_every_kind_of_line_end_stays() -> None:
    content = b"\xef\xbb\xbfone\r\ntwo\rstill two\n\n\x85three\xe2\x80\xa8".replace(b"\x85", b"")
    assert rewritten(text.read, content) == content
    assert rewritten(text.read, b"a\r\nb\nc", str.upper) == b"A\r\nB\nC"


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=4).filter(lambda key: key != "text"),
            st.none() | st.integers() | st.floats() | UNICODE | st.lists(st.booleans()),
            max_size=3,
        ),
        max_size=4,
    ),
    UNICODE,
    st.booleans(),
)
def test_json_records_keep_everything_but_the_text(
    records: list[dict[str, Any]], new: str, ascii_only: bool
) -> None:
    lines = [json.dumps(record | {"text": "old"}, ensure_ascii=ascii_only) for record in records]
    content = "\n".join(lines).encode()
    assert rewritten(jsonl.read, content) == content
    replaced = rewritten(jsonl.read, content, lambda _: new).decode()
    # "old" stands in each line once as the last value, so this is what must have happened.
    expected = "\n".join(line[: line.rindex('"old"')] + json.dumps(new) + "}" for line in lines)
    same_spelling = replaced == expected
    same_meaning = [json.loads(line, parse_float=str) for line in replaced.split("\n") if line] == [
        json.loads(line, parse_float=str) for line in expected.split("\n") if line
    ]
    assert same_spelling or same_meaning


def test_json_numbers_keep_all_their_digits_and_white_space_stays() -> None:
    content = (
        b'{ "n" : 1.00000000000000000001e-400 ,\t"text":"a 1", "big": 12345678901234567890123 }\r\n'
    )
    assert rewritten(jsonl.read, content, str.upper) == content.replace(b"a 1", b"A 1")


def test_json_text_that_did_not_change_keeps_its_escapes() -> None:
    content = b'{"text": "caf\\u00e9 \\/ \\ud83d\\ude00"}\n'
    assert rewritten(jsonl.read, content) == content
    assert (
        json.loads(rewritten(jsonl.read, content, lambda text: text + "!"))["text"] == "café / 😀!"
    )


def test_json_null_text_and_empty_lines_pass() -> None:
    content = b'\n{"text": null}\n  \n{"text": "zz"}'
    assert rewritten(jsonl.read, content, str.upper) == content.replace(b"zz", b"ZZ")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'{"text": "secret"', "line 2 is not a JSON object"),
        (b'["secret"]', "line 2 is not a JSON object"),
        (b'{"text": "secret"} more', "Extra data"),
        (b'{"txt": "secret"}', "line 2: there is no field 'text'; did you mean 'txt'"),
        (b'{"the 4 secrets": 1}', "line 2: there is no field 'text'; `field=NAME` names another"),
        (b'{"text": 5, "a": "secret"}', "line 2: the field 'text' is not text"),
        (b'{"text": "secret", "text": "b"}', "line 2: the field 'text' stands there twice"),
        (b'{"text": "secret \\ud800"}', "line 2: the text is not valid Unicode"),
        (b'{"text": "secret \xff"}', "not valid utf-8 at byte 32 [(]line 2[)]"),
        (b'{"text": ' + b"[" * 100_000 + b'"secret"', "line 2 is not a JSON object"),
    ],
)
def test_a_malformed_json_line_is_named_and_not_quoted(line: bytes, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint) as caught:
        rewritten(jsonl.read, b'{"text": "ok"}\n' + line)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(caught.value.__cause__) + repr(caught.value.__context__)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_text_with_wide_letters_is_named_with_a_way_out(encoding: str) -> None:
    with pytest.raises(BadInput, match=f"looks like {encoding.upper()}.*iconv -f") as caught:
        rewritten(text.read, "a secret\n".encode(encoding))
    assert "secret" not in str(caught.value)


ROWS = st.lists(st.tuples(UNICODE, UNICODE, UNICODE), min_size=1, max_size=4)


@given(ROWS, st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_rows_read_as_the_standard_library_reads_them(
    rows: list[tuple[str, str, str]], quoting: int
) -> None:
    cleaned = [
        tuple(cell.replace("\0", "").replace("\r", "").lstrip("\ufeff") for cell in row)
        for row in rows
    ]
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(["id", "text", "note"])
    writer.writerows(cleaned)
    content = stream.getvalue().encode()
    read = separated.read
    assert rewritten(read, content) == content
    assert texts(read, content) == [row[1] for row in cleaned]
    marked = rewritten(read, content, lambda text: f'<{text}>,"\t').decode()
    parsed = list(csv.reader(io.StringIO(marked, newline="")))
    expected = [[a, f'<{b}>,"\t', c] for a, b, c in cleaned]
    assert parsed[1:] == expected


def test_quotes_in_tab_separated_files_are_ordinary() -> None:
    content = b'id\ttext\n1\t"Hi" she said\n2\troom "12\r\n'
    assert texts(separated.read_tabs, content) == ['"Hi" she said', 'room "12']
    assert rewritten(separated.read_tabs, content, str.upper) == (
        b'id\ttext\n1\t"HI" SHE SAID\n2\tROOM "12\r\n'
    )


def test_quotes_inside_a_bare_field_are_ordinary() -> None:
    content = b'id,text\n1,5" pipe\n2,"six"" pipe"\n'
    assert texts(separated.read, content) == ['5" pipe', 'six" pipe']
    assert rewritten(separated.read, content) == content


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"id,txt\n1,secret", "did you mean 'txt'[?] [(]there are: id, txt[)]"),
        (b"secrets,txt\n1,2", "did you mean column 2[?] [(]there are 2 columns[)]"),
        (b"secret,other\n1,2", "there is no field 'text'"),
        (b"id,text\n1,a\nsecret", "line 3 has 1 field, the first row has 2"),
        (b'id,text\n1,"secret', "line 2: a quotation mark is opened and never closed"),
        (b'id,text\n1,"secret"x', "line 2: something follows a closing quotation mark"),
        (b"text,text\na,secret", "names the column 'text' twice"),
    ],
)
def test_a_malformed_table_is_named_and_not_quoted(content: bytes, complaint: str) -> None:
    with pytest.raises(MalformedRecord, match=complaint) as caught:
        rewritten(separated.read, content)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_an_empty_file_is_an_empty_corpus(name: str) -> None:
    assert rewritten(READERS[name], b"") == b""


def test_other_encodings_come_back_in_their_encoding() -> None:
    layout = Layout(encoding="cp1252")
    content = "café 12 €\r\n".encode("cp1252")
    assert rewritten(text.read, content, layout=layout) == content
    replaced = rewritten(text.read, content, lambda text: text.replace("12", "ł"), layout)
    assert replaced == "café ? €\r\n".encode("cp1252")


@pytest.mark.parametrize(
    ("encoding", "complaint"),
    [
        ("utf-9", "did you mean 'utf_7'|did you mean 'utf-8'"),
        ("utf-16", "convert the file"),
        ("rot13", "not an encoding of text"),
        ("base64", "not an encoding of text"),
    ],
)
def test_encodings_that_do_not_work_are_refused(encoding: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Layout(encoding=encoding)


FRAMES = {
    "txt": ("é 1/2 %s, end\n", ["london", "Zoë", "1,350", "paris"]),
    "jsonl": (
        '{"n":1.0,"text":"caf\\u00E9 1\\/2 %s \\ud83d\\ude00 \\" end"}\n',
        ["london", "Zoë", "Zo\\u00eb", "\\u006condon", "paris"],
    ),
    "csv": ('id,text\n1,say "hi" %s now\n', ["london", "Zoë", "paris"]),
    "csv quoted": ('id,text\n1,"owes, %s"\n', ["london", "1,350", "paris"]),
    "tsv": ("id\ttext\n1\tsay %s now\n", ["london", "Zoë", "paris"]),
}


def exchanged(read: Read, content: str, replacement: str) -> bytes:
    """The file after the third word of its only text was exchanged."""
    (chunk,) = read(io.BytesIO(content.encode()), Layout())
    (document,) = chunk.documents()
    words = Words.of(document.text)
    place = len(words) - 2 if "end" in words or "now" in words else len(words) - 1
    result: bytes = chunk.rewritten([words.replaced([place], [replacement])])
    return result


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("replacement", ["london", "café", "naïve"])
def test_how_the_output_is_spelled_tells_nothing_about_the_original(
    name: str, replacement: str
) -> None:
    """The original that came out again and every other one must give the same bytes."""
    frame, originals = FRAMES[name]
    read = READERS[name.split(maxsplit=1)[0]]
    outputs = {exchanged(read, frame % original, replacement) for original in originals}
    assert len(outputs) == 1
    # The twin: the spelling is kept where nothing changed. Some original must give it away.
    twins = {
        rewritten(read, (frame % original).encode(), lambda old: old.replace("paris", "london"))
        for original in ("london", "paris")
    }
    assert (len(twins) == 1) is (name in ("txt", "tsv") or "quoted" in name)


def test_an_edit_leaves_every_other_escape_as_it_was() -> None:
    content = '{"text":"caf\\u00E9 1\\/2 x \\ud83d\\ude00 \\" end"}\n'
    assert exchanged(jsonl.read, content, "y") == content.replace(" x ", " y ").encode()


def test_rows_that_need_quotation_marks_for_the_old_word_do_not_show_it() -> None:
    quoted, bare = 'id,text\n1,"owes 1,350 now"\n', "id,text\n1,owes 1350 now\n"
    assert exchanged(separated.read, quoted, "x") == exchanged(separated.read, bare, "x")


@given(UNICODE, st.data())
def test_edits_of_a_json_string_are_made_in_place(content: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(content)), min_size=2, max_size=2)))
    edited = Edited.of(content, [Edit(places[0], places[1], 'né"w')])
    for ascii_only in (True, False):
        literal = json.dumps(content, ensure_ascii=ascii_only)
        assert json.loads(jsonl.spell(literal, edited)) == edited.text


def test_chunks_end_in_the_same_places_whatever_is_done_with_them() -> None:
    content = b"".join(b"%d some words here\n" % number for number in range(20_000))
    first = [len(chunk.records) for chunk in text.read(io.BytesIO(content), Layout())]
    second = [len(chunk.records) for chunk in text.read(io.BytesIO(content), Layout())]
    assert first == second
    assert len(first) > 1


ABOUT = Layout(author_field="who", label_field="mood")


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (
            jsonl.read,
            '{"text": "a", "who": "ann", "mood": 1}\n{"text": "b", "who": null, "mood": "x"}\n',
        ),
        (separated.read, 'who,text,mood\nann,a,1\n,b,"x"\n'),
        (separated.read_tabs, "mood\ttext\twho\n1\ta\tann\nx\tb\t\n"),
    ],
)
def test_author_and_label_are_read_where_they_are_asked_for(read: Any, content: str) -> None:
    (chunk,) = read(io.BytesIO(content.encode()), ABOUT)
    first, second = chunk.documents()
    assert (first.author, first.labels) == ("ann", ("1",))
    assert (second.author, second.labels) == (None, ("x",))
    (plain,) = read(io.BytesIO(content.encode()), Layout())
    assert [one.author for one in plain.documents()] == [None, None]


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (jsonl.read, '{"text": "a", "secret-name": "ann", "mood": "x"}\n'),
        (separated.read, "text,secret-name,mood\na,ann,x\n"),
    ],
)
def test_a_missing_author_field_is_an_error_that_quotes_nothing(read: Any, content: str) -> None:
    with pytest.raises(MalformedRecord, match="there is no field 'who'") as caught:
        list(read(io.BytesIO(content.encode()), ABOUT))
    assert "ann" not in str(caught.value)


@pytest.mark.parametrize(
    ("read", "content", "complaint"),
    [
        (
            jsonl.read,
            '{"text": "ann", "xyz": 1, "mood": 2}',
            "'who'; `author_field=NAME` names another",
        ),
        (jsonl.read, '{"text": "ann", "who": 1, "moo": 2}', "'mood'; did you mean 'moo'"),
        (
            jsonl.read,
            '{"text": "a", "who": "ann", "who": "b", "mood": 1}',
            "'who' stands there twice",
        ),
        (
            jsonl.read,
            '{"text": "a", "who": ["ann"], "mood": 1}',
            "'who' is neither text nor a number",
        ),
        (separated.read, "text,xyz,mood\nann,1,2\n", "'who'; `author_field=NAME` names another"),
        (separated.read, "text,who,moo\nann,1,2\n", "'mood'; did you mean 'moo'"),
        (separated.read, "text,who,mood,who\na,ann,2,b\n", "the column 'who' twice"),
        (
            separated.read_tabs,
            "text\twho\tzzz\nann\t1\t2\n",
            "'mood'; `label_field=NAME` names another",
        ),
    ],
)
def test_what_is_wrong_with_author_or_label_is_said_by_the_name_of_its_option(
    read: Any, content: str, complaint: str
) -> None:
    with pytest.raises(MalformedRecord, match=complaint) as caught:
        list(read(io.BytesIO(content.encode()), ABOUT))
    assert "ann" not in str(caught.value)


@pytest.mark.parametrize("name", ["field", "author_field", "label_field"])
def test_a_field_needs_a_name(name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name}='' must be the name"):
        Layout(**{name: ""})  # type: ignore[arg-type]
