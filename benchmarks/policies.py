"""How fast policies read, in MB/s of UTF-8, and as a ratio to cutting the same text into words.

``pii`` is also measured without its tagger, as it would be with rules alone, and the tagger alone.
Ratios are of processor time, which other people's work disturbs less.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.inputs import dialogues, prose
from benchmarks.timing import Row, Work, by_turns
from sfumato.policies.parsing import combine_policies
from sfumato.policies.pii.detector import Pii
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page
from sfumato.policies.pii.tagger import tag
from sfumato.policies.pii.tokens import Tokens
from sfumato.policies.policy import Policy, find_in
from sfumato.text.document import Document
from sfumato.text.words import Words

POLICIES = ("digits", "pii")
WITHOUT, ALONE = "pii without its tagger", "the tagger of pii alone"


def run(quick: bool) -> list[Row]:
    """Generated dialogues, which are full of personal data, and prose, which has little."""
    name, lines = prose(50_000 if quick else 1_000_000)
    texts = {"generated dialogues": dialogues(50 if quick else 1000), name: lines}
    return [row for text, documents in texts.items() for row in _scanned(text, documents, quick)]


def _scanned(text: str, documents: Sequence[Document], quick: bool) -> list[Row]:
    megabytes = sum(len(document.text.encode()) for document in documents) / 1e6
    texts = [document.text for document in documents]
    tokens = int((Tokens.of(texts).ids != 0).sum())
    work = {name: _scan(combine_policies([name], [], {}), documents) for name in POLICIES}
    work[WITHOUT] = _scan(_Rules(), documents)
    work[ALONE] = lambda: tag(texts, "balanced")
    work["Words.of"] = lambda: [Words.of(text) for text in texts]
    timings = by_turns(work, 2 if quick else 5)
    return [
        {
            "text": f"{text}, {megabytes:.2f} MB",
            "what": name,
            "MB per second of processor time": timing.cpu_rate(megabytes),
            "tokens likewise": timing.cpu_rate(tokens),
            "MB/s": timing.rate(megabytes),
            "times as fast as Words.of": timing.cpu_ratio(timings["Words.of"]),
            "times as fast as the rules": timing.cpu_ratio(timings[WITHOUT]),
        }
        for name, timing in timings.items()
    ]


class _Rules(Pii):
    """``pii`` as it was before it had a tagger."""

    def _tag(self, page: Page) -> list[list[Found]]:
        return [[] for _ in page.texts]


def _scan(policy: Policy, documents: Sequence[Document]) -> Work:
    return lambda: list(find_in(policy, documents))
