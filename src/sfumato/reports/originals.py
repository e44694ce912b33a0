"""A privatized file beside its originals: what was found by type, and documents to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from sfumato.attacks.text_target import policy_of
from sfumato.core.errors import BadInput, InvalidArgument, SfumatoError
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.policies.combine import Union
from sfumato.policies.policy import Policy, find_in
from sfumato.studies.samples import TextSample
from sfumato.text.document import Document
from sfumato.text.words import Words


@dataclass(frozen=True, kw_only=True)
class Showing:
    """How much private text a page may hold: ``samples`` documents of ``originals``.

    Without ``originals`` there is no private text at all; with them, but no samples, what was found
    is counted and no text is shown.
    """

    samples: int | None = None
    originals: Path | None = None
    field: str = "text"

    def __post_init__(self) -> None:
        if self.samples is not None and self.samples < 0:
            raise InvalidArgument(f"samples={self.samples} must be at least 0")
        Layout(field=self.field)  # refused even where there is nothing to read

    @property
    def source(self) -> Source | None:
        """The originals, if they were named."""
        if self.originals is None:
            return None
        return Source.of(self.originals, Layout(field=self.field))


def read_stated_policy(settings: Mapping[str, Any]) -> Policy | None:
    """The policy that a side file names; None where a pattern or a word list is not told."""
    levels = settings.get("levels")
    try:
        if isinstance(levels, list) and levels:
            return Union(tuple(policy_of(str(one["policy"])) for one in levels))
        return policy_of(str(settings.get("policy")))
    except (SfumatoError, KeyError, TypeError):
        return None


@dataclass(frozen=True, kw_only=True)
class FoundByType:
    """What a policy finds in the originals: how often each type, and how many words in all."""

    documents: int
    words: int
    by_type: Mapping[str, int]

    def agrees(self, counts: Mapping[str, Any]) -> bool:
        """Whether a release of these documents with this policy would have these counts.

        A side file names a policy, but not its patterns and settings: with others it may find
        something else, and so it does in other documents.
        """
        selected = [counts.get(name) for name in ("privatized_words", "uncovered_words")]
        words = [one for one in selected if isinstance(one, int)]
        same_words = len(words) < len(selected) or sum(words) == self.words
        return same_words and counts.get("documents") == self.documents


def find_all(policy: Policy, originals: Source) -> FoundByType:
    """Look through all originals."""
    documents, words, by_type = 0, 0, Counter[str]()
    for document, spans in find_in(policy, originals.documents()):
        documents += 1
        words += len(spans.select(Words.of(document.text)))
        by_type.update(span.label for span in spans.disjoint())
    return FoundByType(documents=documents, words=words, by_type=by_type)


def read_samples(
    privatized: Source, originals: Source, policy: Policy | None, count: int
) -> list[TextSample]:
    """The first documents before and after; a document that does not fit is named by its number."""
    return [
        TextSample(
            method="",
            level=None,
            before=before.text,
            after=after.text,
            spans=_found(policy, before),
        )
        for before, after in islice(_pairs(privatized, originals), count)
    ]


def _pairs(privatized: Source, originals: Source) -> Iterator[tuple[Document, Document]]:
    both = zip_longest(originals.documents(), privatized.documents())
    for number, (before, after) in enumerate(both, start=1):
        if before is None or after is None:
            raise BadInput(
                "the originals and the privatized text are not the same documents in the same "
                f"order: only one of them has a document {number}"
            )
        if before.id is not None and after.id is not None and before.id != after.id:
            raise BadInput(f"document {number} has another id than its original")
        yield before, after


def _found(policy: Policy | None, document: Document) -> tuple[tuple[int, int, str], ...]:
    if policy is None:
        return ()
    spans = policy.find(document).disjoint()
    return tuple((span.start, span.end, span.label) for span in spans)
