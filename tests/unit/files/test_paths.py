"""Paths into nested records: what they mean, and that every other byte of a record stays."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato
from sfumato.core.errors import BadInput, InvalidArgument, MalformedRecord
from sfumato.files import jsonl
from sfumato.files.json_places import values_in
from sfumato.files.layout import Layout
from sfumato.files.paths import column_of, leads_to, parse_path, split_names
from sfumato.text.edits import Edit, Edited

NESTED = (
    '{ "user" : {"note":"a 1","n": 1.50e0, "n": 2}, "messages": [ {"role": "x", "content": "b 2"},'
    '\t{"content" : "c\\u00e9 \\ud83d\\ude00"} ], "a.b": "flat", "none": null }\r\n'
)


def chunks(content: str, *fields: str, **settings: Any) -> list[Any]:
    layout = Layout(field=fields, several=True, **settings)
    return list(jsonl.read(io.BytesIO(content.encode()), layout))


def texts(content: str, *fields: str, **settings: Any) -> list[str]:
    found = chunks(content, *fields, **settings)
    return [document.text for chunk in found for document in chunk.documents()]


def rewritten(
    content: str, *fields: str, change: Callable[[str], str] = str, **settings: Any
) -> str:
    def edited(old: str) -> Edited:
        new = change(old)
        return Edited.of(old, [Edit(0, len(old), new)] if new != old else [])

    return b"".join(
        chunk.rewritten([edited(one.text) for one in chunk.documents()])
        for chunk in chunks(content, *fields, **settings)
    ).decode()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("user.note", ["a 1"]),
        ("messages[].content", ["b 2", "cé 😀"]),
        ("messages[*].content", ["b 2", "cé 😀"]),
        ("messages[1].content", ["cé 😀"]),
        ("messages[7].content", []),
        ("user.*", ["a 1"]),
        ("a.b", ["flat"]),
        ('"a.b"', ["flat"]),
        ('"user"."note"', ["a 1"]),
        ("none.deeper[].still", []),
        ("*", ["a 1", "x", "b 2", "cé 😀", "flat"]),
    ],
)
def test_what_a_path_means(path: str, found: list[str]) -> None:
    assert texts(NESTED, path) == found
    assert rewritten(NESTED, path) == NESTED


def test_every_match_is_a_text_of_its_record() -> None:
    (chunk,) = chunks(NESTED * 2, "messages[].content", "user.note")
    assert chunk.texts_per_record() == [3, 3]
    changed = rewritten(NESTED, "messages[].content", "user.note", change=lambda _: "NEW")
    assert changed == (
        NESTED.replace('"a 1"', '"NEW"')
        .replace('"b 2"', '"NEW"')
        .replace('"c\\u00e9 \\ud83d\\ude00"', '"NEW"')
    )


def test_two_paths_to_one_text_are_one_text() -> None:
    assert texts(NESTED, "user.note", "user.*") == ["a 1"]


def test_an_empty_list_has_no_texts_and_a_missing_key_is_an_error() -> None:
    assert texts('{"messages": []}\n', "messages[].content") == []
    with pytest.raises(
        BadInput,
        match=r"no field 'messages.*there are: messages\[\]\.role",
    ):
        texts('{"messages": [{"role": "secret"}]}\n', "messages[].content")


@pytest.mark.parametrize(
    ("content", "path", "complaint"),
    [
        ('{"user": {"notes": "secret"}}', "user.note", "did you mean 'user.notes'"),
        ('{"user": "secret"}', "user.note", "leads through what is not an object"),
        ('{"user": {"a": "secret"}}', "user[].note", "leads through what is not a list"),
        ('{"user": {"note": {"a": "secret"}}}', "user.note", "'user.note' is not text"),
        ('{"user": {"note": 4711}}', "user.note", "'user.note' is not text"),
        ('{"u": {"n": "secret", "n": "b"}}', "u.n", "'u.n' stands there twice"),
    ],
)
def test_what_is_wrong_on_the_way_is_said_without_data(
    content: str, path: str, complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint) as caught:
        texts(content, path)
    assert "secret" not in str(caught.value)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("written", ["", ".a", "a.", "a..b", "a[", "a[x]", "a]b", '"a', "a.[0]"])
def test_what_is_no_path_is_refused(written: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a path"):
        parse_path(written)


@pytest.mark.parametrize("field", ["messages[].content", "*", "meta.*"])
def test_paths_to_several_texts_are_for_those_who_keep_records_together(field: str) -> None:
    with pytest.raises(InvalidArgument, match="only `privatize` takes several"):
        Layout(field=field)


def test_a_path_to_one_text_may_be_read_by_everybody() -> None:
    (chunk,) = jsonl.read(io.BytesIO(NESTED.encode()), Layout(field="user.note"))
    assert [one.text for one in chunk.documents()] == ["a 1"]


KEYS = st.text(st.sampled_from('ab.[]*" 1é'), max_size=3)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def leaves(
    value: Any, place: tuple[str | int, ...] = ()
) -> list[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict):
        return [one for key, inner in value.items() for one in leaves(inner, (*place, key))]
    if isinstance(value, list):
        return [one for n, inner in enumerate(value) for one in leaves(inner, (*place, n))]
    return [(place, value)]


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [mapped(inner, change) for inner in value]
    return change(value)


@given(TREES, st.sampled_from([None, 1]), st.booleans())
def test_every_value_is_found_where_it_stands(
    tree: Any, spaces: int | None, is_ascii: bool
) -> None:
    line = json.dumps(tree, ensure_ascii=is_ascii, indent=spaces)
    found = values_in(line, 0)
    plain = [one for one in found if one.kind not in ("object", "array")]
    assert [one.place for one in plain] == [place for place, _ in leaves(tree)]
    for one, (_, value) in zip(plain, leaves(tree), strict=True):
        assert line[one.start : one.end] == json.dumps(value, ensure_ascii=is_ascii)


@given(TREES, st.booleans())
def test_whole_records_keep_every_other_byte(tree: Any, is_ascii: bool) -> None:
    line = json.dumps(tree, ensure_ascii=is_ascii) + "\n"
    if any(isinstance(one, str) and not is_valid(one) for _, one in leaves(tree)):
        return
    assert rewritten(line, "*") == line
    changed = rewritten(line, "*", change=lambda _: "NEW")
    expected = mapped(tree, lambda one: "NEW" if isinstance(one, str) else one)
    assert changed == json.dumps(expected, ensure_ascii=is_ascii) + "\n"


def is_valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@given(TREES, st.data())
def test_what_is_dropped_is_gone_and_nothing_else(tree: Any, data: st.DataObject) -> None:
    whole = {"text": "old"} | tree | {"text": "old"}
    keys = [key for key in whole if key != "text"]
    gone = data.draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    names = tuple(json.dumps(key, ensure_ascii=False) for key in gone)
    assume(not whole.keys() & set(names))  # a key that is spelled like a path goes, too
    line = json.dumps(whole, ensure_ascii=False)
    kept = {key: value for key, value in whole.items() if key not in gone}
    assert rewritten(line, "text", drop=names) == json.dumps(kept, ensure_ascii=False)


@pytest.mark.parametrize(
    ("drop", "expected"),
    [
        (("user",), '{ "text": "x", "n": 1, "n": 2 , "l": [{"a": 1, "b": 2}, {"b":3}] }'),
        (("n",), '{ "user" : {"a": [1], "b":2}, "text": "x" , "l": [{"a": 1, "b": 2}, {"b":3}] }'),
        (
            ("user.a", "l[].b"),
            '{ "user" : {"b":2}, "text": "x", "n": 1, "n": 2 , "l": [{"a": 1}, {}] }',
        ),
        (
            ("user", "user.a", "l"),
            '{ "text": "x", "n": 1, "n": 2 }',
        ),
    ],
)
def test_dropping_leaves_the_rest_as_it_was(drop: tuple[str, ...], expected: str) -> None:
    line = (
        '{ "user" : {"a": [1], "b":2}, "text": "x", "n": 1, "n": 2 , '
        '"l": [{"a": 1, "b": 2}, {"b":3}] }'
    )
    assert rewritten(line, "text", drop=drop) == expected
    assert rewritten(line, "text", drop=drop, change=str.upper) == expected.replace('"x"', '"X"')


@pytest.mark.parametrize("drop", ["l[]", "l[0]", "user.*"])
def test_elements_of_a_list_cannot_be_dropped(drop: str) -> None:
    with pytest.raises(InvalidArgument, match="names a column or key"):
        rewritten('{"text": "x"}', "text", drop=(drop,))


def test_what_is_left_is_named_by_its_path() -> None:
    (chunk,) = chunks(NESTED, "messages[].content", others=True, drop=("none",), keep=("user",))
    left = [(column_of(one.place), one.text, one.kept) for one in chunk.left() if not one.is_text]
    assert left == [
        ("user.note", "a 1", "user"),
        ("user.n", "1.50e0", "user"),
        ("user.n", "2", "user"),
        ("messages[].role", "x", None),
        ('"a.b"', "flat", None),
    ]
    assert chunk.dropped() == {"none"}


def test_names_with_commas_between() -> None:
    assert split_names(["a,b", "c.d[].e"]) == ["a", "b", "c.d[].e"]
    assert split_names(['"x.y".z,b']) == ['"x.y".z', "b"]


@given(st.lists(st.text(max_size=4) | st.integers(0, 3), min_size=1, max_size=4))
def test_a_column_leads_to_its_own_values(parts: list[str | int]) -> None:
    place = ("top", *parts)
    assert leads_to(column_of(place), place)


def test_a_record_nested_ten_thousand_deep_is_refused_and_not_a_crash() -> None:
    line = '{"text": "x", "deep": ' + "[" * 500 + "1" + "]" * 500 + "}"
    assert rewritten(line, "text", others=True) == line
    with pytest.raises(BadInput, match=r"nested too deeply|not a JSON object"):
        rewritten(line.replace("[", "[" * 400).replace("]", "]" * 400), "text", others=True)


def test_a_line_of_twenty_megabytes() -> None:
    long = "many words here " * 1_250_000
    line = json.dumps({"a": {"note": long}, "n": [1, 2]})
    assert rewritten(line, "a.note", others=True) == line


def test_blanks_around_names_do_not_count(tmp_path: Path) -> None:
    assert split_names([" subject , body", ' "a, b" ']) == ["subject", "body", "a, b"]
    path = tmp_path / "in.csv"
    path.write_text("id, subject , body\n1,x,call Tom Miller\n")
    how: dict[str, Any] = {"field": ["subject", "body"], "keep": "id", "mechanism": "redact"}
    release = sfumato.privatize(path, tmp_path / "out.csv", **how)
    assert release.summary["for_release"] is True
    assert release.path.read_text() == 'id, subject , body\n1,x,"call [PERSON]"\n'


@pytest.mark.parametrize(
    ("record", "field", "shown", "hidden"),
    [
        ({"Tom Miller": 1, "Zoe": 2, "note": "x"}, "text", "note", "Tom|Zoe"),
        ({"Tom Miller": {"x": 1}}, "text", "1 whose names are not shown", "Tom"),
        ({"seen": {"Ann Smith": 1, "noteId": 2}}, "seen.who", "seen.noteId", "Ann"),
        ({"messages": [{"content": "x"}]}, "messages.content", r"write messages\[\]", "x\\b"),
    ],
)
def test_keys_that_may_be_data_are_in_no_message(
    tmp_path: Path, record: dict[str, Any], field: str, shown: str, hidden: str
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(MalformedRecord, match=shown) as caught:
        sfumato.privatize(path, tmp_path / "out.jsonl", field=field, mechanism="redact")
    assert not re.search(hidden, str(caught.value).replace(str(path), ""))


def test_an_empty_list_is_the_column_of_its_elements(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "x", "tags": []}\n{"text": "y", "tags": ["a"]}\n')
    how: dict[str, Any] = {"mechanism": "redact", "overwrite": True}
    assert sfumato.privatize(path, tmp_path / "out.jsonl", **how).undecided == ["tags[]"]
    for keep in ("tags", "tags[]"):
        kept = sfumato.privatize(path, tmp_path / "out.jsonl", keep=keep, **how)
        assert kept.summary["for_release"] is True
