"""Long texts in pieces, and what was found in the pieces back in its place.

A piece ends after a sentence or line if it can, else after white space, else where it is full. A
run of characters without white space is cut after a thousand of them: a tokenizer takes time that
grows with the square of such a run, and a line of brackets must not hold up a corpus. So a name is
cut in two only where nobody could read one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sfumato.corpora.boundaries import boundaries
from sfumato.corpora.spans import Span, Spans

LONGEST_RUN = 1_000


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of text number ``owner``, from its character ``start`` on."""

    owner: int
    start: int
    text: str = field(repr=False)


def in_pieces(texts: Sequence[str], longest: int) -> list[Piece]:
    """The texts in pieces of at most so many characters; together they are the texts."""
    return [
        Piece(owner, start, text[start:end])
        for owner, text in enumerate(texts)
        for first, last in _without_long_runs(text)
        for start, end in _cuts(text, first, last, longest)
    ]


def grouped(pieces: Sequence[Piece], most: int) -> Iterator[list[Piece]]:
    """The pieces in groups, each of at most so many characters or of one piece."""
    group: list[Piece] = []
    characters = 0
    for piece in pieces:
        if group and characters + len(piece.text) > most:
            yield group
            group, characters = [], 0
        group.append(piece)
        characters += len(piece.text)
    if group:
        yield group


def joined(pieces: Sequence[Piece], found: Iterable[Iterable[Span]], texts: int) -> list[Spans]:
    """What was found in each piece as what was found in each text."""
    together: list[list[Span]] = [[] for _ in range(texts)]
    for piece, spans in zip(pieces, found, strict=True):
        together[piece.owner] += (
            replace(span, start=span.start + piece.start, end=span.end + piece.start)
            for span in spans
        )
    return [Spans.of(spans) for spans in together]


def _without_long_runs(text: str) -> Iterator[tuple[int, int]]:
    """The text in parts, none of which has a long run of characters without white space."""
    reached = 0
    for run in re.finditer(r"\S+", text):
        for cut in range(run.start() + LONGEST_RUN, run.end(), LONGEST_RUN):
            yield reached, cut
            reached = cut
    yield reached, len(text)


def _cuts(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Where each piece of a part of the text begins and ends.

    >>> list(_cuts("One. Two three. Four", 0, 20, 12))
    [(0, 5), (5, 16), (16, 20)]
    """
    if end - start > longest:
        positions = (boundary.position for boundary in boundaries(text[start:end]))
        between = [start, *(start + position for position in positions)]
        while end - start > longest:
            full = start + longest
            last = between[bisect_right(between, full) - 1]
            cut = last if last > start else _after_space(text, start, full)
            yield start, cut
            start = cut
    yield start, end


def _after_space(text: str, start: int, full: int) -> int:
    """Behind the last white space of the piece, or its full length if there is none."""
    return next((end for end in range(full, start, -1) if text[end - 1].isspace()), full)
