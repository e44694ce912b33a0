"""What every policy can do.

A policy is the function F of selective metric DP: it decides which words are sensitive. It may
read the whole document. What it does not find is not protected, so a policy that misses is a
policy that leaks; ``sfumato policy score`` measures how much.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sfumato.corpora.documents import Document
from sfumato.corpora.spans import Spans


@runtime_checkable
class Policy(Protocol):
    """Finds what is sensitive."""

    @property
    def name(self) -> str:
        """How reports call this policy. It never holds a pattern or word a user typed."""
        ...

    def find(self, document: Document) -> Spans:
        """The sensitive stretches of a document."""
        ...
