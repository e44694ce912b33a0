"""Records share nothing, lose nothing unless told to, and count what they lose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties.texts import texts
from sfumato.core.errors import BadInput, InvalidArgument, UnknownName
from sfumato.models.bpe import default_tokenizer
from sfumato.text.document import Document
from sfumato.training.records import Cut, TokenRecords, make_labeled_records, make_language_records

END = 0
LONG = "The quick brown fox jumps over the lazy dog, again and again and again. " * 9
contexts = st.integers(1, 12)
authors = st.sampled_from(["ann", "bob", "cy"])


def records(found: list[str | Document], *, context: int = 8, **rules: str) -> TokenRecords:
    documents = [one if isinstance(one, Document) else Document(one) for one in found]
    return make_language_records(documents, default_tokenizer(), Cut(context=context, **rules))


def read(found: TokenRecords, record: int) -> list[int]:
    """All that a record's rows hold, put together again."""
    rows = found.rows_of(record)
    pieces = [found.inputs(row).tolist() for row in rows]
    return [token for piece in pieces for token in piece]


def expected(text: str) -> list[int]:
    return [END, *default_tokenizer().encode(text).tolist(), END] if text else []


@given(found=st.lists(texts, min_size=1, max_size=6).filter(any), context=contexts)
def test_the_rows_of_a_document_are_the_document(found: list[str], context: int) -> None:
    built = records(list(found), context=context)
    assert len(built) == len(found)
    for record, text in enumerate(found):
        whole = expected(text)
        assert read(built, record) == whole[:-1]
        labels = [token for row in built.rows_of(record) for token in built.labels(row).tolist()]
        assert labels == whole[1:], "every token but the first is predicted exactly once"
        assert default_tokenizer().decode(labels[:-1]) == text
        assert all(1 <= len(built.inputs(row)) <= context for row in built.rows_of(record))


@given(found=st.lists(texts, min_size=2, max_size=6).filter(all), context=contexts, data=st.data())
def test_removing_a_document_changes_no_other(
    found: list[str], context: int, data: st.DataObject
) -> None:
    gone = data.draw(st.integers(0, len(found) - 1))
    whole = records(list(found), context=context)
    rest = records([text for place, text in enumerate(found) if place != gone], context=context)
    before = [rows(whole, record) for record in range(len(whole)) if record != gone]
    assert before == [rows(rest, record) for record in range(len(rest))]


def rows(found: TokenRecords, record: int) -> list[tuple[list[int], list[int]]]:
    return [
        (found.inputs(row).tolist(), found.labels(row).tolist()) for row in found.rows_of(record)
    ]


def test_one_stream_cut_into_rows_would_be_noticed() -> None:
    # The twin lays all documents end to end, as most training code does.
    def stream(found: list[str]) -> list[list[int]]:
        tokens = [token for text in found for token in expected(text)]
        return [tokens[start : start + 8] for start in range(0, len(tokens), 8)]

    found = ["A first document of some length, say.", "And a second one.", LONG]
    whole, rest = stream(found), stream(found[1:])
    assert [row for row in rest if row not in whole], "the borders behind it have moved"


@given(
    found=st.lists(st.tuples(texts, authors), min_size=1, max_size=8).filter(
        lambda pairs: any(text for text, _ in pairs)
    ),
    context=contexts,
)
def test_all_documents_of_an_author_are_one_record(
    found: list[tuple[str, str]], context: int
) -> None:
    documents: list[str | Document] = [Document(text, author=author) for text, author in found]
    built = records(documents, context=context, unit="author")
    names = list(dict.fromkeys(author for _, author in found))
    assert len(built) == len(names)
    for record, name in enumerate(names):
        own = [expected(text)[:-1] for text, author in found if author == name]
        assert read(built, record) == [token for whole in own for token in whole]


def test_no_row_holds_two_documents_even_of_one_author() -> None:
    documents: list[str | Document] = [Document("a b", author="ann"), Document("c", author="ann")]
    built = records(documents, context=50, unit="author")
    assert [built.inputs(row).tolist() for row in built.rows_of(0)] == [
        expected("a b")[:-1],
        expected("c")[:-1],
    ]


