"""What ``privatize`` leaves and makes: gold spans missed, documents not clean, types that agree.

The same policy, ``pii``, before and after there were mechanisms by type: every found word through
``laplace`` at epsilon 5, and ``auto``. Recall and precision count gold and found spans that overlap
(labels are not compared). A document is not clean if a word of a gold span stands outside every
replaced place. Types agree at a replaced place if the policy, reading the new text, finds the same
kind of thing there: what stood in a sentence as a name is still read as a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.inputs import SEED, resource
from benchmarks.timing import Row
from sfumato import Privatizer
from sfumato.core.kinds import kind_of
from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.corpora.labeled import Labeled, read_labeled
from sfumato.mechanisms.selective import Selective
from sfumato.policies.agreement import Agreements
from sfumato.policies.policy import Policy, find_each
from sfumato.statistics.intervals import wilson
from sfumato.text.document import Document
from sfumato.text.edits import Edited
from sfumato.text.span import Span, Spans
from sfumato.text.words import Words

TEXTS = Path(__file__).parents[1] / "tests" / "data"
METHODS: dict[str, dict[str, object]] = {
    "laplace, epsilon 5": {"mechanism": "laplace", "epsilon": 5.0},
    "auto": {"mechanism": "auto"},
}


def run(quick: bool) -> list[Row]:
    """Generated dialogues, generated records of many countries, and messy texts written by hand."""
    return [
        row
        for name, labeled in _sets(20 if quick else 500)
        for row in _rows(name, labeled[:20] if quick else labeled)
    ]


def _sets(dialogues: int) -> Iterator[tuple[str, list[Labeled]]]:
    yield (
        "generated dialogues",
        list(generate_customersim(dialogues, Randomness.reproducible(SEED))),
    )
    records = resource("data/pii-synth/records.jsonl.gz")
    if records is None:
        print("SKIPPED: pii-synth is not there (SFUMATO_RESOURCES)")
    else:
        yield "pii-synth", list(read_labeled(records))
    messy = [*read_labeled(TEXTS / "messy.jsonl"), *read_labeled(TEXTS / "tickets.jsonl")]
    yield "messy texts, four languages", messy


def _rows(name: str, labeled: Sequence[Labeled]) -> Iterator[Row]:
    documents = [one.document for one in labeled]
    for method, settings in METHODS.items():
        made = Privatizer(policy="pii", seed=SEED, **settings)  # type: ignore[arg-type]
        selective = made.selective
        assert isinstance(selective, Selective)
        edited = [
            one.edited for one in selective.privatize(documents, Randomness.reproducible(SEED))
        ]
        found = find_each(selective.policy, documents)
        unclean = sum(not _is_clean(one, new) for one, new in zip(labeled, edited, strict=True))
        agreeing, places = _count_agreeing(found, edited, selective.policy)
        yield {
            "text": f"{name}, {len(labeled)} documents",
            "method": method,
            **_scores(labeled, found),
            "documents with anything left": _share(unclean, len(labeled)),
            "places with the type of before": _share(agreeing, places),
        }


def _scores(labeled: Sequence[Labeled], found: Sequence[Spans]) -> Row:
    agreements = Agreements()
    for one, spans in zip(labeled, found, strict=True):
        agreements.add(one, spans)
    overall = agreements.rows()[0]
    return {
        side: _share(counted.overlapping, counted.spans)
        for side, counted in (("recall", overall.recall), ("precision", overall.precision))
    }


def _is_clean(labeled: Labeled, edited: Edited) -> bool:
    words = Words.of(labeled.document.text)
    return all(
        any(edit.start <= words.starts[index] and words.ends[index] <= edit.end
            for edit in edited.edits)
        for index in labeled.spans.select(words)
    )  # fmt: skip


def _count_agreeing(
    found: Sequence[Spans], edited: Sequence[Edited], policy: Policy
) -> tuple[int, int]:
    """Replaced places whose old and new text are found as one kind, and all replaced places."""
    again = find_each(policy, [Document(one.text) for one in edited])
    pairs = [
        (_kinds(before, old) & _kinds(after, new))
        for before, after, one in zip(found, again, edited, strict=True)
        for old, new in _places(one)
    ]
    return sum(bool(pair) for pair in pairs), len(pairs)


def _places(edited: Edited) -> Iterator[tuple[Span, Span]]:
    """Each replaced place in the old text and in the new one."""
    moved = 0
    for edit in edited.edits:
        start = edit.start + moved
        end = start + len(edit.replacement)
        yield Span(edit.start, edit.end, ""), Span(start, end, "")
        moved = end - edit.end


def _kinds(spans: Spans, place: Span) -> set[str]:
    return {kind_of(span.label) or span.label for span in spans if span.overlaps(place)}


def _share(count: int, of: int) -> str:
    if not of:
        return "none"
    low, high = wilson(count, of)
    return f"{count / of:.3f} ({low:.3f}–{high:.3f})"
