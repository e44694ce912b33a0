"""Documents whose sensitive spans are known, as generators make them and scoring needs them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from sfumato.core.errors import InvalidArgument, MalformedRecord, SfumatoError, StorageFailed
from sfumato.files.labeled_spans import gold, read_spans
from sfumato.files.lines import decode_lines
from sfumato.files.output import open_to_read
from sfumato.text.document import Document
from sfumato.text.span import Spans

__all__ = ["Labeled", "gold", "labeled_from_record", "read_labeled"]


@dataclass(frozen=True, slots=True)
class Labeled:
    """A document and its gold spans, and what kind of text it is, if that is known."""

    document: Document
    spans: Spans
    domain: str | None = None
    language: str | None = None

    def __post_init__(self) -> None:
        length = len(self.document.text)
        if any(span.end > length for span in self.spans):
            raise InvalidArgument(f"a span ends after the end of the text, at {length} characters")

    def as_record(self) -> dict[str, Any]:
        """One line of a file: id, text, the label if there is one, and spans.

        >>> Labeled(Document("Ask Zoë", "7"), Spans((gold(4, 7, "PERSON"),))).as_record()
        {'id': '7', 'text': 'Ask Zoë', 'spans': [{'start': 4, 'end': 7, 'label': 'PERSON'}]}
        """
        label = {"label": self.document.labels[0]} if self.document.labels else {}
        kinds = {"domain": self.domain, "language": self.language}
        return {
            "id": self.document.id,
            "text": self.document.text,
            **label,
            **{name: value for name, value in kinds.items() if value is not None},
            "spans": [
                {"start": span.start, "end": span.end, "label": span.label} for span in self.spans
            ],
        }


def labeled_from_record(record: Mapping[str, Any], where: str = "the record") -> Labeled:
    """Read what ``as_record`` gives; ``where`` names the record in an error ("line 3")."""
    if not isinstance(record, Mapping):
        raise MalformedRecord(f"{where} must be an object with the fields text and spans")
    text, identity, spans = record.get("text"), record.get("id"), record.get("spans")
    if not isinstance(text, str):
        raise MalformedRecord(f"{where}: the field text must be a string")
    if identity is not None and not _is_whole(identity) and not isinstance(identity, str):
        raise MalformedRecord(f"{where}: the field id must be a string, a whole number or null")
    found = read_spans(spans, len(text), where)
    label = record.get("label")
    if label is not None and not isinstance(label, str):
        raise MalformedRecord(f"{where}: the field label must be a string")
    kinds = {name: record.get(name) for name in ("domain", "language")}
    for name, value in kinds.items():
        if value is not None and not isinstance(value, str):
            raise MalformedRecord(f"{where}: the field {name} must be a string")
    labels = () if label is None else (label,)
    document = Document(text, None if identity is None else str(identity), labels=labels)
    return Labeled(document, found, **kinds)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def read_labeled(path: Path) -> Iterator[Labeled]:
    """The labeled documents of a file with JSON lines (it may be compressed)."""
    try:
        with path.open("rb") as raw, open_to_read(raw, path.suffix) as stream:
            for number, line in decode_lines(stream, "utf-8"):
                if line.strip():
                    yield labeled_from_record(_parse(line, number), f"line {number}")
    except SfumatoError:
        raise
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror or 'damaged'}") from None


def _parse(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        pass
    # Outside the except block, because the original error contains the line.
    raise MalformedRecord(f"line {number} is not valid JSON")
