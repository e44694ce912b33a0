"""Tags in BIO: labels of the pieces of a text that say where spans begin and go on.

A piece is a run of letters, digits and marks, or any other single character that is no blank: so
every border between a word and punctuation can be the border of a span. Of a type there are two
labels, ``B-TYPE`` for the first piece of a span and ``I-TYPE`` for the others; ``O`` is outside of
all. A span that cuts through a piece takes all of it. Of spans that overlap the earliest counts,
then the longest.

>>> text = "Ask Ada Lovelace, U.S."
>>> marked = mark(cut(text), Spans.of([Span(4, 16, "PER"), Span(18, 22, "LOC")]))
>>> marked[:4], marked[4:]
(['O', 'B-PER', 'I-PER', 'O'], ['B-LOC', 'I-LOC', 'I-LOC', 'I-LOC'])
>>> [(one.start, one.end, one.label) for one in read(cut(text), marked)]
[(4, 16, 'PER'), (18, 22, 'LOC')]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

import regex

from sfumato.core.errors import InvalidArgument
from sfumato.text.span import Span, Spans

OUTSIDE = "O"
_TAG = re.compile(r"([BI])-(.+)", re.DOTALL)

Extent = tuple[int, int]


def cut(text: str) -> list[Extent]:
    """Where the pieces of a text begin and end."""
    return [match.span() for match in _pieces().finditer(text)]


@cache
def _pieces() -> regex.Pattern[str]:
    return regex.compile(r"\w++|[^\w\s]")


def bio(types: Sequence[str]) -> tuple[str, ...]:
    """The labels for some types, ``O`` first.

    >>> bio(["PER", "LOC"])
    ('O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC')
    """
    return (OUTSIDE, *(f"{letter}-{one}" for one in types for letter in "BI"))


def parts_of(label: str) -> tuple[str, str] | None:
    """The letter of a label and its type; None if it is no label.

    >>> parts_of("B-PER"), parts_of("O"), parts_of("PER")
    (('B', 'PER'), ('O', ''), None)
    """
    if label == OUTSIDE:
        return OUTSIDE, ""
    found = _TAG.fullmatch(label)
    return None if found is None else (found[1], found[2])


def types_of(labels: Iterable[str]) -> tuple[str, ...]:
    """The types that some labels are for, in their order; an error if these are not BIO."""
    known = tuple(labels)
    parts = [parts_of(one) for one in known]
    types = tuple(dict.fromkeys(one[1] for one in parts if one and one[1]))
    if None in parts or sorted(known) != sorted(bio(types)):
        raise InvalidArgument(
            f"labels of tokens must be O, and B-TYPE and I-TYPE for each type; the {len(known)} "
            "that are there are not"
        )
    return types


def mark(pieces: Sequence[Extent], spans: Spans) -> list[str]:
    """The label of every piece."""
    found = [OUTSIDE] * len(pieces)
    place = 0
    for span in spans.disjoint():
        letter = "B"
        while place < len(pieces) and pieces[place][0] < span.end:
            if pieces[place][1] > span.start:
                found[place] = f"{letter}-{span.label}"
                letter = "I"
            place += 1
    return found


def read(pieces: Sequence[Extent], labels: Sequence[str]) -> Spans:
    """The spans that labels of pieces say; an ``I`` that continues nothing begins one."""
    found: list[Span] = []
    open_ = ""
    for (start, end), label in zip(pieces, labels, strict=True):
        letter, kind = parts_of(label) or (OUTSIDE, "")
        if letter == "I" and kind == open_:
            found[-1] = Span(found[-1].start, end, kind)
        elif letter != OUTSIDE:
            found.append(Span(start, end, kind))
        open_ = kind
    return Spans(tuple(found))