def test_truncation_keeps_the_beginning_and_counts_the_rest() -> None:
    built = records(["short", LONG, LONG], long="truncate")
    whole = expected(LONG)
    assert read(built, 1) == whole[:8]
    assert built.labels(built.rows_of(1)[0]).tolist() == whole[1:9]
    counts = built.counts
    assert (counts.truncated, counts.dropped, counts.split) == (2, 2 * (len(whole) - 9), 0)
    assert "2 cut off (" in counts.summary()
    assert len(built.tokens) == len(expected("short")) + 2 * 9, "what is dropped is not kept"


def test_splitting_drops_nothing() -> None:
    built = records(["short", LONG])
    assert (built.counts.truncated, built.counts.dropped, built.counts.split) == (0, 0, 1)
    assert built.counts.tokens == len(expected("short")) + len(expected(LONG)) - 2
    assert "1 in several rows that stay one record" in built.counts.summary()


def test_an_empty_document_is_a_record_without_rows() -> None:
    built = records(["", "text", ""])
    assert len(built) == 3
    assert [len(built.rows_of(record)) for record in range(3)] == [0, 1, 0]
    assert built.predictions.tolist() == [0, len(expected("text")) - 1, 0]
    assert built.counts.empty == 2
    assert built.counts.summary() == "3 documents, 3 records, 1 rows, 2 without text"


def test_a_corpus_without_documents_or_without_text_is_refused() -> None:
    with pytest.raises(BadInput, match="holds no documents"):
        records([])
    with pytest.raises(BadInput, match="none of the 2 documents of the corpus holds any text"):
        records(["", ""])


def test_a_document_without_author_is_named_by_its_number() -> None:
    documents: list[str | Document] = [Document("fine", author="ann"), Document("SECRET")]
    with pytest.raises(BadInput, match="document 2 has no author") as caught:
        records(documents, unit="author")
    assert "SECRET" not in str(caught.value)


def test_tokens_are_kept_in_two_bytes_each() -> None:
    built = records([LONG] * 3)
    assert built.tokens.dtype == np.uint16
    assert built.tokens.nbytes == 2 * 3 * len(expected(LONG))


def test_more_documents_than_are_tokenized_at_a_time() -> None:
    found = [f"document {number}" for number in range(1100)]
    built = records(list(found))
    assert len(built) == 1100
    assert all(
        read(built, record) == expected(found[record])[:-1] for record in (0, 511, 512, 1099)
    )


def test_what_is_printed_holds_no_tokens() -> None:
    secret = default_tokenizer().encode("zebra").tolist()
    built = records(["zebra"])
    assert not any(str(token) in repr(built) for token in secret)


def test_a_classifiers_row_is_the_document_with_its_label() -> None:
    documents = [Document("good film", labels=("good",)), Document(LONG, labels=("bad",))]
    cut = Cut(context=8, long="truncate")
    built = make_labeled_records(documents, default_tokenizer(), cut, ("bad", "good"))
    assert built.classes is not None
    assert built.classes.tolist() == [1, 0]
    assert built.inputs(0).tolist() == default_tokenizer().encode("good film").tolist()
    assert len(built.inputs(1)) == 8
    assert (built.counts.truncated, built.counts.dropped) == (1, len(expected(LONG)) - 2 - 8)
    assert built.predictions.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("labels", "problem"), [((), "no label"), (("SECRET",), "a label that is none of the classes")]
)
def test_a_missing_or_unknown_label_is_named_by_its_number(
    labels: tuple[str, ...], problem: str
) -> None:
    documents = [Document("fine", labels=("good",)), Document("text", labels=labels)]
    cut = Cut(context=8, long="truncate")
    with pytest.raises(BadInput, match=rf"document 2 has {problem} \(bad, good\)") as caught:
        make_labeled_records(documents, default_tokenizer(), cut, ("bad", "good"))
    assert "SECRET" not in str(caught.value)


def test_a_classifier_does_not_split_documents() -> None:
    with pytest.raises(InvalidArgument, match="take long='truncate'"):
        make_labeled_records([Document("x")], default_tokenizer(), Cut(context=8), ("a", "b"))


def test_rules_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="context=0"):
        Cut(context=0)
    with pytest.raises(UnknownName, match="did you mean 'author'"):
        Cut(context=8, unit="autor")
    with pytest.raises(UnknownName, match="did you mean 'truncate'"):
        Cut(context=8, long="truncat")
