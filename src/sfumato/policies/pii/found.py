"""What a recognizer finds: a span before it is known that no other one holds it.

Most of what is found is also found by another rule or lies inside something larger. A plain tuple
is made much faster than a span.
"""

from __future__ import annotations

from typing import NamedTuple

from sfumato.text.span import Span


class Found(NamedTuple):
    """Characters ``start`` to ``end`` (exclusive), with the rule that found them and its reason."""

    start: int
    end: int
    label: str
    rule: str
    reason: str

    def as_span(self) -> Span:
        """The same as a span."""
        return Span(*self)
