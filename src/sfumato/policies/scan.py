"""What a policy finds in documents, one after the other, and what it adds up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from sfumato.core.display import as_html, as_lines
from sfumato.policies.policy import Policy, find_in
from sfumato.text.document import Document
from sfumato.text.span import Spans
from sfumato.text.words import Words


class Scan:
    """Documents with what was found in each; counts grow as it is gone through.

    It can be gone through once. The documents are originals: it is for their owner's eyes, and its
    representation shows counts only.

    >>> from sfumato.policies.patterns import Digits
    >>> scan = Scan(Digits(), [Document("My ID is 145572."), Document("None here.")])
    >>> [len(spans) for document, spans in scan]
    [1, 0]
    >>> scan.documents, scan.words, scan.selected
    (2, 6, 1)
    """

    def __init__(self, policy: Policy, documents: Iterable[Document]) -> None:
        self.policy = policy
        self.documents = self.words = self.selected = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self._found = find_in(policy, documents)

    def __iter__(self) -> Iterator[tuple[Document, Spans]]:
        for document, spans in self._found:
            words = Words.of(document.text)
            self.documents += 1
            self.words += len(words)
            self.selected += len(spans.select(words))
            self.counts.update((span.label, span.rule) for span in spans)
            yield document, spans

    def finish(self) -> Scan:
        """Go through what is left, for the counts."""
        for _ in self:
            pass
        return self

    def by_count(self) -> list[tuple[str, str, int]]:
        """Type, rule and number, the most frequent first."""
        ranked = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        return [(label, rule, count) for (label, rule), count in ranked]

    def __repr__(self) -> str:
        facts: list[tuple[str, object]] = [
            ("documents so far", f"{self.documents:,}"),
            ("words selected", f"{self.selected:,} of {self.words:,}"),
        ]
        return as_lines(f"Scan by {self.policy.name}", facts)

    def _repr_html_(self) -> str:
        note = f"{self.selected:,} of {self.words:,} words in {self.documents:,} documents so far"
        return as_html(
            f"Scan by {self.policy.name}", ("type", "rule", "found"), self.by_count(), [note]
        )
