"""Where a sentence can be inserted into a text: between sentences or lines, never inside one.

A text of one line gets no line break, and a text of several lines keeps its kind of line break.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import regex

# Breaks of Unicode Standard Annex 29, so that a word that starts a line still does afterwards.
_BREAKS = r"\r\n|[\n\r\v\f\x85\u2028\u2029]"
_BLANK = r"[^\S\n\r\v\f\x85\u2028\u2029]"
_CLOSING = r"""[\p{Pe}\p{Pf}"']"""
_ABBREVIATIONS = (
    "al approx apt art ave bd blvd ca cf ch co col cpl dept dr ed eds eg est etc fig gen gov hon "
    "ie inc jr lt ltd maj messrs mme mr mrs ms mt nb no nos nr op ph pp prof pvt rd rep rev sen "
    "sgt sr st str tel vol vs jan feb mar apr jun jul aug sep sept oct nov dec bzw usw bât"
)


class Boundary(NamedTuple):
    """A position in a text, and the white space that a sentence inserted there needs around it."""

    position: int
    before: str
    after: str


def boundaries(text: str) -> list[Boundary]:
    """Every boundary of the text in increasing order; there is always one.

    >>> [boundary.position for boundary in boundaries("Ask Dr. Who. He knows!")]
    [0, 13, 22]
    """
    if not text:
        return [Boundary(0, "", "")]
    breaks = list(_break().finditer(text))
    found = {boundary.position: boundary for boundary in _between_sentences(text)}
    found |= {boundary.position: boundary for boundary in _between_lines(text, breaks)}
    # A combining mark at the start of the text would attach to a space inserted before it.
    if not _attaching().match(text):
        found[0] = Boundary(0, "", breaks[0][0] if breaks else " ")
    found[len(text)] = _end(text, breaks)
    return sorted(found.values())


def _between_sentences(text: str) -> Iterator[Boundary]:
    for match in _sentence_end().finditer(text):
        if match["stop"] is None or _closes(match, text):
            yield Boundary(match.end(), "", " ")


def _closes(match: regex.Match[str], text: str) -> bool:
    """Whether the dots of this match end a sentence rather than an abbreviation."""
    stop = match["stop"]
    if stop != ".":
        return "!" in stop or "?" in stop  # dots alone may be a pause
    found = _word_before().match(text, 0, match.start())
    if found is None:
        return True
    word, start = found[0], found.start()
    if word.isdecimal():
        # A number at the start of a line is that of a list item.
        return bool(start and not _break().fullmatch(text, start - 1, start))
    return len(word) > 1 and word.lower() not in _abbreviations()


def _between_lines(text: str, breaks: list[regex.Match[str]]) -> Iterator[Boundary]:
    start = 0
    for match in breaks:
        line = text[start : match.start()]
        start = match.end()
        # If the next line begins with a lowercase letter, the sentence was only wrapped.
        wrapped = _small().match(text, start) and line.strip() and not _ended(line)
        if start < len(text) and not wrapped:
            yield Boundary(start, "", match[0])


def _end(text: str, breaks: list[regex.Match[str]]) -> Boundary:
    if breaks and breaks[-1].end() == len(text):
        return Boundary(len(text), "", breaks[-1][0])
    if text[-1].isspace():
        return Boundary(len(text), "", "")
    last_line = text[breaks[-1].end() :] if breaks else text
    alone = breaks and not _ended(last_line)
    return Boundary(len(text), breaks[-1][0] if alone else " ", "")


def _ended(line: str) -> bool:
    """Whether a line ends with the end of a sentence."""
    stripped = line.rstrip()
    end = len(stripped)
    while end and _closing().match(stripped, end - 1):
        end -= 1
    return stripped.endswith((".", "!", "?", "…", "。", "！", "？"), 0, end)


@cache
def _abbreviations() -> frozenset[str]:
    return frozenset(_ABBREVIATIONS.split())


@cache
def _break() -> regex.Pattern[str]:
    return regex.compile(_BREAKS)


@cache
def _attaching() -> regex.Pattern[str]:
    return regex.compile(r"[\p{M}\p{Cf}]")


@cache
def _small() -> regex.Pattern[str]:
    return regex.compile(rf"{_BLANK}*+\p{{Ll}}")


@cache
def _closing() -> regex.Pattern[str]:
    return regex.compile(_CLOSING)


@cache
def _word_before() -> regex.Pattern[str]:
    return regex.compile(r"(?r)[\p{L}\p{N}\p{M}]++")


@cache
def _sentence_end() -> regex.Pattern[str]:
    # Possessive repetition and the lookbehinds keep this linear in the length of the text.
    western = (
        rf"(?<![.!?…])(?P<stop>[.!?…]++){_CLOSING}*+{_BLANK}++"
        r"""(?=[\p{Lu}\p{Lt}\p{Lo}\p{N}\p{Ps}\p{Pi}"'¿¡])"""
    )
    # Chinese and Japanese need no blank, and an apostrophe may belong to the word after it.
    eastern = rf"(?<![。！？])[。！？]++[\p{{Pe}}”]*+{_BLANK}*+(?=[\p{{L}}\p{{N}}\p{{Ps}}\p{{Pi}}])"
    return regex.compile(rf"{western}|{eastern}")
