"""What every policy can do.

A policy is the function F of selective metric DP: it decides which words are sensitive. It may
read the whole document. What it does not find is not protected, so a policy that misses is a
policy that leaks; ``sfumato policy score`` measures how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from sfumato.core.errors import TookTooLong
from sfumato.text.document import Document
from sfumato.text.span import Spans

DOCUMENTS_AT_ONCE = 2048
CHARACTERS_AT_ONCE = 1_000_000


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


@runtime_checkable
class Batched(Policy, Protocol):
    """A policy that reads several documents at once, to be quicker and for no other reason.

    What it finds in a document does not depend on the other ones.
    """

    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        """The sensitive stretches of each document."""
        ...


def find_each(policy: Policy, documents: Sequence[Document]) -> list[Spans]:
    """What a policy finds in each of some documents, all at once if it can."""
    if isinstance(policy, Batched):
        return policy.find_many(documents)
    return [policy.find(document) for document in documents]


@contextmanager
def naming(which: str) -> Iterator[None]:
    """Say which of several policies took too long: two of them may be regular expressions."""
    try:
        yield
    except TookTooLong as error:
        raise TookTooLong(f"{which}: {error}") from None


def find_in(policy: Policy, documents: Iterable[Document]) -> Iterator[tuple[Document, Spans]]:
    """Each of many documents with what a policy finds in it, in their order.

    Documents are read as they are needed; a policy that reads several at once gets some at a time.
    """
    if not isinstance(policy, Batched):
        yield from ((document, policy.find(document)) for document in documents)
        return
    waiting: list[Document] = []
    characters = 0
    for document in documents:
        waiting.append(document)
        characters += len(document.text)
        if len(waiting) >= DOCUMENTS_AT_ONCE or characters >= CHARACTERS_AT_ONCE:
            yield from zip(waiting, policy.find_many(waiting), strict=True)
            waiting, characters = [], 0
    if waiting:
        yield from zip(waiting, policy.find_many(waiting), strict=True)
