"""A document: a text and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.core.errors import UndecodableText
from sfumato.text.span import Spans


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an optional id, author and labels; immutable.

    ``language`` is an ISO 639-1 code such as "de", where it is known. ``spans`` are those that came
    with the text, if somebody labeled them. ``place`` says where it was read (``line 12``):
    messages name a document and never quote it.
    """

    text: str
    id: str | None = None
    author: str | None = None
    labels: tuple[str, ...] = ()
    language: str = field(default="", kw_only=True)
    spans: Spans = field(default=Spans(), kw_only=True, repr=False)
    place: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        try:
            # A lone surrogate is half a character: it cannot be written back byte for byte.
            if not self.text.isascii():
                self.text.encode("utf-8")
        except UnicodeEncodeError as error:
            # The original error quotes the text; ours must not, not even as its cause.
            place = error.start
        else:
            return
        raise UndecodableText(
            f"the text is not valid Unicode: lone surrogate at character {place}"
        ) from None

    def __repr__(self) -> str:
        # Documents appear in logs and tracebacks; their text must not.
        return f"Document({len(self.text)} characters)"
