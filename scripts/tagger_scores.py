"""How well the tagger of ``pii`` does on text that it was not trained on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.network import KINDS, Network
from sfumato.policies.pii.scorer import Scorer, score_all
from sfumato.policies.pii.tagger import find_handles, spans_of
from sfumato.policies.pii.tokens import Tokens
from sfumato.policies.scoring import compare_with_gold
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans
from tagger_corpus import Text

LEVELS = tuple(number / 4 for number in range(6, -17, -1))
BETAS = (0.7, 3.0, 5.0)  # how many times as much as precision recall counts, by setting


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
        levels = (1.5, 0.5, 0.0, -0.5, -1.0, -1.5, -2.0, -2.5, -3.0)
        for level, shares in zip(levels, along(network, texts, levels), strict=True):
            print(f"{part:14} {level:5.1f} {_row(shares)}")


def choose(network: Network, held: dict[str, list[Text]]) -> NDArray[np.float32]:
    """Thresholds by setting and kind: those with the best mean F-score over the parts held out."""
    scores = np.zeros((len(BETAS), len(LEVELS), len(KINDS)))
    for part, texts in held.items():
        for row, shares in enumerate(along(network, texts, LEVELS)):
            print(f"held {part:10} {LEVELS[row]:5.2f} {_row(shares)}")
            for setting, beta in enumerate(BETAS):
                scores[setting, row] += [_f_score(beta, *share) for share in shares]
    chosen: NDArray[np.float32] = np.array(LEVELS, dtype=np.float32)[scores.argmax(axis=1)]
    print("thresholds", chosen.tolist())
    return chosen


def along(
    network: Network, texts: list[Text], levels: Iterable[float]
) -> Iterator[list[tuple[float, float]]]:
    """Recall and precision of each kind, threshold by threshold; handles count."""
    tokens = Tokens.of([text.text for text in texts])
    margins, leads = score_all(network, tokens), Scorer(network, tokens).leads
    for level in levels:
        thresholds = np.full(len(KINDS), level, dtype=np.float32)
        found = spans_of(tokens, margins, thresholds, leads)
        for text, spans in zip(texts, found, strict=True):
            spans.extend(find_handles(text.text))
        yield rates(texts, found)


def rates(texts: list[Text], found: Iterable[Iterable[Span]]) -> list[tuple[float, float]]:
    """Recall of each kind, and the precision of each label against all kinds."""
    by_text = {text.text: Spans.of(spans) for text, spans in zip(texts, found, strict=True)}
    report = compare_with_gold(Found(by_text), (text.labeled() for text in texts))
    recall = {row.label: row.share or 0.0 for row in report.recall}
    precision = {row.label: row.share or 0.0 for row in report.precision}
    return [(recall.get(kind, 0.0), precision.get(kind, 0.0)) for kind in KINDS]


def _f_score(beta: float, recall: float, precision: float) -> float:
    weight = beta * beta
    return (1 + weight) * precision * recall / ((weight * precision + recall) or 1)


def _row(shares: list[tuple[float, float]]) -> str:
    cells = zip(KINDS, shares, strict=True)
    return " ".join(
        f"{kind[:3]} {recall:.3f}@{precision:.3f}" for kind, (recall, precision) in cells
    )
