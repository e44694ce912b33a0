"""What is marked before and after."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.reports.html import write_html
from sfumato.reports.page import Page
from sfumato.reports.samples import TextSample
from sfumato.reports.sections.texts import MOST_CHARACTERS, mark_after, mark_before, side_by_side
from unit.reports.reading import HOSTILE, assert_sound

WORDS = st.lists(st.sampled_from(["Ada", "Bob", "12", "no", "é", "."]), max_size=12).map(" ".join)


def sample(before: str, after: str, *spans: tuple[int, int, str]) -> TextSample:
    return TextSample(method="m", level=1.0, before=before, after=after, spans=spans)


@given(WORDS, WORDS, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=4))
def test_the_texts_are_whole(before: str, after: str, places: list[tuple[int, int]]) -> None:
    spans = [(min(one), max(one), "x") for one in places]
    made = sample(before, after, *spans)
    assert "".join(text for text, *_ in mark_before(made)) == before
    assert "".join(text for text, *_ in mark_after(made)) == after


def test_spans_that_overlap_are_marked_once() -> None:
    made = sample("Ada Lovelace", "x", (0, 12, "name"), (4, 12, "surname"), (4, 12, "other"))
    assert mark_before(made) == [("Ada Lovelace", "found", "name")]


def test_a_sensitive_word_that_stayed_is_marked_as_kept() -> None:
    made = sample("Ada met Ada", "Ada met Eve", (0, 3, "name"), (8, 11, "name"))
    assert [piece[:2] for piece in mark_after(made)] == [
        ("Ada", "kept"), (" met ", ""), ("Eve", "new"),
    ]  # fmt: skip


def test_a_word_that_lost_its_capital_is_the_same_word() -> None:
    made = sample("Ask Ada", "Ask ada", (4, 7, "name"))
    assert [piece[:2] for piece in mark_after(made)] == [("Ask ", ""), ("ada", "kept")]


def test_a_long_text_is_cut() -> None:
    long = "word " * MOST_CHARACTERS
    made = sample(long, long, (0, 4, "x"))
    for pieces in (mark_before(made), mark_after(made)):
        assert pieces[-1][0] == "…"
        assert sum(len(text) for text, *_ in pieces) <= MOST_CHARACTERS + 1


def test_hostile_text_and_labels_are_text() -> None:
    made = sample(HOSTILE, HOSTILE[::-1], (0, 20, HOSTILE))
    page = write_html(Page(kind="k", title="t", lead="", overview=[side_by_side(made)]))
    read = assert_sound(page)
    assert {one.attributes["class"] for one in read.all("mark")} == {"found", "new"}
    assert HOSTILE[:20] in [one.text for one in read.all("mark")]
