"""Labels of pieces: every span whose borders are those of pieces comes back as it was."""

from __future__ import annotations

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.text.span import Span, Spans
from sfumato.text.tagging import bio, cut, mark, read, types_of

TEXT = "Zoë (U.S.) met Łukasz@work; 3,5 % of नमस्ते 👩‍👧 left."


def extents(spans: Spans) -> list[tuple[int, int, str]]:
    return [(one.start, one.end, one.label) for one in spans]


def test_pieces_cover_everything_that_is_no_blank() -> None:
    pieces = cut(TEXT)
    covered = {place for start, end in pieces for place in range(start, end)}
    assert {TEXT[place] for place in set(range(len(TEXT))) - covered} == {" "}
    assert "नमस्ते" in [TEXT[start:end] for start, end in pieces], "marks belong to their letters"


def test_spans_of_pieces_come_back() -> None:
    pieces, draws = cut(TEXT), Randomness.reproducible(5)
    for _ in range(200):
        edges = sorted(draws.integers(len(pieces) + 1, 6).tolist())
        chosen = [
            Span(pieces[first][0], pieces[last - 1][1], "AB"[number % 2])
            for number, (first, last) in enumerate(zip(edges[::2], edges[1::2], strict=True))
            if first < last
        ]
        wanted = Spans.of(chosen)
        assert extents(read(pieces, mark(pieces, wanted))) == extents(wanted)


def test_a_span_that_cuts_through_a_piece_takes_all_of_it() -> None:
    text = "see Lovelace!"
    found = read(cut(text), mark(cut(text), Spans.of([Span(6, 8, "A"), Span(5, 12, "B")])))
    assert extents(found) == [(4, 12, "B")], "of spans that overlap the earliest"


def test_labels_that_continue_nothing_begin_a_span() -> None:
    pieces = cut("a b c d")
    assert extents(read(pieces, ["I-X", "I-X", "I-Y", "B-Y"])) == [
        (0, 3, "X"), (4, 5, "Y"), (6, 7, "Y"),
    ]  # fmt: skip


def test_labels_are_known_by_their_types() -> None:
    assert types_of(reversed(bio(["x-y", "z"]))) == ("z", "x-y")
    for wrong in (["O", "B-x"], ["B-x", "I-x"], ["O", "x"], ["O", "O", "B-x", "I-x"]):
        with pytest.raises(InvalidArgument, match=r"must be O, and B-TYPE"):
            types_of(wrong)
