"""How good is a policy? Recall first: what it misses stands in the clear.

A gold span counts as found when all its words are selected, whatever label the policy gave them,
because selection is what protects. ``partly`` counts spans of which only some words are: the rest
can be read, so they are misses too. Precision says how much was selected without need. How well
the borders agree (exactly, in overlap, by characters) is counted beside (``agreement``).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, tee
from typing import Any

from sfumato.core.display import as_html, as_lines, interval
from sfumato.corpora.labeled import Labeled
from sfumato.policies.agreement import OVERALL, Agreement, Agreements
from sfumato.policies.policy import Policy, find_in
from sfumato.statistics.intervals import wilson
from sfumato.text.span import Span, Spans
from sfumato.text.words import Words


@dataclass(frozen=True, slots=True)
class Recall:
    """Of the gold spans of one label: how many are found whole, and how many in part."""

    label: str
    gold: int
    found: int
    partly: int

    @property
    def share(self) -> float | None:
        """Found among gold; nothing when there is no gold."""
        return self.found / self.gold if self.gold else None

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Wilson's interval for the share."""
        return wilson(self.found, self.gold, confidence)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        low, high = self.interval()
        return {
            "label": self.label,
            "recall": self.share,
            "low": low,
            "high": high,
            "found": self.found,
            "partly": self.partly,
            "gold": self.gold,
        }


@dataclass(frozen=True, slots=True)
class Precision:
    """Of the spans a policy gave one label: how many touch a gold span."""

    label: str
    predicted: int
    right: int

    @property
    def share(self) -> float | None:
        """Right among predicted; nothing when there is no prediction."""
        return self.right / self.predicted if self.predicted else None

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Wilson's interval for the share."""
        return wilson(self.right, self.predicted, confidence)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        low, high = self.interval()
        return {
            "label": self.label,
            "precision": self.share,
            "low": low,
            "high": high,
            "right": self.right,
            "predicted": self.predicted,
        }


@dataclass(frozen=True, slots=True, repr=False)
class PolicyScores:
    """What scoring a policy gave: one row per label, and one over all."""

    policy: str
    documents: int
    words: int
    selected: int
    recall: tuple[Recall, ...]
    precision: tuple[Precision, ...]
    agreement: tuple[Agreement, ...] = ()

    def __repr__(self) -> str:
        whole = self.overall_recall
        facts: list[tuple[str, object]] = [
            ("recall", interval(whole.share or 0.0, *whole.interval()) if whole.gold else "–"),
            ("words selected", f"{self.selected:,} of {self.words:,}"),
        ]
        return as_lines(f"Scores of {self.policy} in {self.documents:,} documents", facts)

    def _repr_html_(self) -> str:
        rows = [
            (one.label, "–" if one.share is None else interval(one.share, *one.interval()),
             f"{one.found:,}", f"{one.gold:,}")
            for one in (*self.recall, self.overall_recall)
        ]  # fmt: skip
        heads = ("type", "recall (95 %)", "found", "gold")
        return as_html(f"Scores of {self.policy}", heads, rows)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "policy": self.policy,
            "documents": self.documents,
            "words": self.words,
            "selected": self.selected,
            "recall": [row.as_dict() for row in (*self.recall, self.overall_recall)],
            "precision": [row.as_dict() for row in (*self.precision, self.overall_precision)],
            "agreement": [row.as_dict() for row in self.agreement],
        }

    @property
    def overall_recall(self) -> Recall:
        """All gold spans together."""
        rows = self.recall
        return Recall(
            OVERALL,
            sum(row.gold for row in rows),
            sum(row.found for row in rows),
            sum(row.partly for row in rows),
        )

    @property
    def overall_precision(self) -> Precision:
        """All predicted spans together."""
        rows = self.precision
        return Precision(
            OVERALL, sum(row.predicted for row in rows), sum(row.right for row in rows)
        )


def compare_with_gold(policy: Policy, documents: Iterable[Labeled]) -> PolicyScores:
    """Compare what a policy finds with labeled spans.

    A gold span without any word (an emoji, say) is left out: there is nothing to select in it.
    """
    gold_counts: Counter[str] = Counter()
    found: Counter[str] = Counter()
    partly: Counter[str] = Counter()
    predicted_counts: Counter[str] = Counter()
    right: Counter[str] = Counter()
    agreements = Agreements()
    texts = words_read = words_selected = 0
    read, compared = tee(documents)
    found_spans = find_in(policy, (labeled.document for labeled in read))
    for labeled, (document, predicted) in zip(compared, found_spans, strict=True):
        agreements.add(labeled, predicted)
        gold, words = labeled.spans, Words.of(document.text)
        selected = predicted.select(words)
        texts, words_read = texts + 1, words_read + len(words)
        words_selected += len(selected)
        for span, count, total in _select_in(gold, words, selected):
            gold_counts[span.label] += 1
            found[span.label] += count == total
            partly[span.label] += 0 < count < total
        reaches = _Reaches.of(gold)
        for span in predicted:
            predicted_counts[span.label] += 1
            right[span.label] += reaches.touch(span)
    return PolicyScores(
        policy=policy.name,
        documents=texts,
        words=words_read,
        selected=words_selected,
        recall=tuple(
            Recall(label, gold_counts[label], found[label], partly[label])
            for label in sorted(gold_counts)
        ),
        precision=tuple(
            Precision(label, predicted_counts[label], right[label])
            for label in sorted(predicted_counts)
        ),
        agreement=agreements.rows(),
    )


def _select_in(gold: Spans, words: Words, selected: list[int]) -> Iterator[tuple[Span, int, int]]:
    """Each gold span that has words, with how many of them are selected and how many it has."""
    for span in gold:
        first = bisect_left(words.ends, span.start + 1)
        last = bisect_left(words.starts, span.end)
        if first < last:
            count = bisect_left(selected, last) - bisect_left(selected, first)
            yield span, count, last - first


@dataclass(frozen=True, slots=True)
class _Reaches:
    """Spans by their starts, with how far any span up to here reaches."""

    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, spans: Spans) -> _Reaches:
        starts = [span.start for span in spans]
        return cls(starts, list(accumulate((span.end for span in spans), max)))

    def touch(self, span: Span) -> bool:
        """Whether any of the spans shares a character with this one."""
        before = bisect_right(self.starts, span.end - 1)
        return before > 0 and self.ends[before - 1] > span.start
