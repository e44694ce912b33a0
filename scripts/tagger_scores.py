"""How well the tagger of ``pii`` does on text that it was not trained on.

    python scripts/tagger_scores.py RESOURCES --treebanks FOLDER --teacher-test TEST.jsonl.gz
        [--pipeline FOLDER] [--weights tagger.npz --curve]

prints recall at precision of ``pii`` for each setting and part that is only ever scored, as the
table in ``docs/policies.md`` has them; with ``--pipeline`` also those of a spaCy pipeline. Then it
says of what was called a person, place or organization how much touches a name of that very kind.
With ``--curve`` it prints those of the tagger alone along its threshold, for any weights.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from label_with_teacher import UNNEEDED, label
from sfumato.corpora.labeled import gold
from sfumato.policies.pii.detector import RECALLS, Pii
from sfumato.policies.pii.network import KINDS, Network, load_network
from sfumato.policies.pii.scorer import Scorer, score_all
from sfumato.policies.pii.tagger import find_handles, spans_of
from sfumato.policies.pii.tokens import Tokens
from sfumato.policies.scoring import compare_with_gold
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans
from tagger_corpus import LINK, SCORED, Text, read_labeled_lines, read_named, read_tagged

LEVELS = tuple(number / 4 for number in range(6, -17, -1))
TICKETS = Path(__file__).parents[1] / "tests" / "data" / "tickets.jsonl"
BETA = 0.7  # how many times as much as precision recall counts where it shall be low
# The share of the names held out that is found otherwise, by kind, as a mean over kinds of text.
TARGETS = ((0.96, 0.91, 0.84), (0.97, 0.92, 0.88))


@dataclass
class Found:
    """A policy that says what was found before."""

    found: dict[str, Spans]
    name: str = "tagger"

    def find(self, document: Document) -> Spans:
        """What was found in a text."""
        return self.found[document.text]


def read_scored(resources: Path, treebanks: Path, teacher_test: Path) -> dict[str, list[Text]]:
    """The parts that are only ever scored."""
    folder = resources / "data" / "ner"
    scored = {part: read_tagged(folder / f"{part}.conll.gz") for part in SCORED}
    scored["web"] = list(read_named(treebanks / "en_ewt-ud-test.iob2"))
    scored["wikitext-test"] = read_labeled_lines(teacher_test)
    scored["tickets"] = read_labeled_lines(TICKETS)
    return scored


def print_settings(scored: dict[str, list[Text]]) -> None:
    """Recall and precision of ``pii`` by part, kind and setting.

    Section b labels some handles and leaves out others like them, so precision is told twice.
    """
    for part, texts in scored.items():
        for recall in RECALLS:
            found = Pii(recall=recall).find_many([Document(text.text) for text in texts])
            fewer = map(_without_unlabeled_handles, texts, found)
            print(f"{part:14} {recall:8} {_row(rates(texts, found))}", end="  ")
            print(f"or without unlabeled handles {_row(rates(texts, fewer)[:1])}", end="  ")
            print(f"of that kind {_of_that_kind(texts, found)}", flush=True)


def print_pipeline(path: Path, scored: dict[str, list[Text]]) -> None:
    """The same for a spaCy pipeline, by part."""
    import spacy

    pipeline = spacy.load(path, disable=UNNEEDED)
    for part, texts in scored.items():
        found = [
            [gold(*span) for span in spans]
            for spans in label(pipeline, [text.text for text in texts])
        ]
        print(f"{part:14} {'spaCy':8} {_row(rates(texts, found))}", end="  ")
        print(f"of that kind {_of_that_kind(texts, found)}", flush=True)


def _of_that_kind(texts: list[Text], found: Iterable[Iterable[Span]]) -> str:
    """For each kind how much of what was called so touches a name that is labeled so."""
    called, right = Counter[str](), Counter[str]()
    for text, spans in zip(texts, found, strict=True):
        for span in spans:
            called[span.label] += 1
            right[span.label] += any(
                start < span.end and span.start < end and kind == span.label
                for start, end, kind in text.spans
            )
    return " ".join(f"{kind[:3]} {right[kind]}/{called[kind]}" for kind in KINDS)


def _without_unlabeled_handles(text: Text, spans: Iterable[Span]) -> list[Span]:
    return [
        span for span in spans
        if span.rule != "person-handle"
        or any(start < span.end and span.start < end for start, end, _ in text.spans)
    ]  # fmt: skip


def print_scores(network: Network, scored: dict[str, list[Text]]) -> None:
    """Recall and precision by part and kind, along the threshold."""
    for part, texts in scored.items():
        levels = (1.5, 0.5, 0.0, -0.5, -1.0, -1.5, -2.0, -2.5, -3.0)
        for level, shares in zip(levels, along(network, texts, levels), strict=True):
            print(f"{part:14} {level:5.1f} {_row(shares)}")


def choose(network: Network, held: dict[str, list[Text]]) -> NDArray[np.float32]:
    """Thresholds by setting and kind, by the parts held out.

    For low recall those with the best mean F-score, else the highest ones at which enough is found.
    """
    f_scores, found = np.zeros((2, len(LEVELS), len(KINDS)))
    for part, texts in held.items():
        for row, shares in enumerate(along(network, texts, LEVELS)):
            print(f"held {part:10} {LEVELS[row]:5.2f} {_row(shares)}")
            f_scores[row] += [_f_score(BETA, *share) for share in shares]
            found[row] += [recall / len(held) for recall, _ in shares]
    found[-1] = 1  # the lowest threshold is the last one to take
    rows = [f_scores.argmax(axis=0), *((found >= targets).argmax(axis=0) for targets in TARGETS)]
    chosen: NDArray[np.float32] = np.array(LEVELS, dtype=np.float32)[np.stack(rows)]
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
            spans.extend(one.as_span() for one in find_handles(text.text))
        yield rates(texts, map(_outside, texts, found))


def _outside(text: Text, spans: list[Span]) -> list[Span]:
    """Without what lies inside a web address or a handle, as ``pii`` leaves it out."""
    handles = [(span.start, span.end) for span in spans if span.rule == "person-handle"]
    wider = [*handles, *(match.span() for match in LINK.finditer(text.text))]
    return [
        span for span in spans
        if not any(
            start <= span.start and span.end <= end and span.end - span.start < end - start
            for start, end in wider
        )
    ]  # fmt: skip


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
    cells = zip(KINDS, shares, strict=False)
    return " ".join(
        f"{kind[:3]} {recall:.3f}@{precision:.3f}" for kind, (recall, precision) in cells
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("resources", type=Path)
    parser.add_argument("--treebanks", type=Path, required=True)
    parser.add_argument("--teacher-test", type=Path, required=True)
    parser.add_argument("--pipeline", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--curve", action="store_true")
    given = parser.parse_args()
    scored = read_scored(given.resources, given.treebanks, given.teacher_test)
    if not given.curve:
        print_settings(scored)
        if given.pipeline:
            print_pipeline(given.pipeline, scored)
        return
    network = load_network()
    if given.weights:
        with np.load(given.weights, allow_pickle=False) as arrays:
            network = Network.read(dict(arrays))
    print_scores(network, scored)


if __name__ == "__main__":
    main()
