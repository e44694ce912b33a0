"""How well the tagger of ``pii`` does on text that it was not trained on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sfumato.policies.pii.network import KINDS, Network
from sfumato.policies.pii.tagger import spans_of
from sfumato.policies.pii.tokens import Tokens
from sfumato.policies.scoring import compare_with_gold
from sfumato.text.document import Document
from sfumato.text.span import Spans
from tagger_corpus import Text


@dataclass
class Found:
    """A policy that says what was found before."""

    found: dict[str, Spans]
    name: str = "tagger"

    def find(self, document: Document) -> Spans:
        """What was found in a text."""
        return self.found[document.text]


def print_scores(network: Network, scored: dict[str, list[Text]]) -> None:
    """Recall and precision by part and kind, along the threshold."""
    for part, texts in scored.items():
        tokens = Tokens.of([text.text for text in texts])
        margins = network.score(tokens)
        for level in (1.5, 0.5, 0.0, -0.5, -1.0, -1.5, -2.0, -2.5, -3.0):
            thresholds = np.full(len(KINDS), level, dtype=np.float32)
            found = spans_of(tokens, margins, thresholds)
            print(f"{part:14} {level:5.1f} {' '.join(figures(texts, found))}")


def figures(texts: list[Text], found: Iterable[Iterable[object]]) -> list[str]:
    """Recall of each kind, and the precision of each label against all kinds."""
    by_text = {
        text.text: Spans.of(spans)  # type: ignore[arg-type]
        for text, spans in zip(texts, found, strict=True)
    }
    report = compare_with_gold(Found(by_text), (text.labeled() for text in texts))
    recall = {row.label: row for row in report.recall}
    precision = {row.label: row for row in report.precision}
    return [
        f"{kind[:3]} {recall[kind].share or 0:.3f}"
        f"@{(precision[kind].share or 0) if kind in precision else 0:.3f}"
        for kind in KINDS
        if kind in recall
    ]
