"""Gold spans go to a record and back, and a bad record is refused without being quoted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import BadInput, InvalidArgument, MalformedRecord
from sfumato.corpora.labeled import Labeled, gold, labeled_from_record
from sfumato.text.document import Document
from sfumato.text.span import Spans

PRIVATE = "Zebedee"


@st.composite
def labeled(draw: st.DrawFn) -> Labeled:
    text = draw(st.text(min_size=1))
    places = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
    spans = [gold(min(pair), max(pair), "X") for pair in draw(st.lists(places, max_size=4))]
    return Labeled(Document(text, draw(st.none() | st.text(max_size=5))), Spans.of(spans))


@given(labeled())
def test_a_record_read_back_is_the_same(example: Labeled) -> None:
    assert labeled_from_record(json.loads(json.dumps(example.as_record()))) == example


def test_an_id_may_be_missing_or_a_number() -> None:
    assert labeled_from_record({"text": "a", "spans": []}).document.id is None
    assert labeled_from_record({"text": "a", "spans": [], "id": 12}).document.id == "12"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": None}, "line 3: the field text must be a string"),
        ({"text": 7}, "line 3: the field text must be a string"),
        ({"id": [PRIVATE]}, "line 3: the field id must be"),
        ({"id": True}, "line 3: the field id must be"),
        ({"spans": None}, "line 3: the field spans must be a list"),
        ({"spans": PRIVATE}, "line 3: the field spans must be a list"),
        ({"spans": [PRIVATE]}, "line 3, span 1 must be an object"),
        ({"spans": [{"start": 0, "end": PRIVATE, "label": "X"}]}, "start and end must be whole"),
        ({"spans": [{"start": True, "end": 2, "label": "X"}]}, "start and end must be whole"),
        ({"spans": [{"start": 0.0, "end": 2, "label": "X"}]}, "start and end must be whole"),
        ({"spans": [{"start": 0, "end": 2}]}, "the label must be a string"),
        ({"spans": [{"start": 0, "end": 2, "label": ""}]}, "the label must be a string"),
        ({"spans": [{"start": 2, "end": 2, "label": PRIVATE}]}, "span 1 runs from 2 to 2"),
        ({"spans": [{"start": -1, "end": 2, "label": PRIVATE}]}, "span 1 runs from -1 to 2"),
        ({"spans": [{"start": 0, "end": 99, "label": PRIVATE}]}, "within the 16 characters"),
        ({"text": PRIVATE + "\ud800"}, "lone surrogate at character 7"),
    ],
)
def test_a_bad_record_is_named_and_never_quoted(change: dict[str, Any], message: str) -> None:
    record = {"id": PRIVATE, "text": f"my name, {PRIVATE}", "spans": []}
    with pytest.raises(BadInput, match=message) as caught:
        labeled_from_record({**record, **change}, where="line 3")
    assert PRIVATE not in str(caught.value)


def test_something_that_is_no_object_is_refused() -> None:
    with pytest.raises(MalformedRecord, match="line 9 must be an object"):
        labeled_from_record([PRIVATE], where="line 9")  # type: ignore[arg-type]


def test_a_span_beyond_the_text_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="after the end of the text, at 3 characters"):
        Labeled(Document("abc"), Spans((gold(1, 4, "X"),)))


def test_the_representation_holds_no_text() -> None:
    example = Labeled(Document(PRIVATE), Spans((gold(0, 7, "PERSON"),)))
    assert PRIVATE not in repr(example)
