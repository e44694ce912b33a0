"""A text of a study before and after, to look at: only where the corpus may be shown."""

from __future__ import annotations

from dataclasses import dataclass

Marked = tuple[int, int, str]


@dataclass(frozen=True, kw_only=True, repr=False)
class Sample:
    """A document before and after a method; ``spans`` are what the policy found in it.

    Each span is where it begins and ends in ``before``, in characters, and what it was found as.
    """

    method: str
    level: float | None
    before: str
    after: str
    spans: tuple[Marked, ...] = ()

    def __repr__(self) -> str:
        # The text may be private, and turn up in a traceback.
        return f"Sample({self.method}, {len(self.before)} characters)"
