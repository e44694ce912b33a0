"""Documents, their words, and spans of characters in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.text.document import Document as Document
    from sfumato.text.edits import Edit as Edit
    from sfumato.text.edits import Edited as Edited
    from sfumato.text.span import Span as Span
    from sfumato.text.span import Spans as Spans
    from sfumato.text.span import Stretch as Stretch
    from sfumato.text.words import Words as Words
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.text.document": "Document",
            "sfumato.text.edits": "Edit Edited",
            "sfumato.text.span": "Span Spans Stretch",
            "sfumato.text.words": "Words",
        },
    )

__all__ = [
    "Document",
    "Edit",
    "Edited",
    "Span",
    "Spans",
    "Stretch",
    "Words",
]
