"""Labeled spans as a record has them: a list of ``{"start", "end", "label"}``, in characters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from sfumato.core.errors import MalformedRecord
from sfumato.text.span import Span, Spans


def gold(start: int, end: int, label: str) -> Span:
    """A span that is known by construction or by annotation, not found by a policy."""
    return Span(start, end, label, "gold", "given with the text")


def read_spans(given: Any, length: int, where: str, field: str = "spans") -> Spans:
    """The spans of a text of so many characters; ``where`` names the record in an error."""
    if not isinstance(given, list | tuple):
        raise MalformedRecord(f"{where}: the field {field} must be a list")
    return Spans.of(
        _read_one(span, length, f"{where}, span {number}")
        for number, span in enumerate(given, start=1)
    )


def _read_one(span: Any, length: int, where: str) -> Span:
    # Neither text nor label is quoted: a label in the wrong column may be private text.
    if not isinstance(span, Mapping):
        raise MalformedRecord(f"{where} must be an object with start, end and label")
    start, end, label = span.get("start"), span.get("end"), span.get("label")
    if not _is_whole(start) or not _is_whole(end):
        raise MalformedRecord(f"{where}: start and end must be whole numbers")
    if not isinstance(label, str) or not label:
        raise MalformedRecord(f"{where}: the label must be a string and not empty")
    if not 0 <= start < end <= length:
        raise MalformedRecord(
            f"{where} runs from {start} to {end}; it must lie within the {length} characters "
            "of the text and not be empty"
        )
    return gold(start, end, label)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
