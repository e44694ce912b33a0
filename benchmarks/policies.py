"""How fast policies read, in MB/s of UTF-8, and as a ratio to cutting the same text into words."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.inputs import dialogues, prose
from benchmarks.timing import Row, Work, by_turns
from sfumato.policies.parsing import combine_policies
from sfumato.text.document import Document
from sfumato.text.words import Words

POLICIES = ("digits", "pii")


def run(quick: bool) -> list[Row]:
    """Generated dialogues, which are full of personal data, and prose, which has little."""
    name, lines = prose(50_000 if quick else 1_000_000)
    texts = {"generated dialogues": dialogues(50 if quick else 1000), name: lines}
    return [row for text, documents in texts.items() for row in _scanned(text, documents, quick)]


def _scanned(text: str, documents: Sequence[Document], quick: bool) -> list[Row]:
    megabytes = sum(len(document.text.encode()) for document in documents) / 1e6
    work = {name: _scan(name, documents) for name in POLICIES}
    work["Words.of"] = lambda: [Words.of(document.text) for document in documents]
    timings = by_turns(work, 2 if quick else 5)
    return [
        {
            "text": f"{text}, {megabytes:.2f} MB",
            "what": name,
            "MB/s": timing.rate(megabytes),
            "times as fast as Words.of": timing.ratio(timings["Words.of"]),
        }
        for name, timing in timings.items()
    ]


def _scan(name: str, documents: Sequence[Document]) -> Work:
    policy = combine_policies([name], [], {})
    return lambda: [policy.find(document) for document in documents]
