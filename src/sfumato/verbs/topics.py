"""``sfumato.topics``: what documents are about, from noisy counts of words and pairs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import extra
from sfumato.core.display import as_html, as_lines
from sfumato.core.errors import OutputExists
from sfumato.core.files import refuse_existing, refuse_input
from sfumato.verbs.inputs import draws_from, read_documents
from sfumato.verbs.tokenizer import choose_budget

if TYPE_CHECKING:
    from sfumato.guarantees.guarantee import Guarantee
    from sfumato.histograms.pairs import WordPairs
    from sfumato.metrics.topics import Topic

SCHEMA = 1
SUFFIX = ".guarantee.json"
# The most frequent public words, which tell no topic.
COMMON = 150


@dataclass(frozen=True, eq=False)
class TopicStatistics:
    """Topics, the counts that they were found in, and what is proven about all of it."""

    topics: tuple[Topic, ...]
    counts: WordPairs
    path: Path | None = None

    @property
    def guarantee(self) -> Guarantee:
        """What is proven about counts and topics together."""
        return self.counts.guarantee

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for each topic: its words and their shares."""
        for number, topic in enumerate(self.topics, start=1):
            words = {word: round(share, 4) for word, share in topic.words}
            yield {"topic": number, "words": words}

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything but the topics themselves."""
        return {
            "schema": SCHEMA,
            "sentence": self.guarantee.sentence(),
            "for_release": self.guarantee.for_release,
            "guarantee": self.guarantee.as_dict(),
            "topics": len(self.topics),
            "words": len(self.counts.words),
            "pairs": len(self.counts.pairs),
            "contributors": self.counts.words.contributors,
            "noise": self.counts.words.noise.as_dict(),
        }

    def __repr__(self) -> str:
        return as_lines(self._title(), [*self._facts(), ("guarantee", self.guarantee.sentence())])

    def _repr_html_(self) -> str:
        return as_html(
            self._title(), ["topic", "words"], self._facts(), [self.guarantee.sentence()]
        )

    def _title(self) -> str:
        return f"{len(self.topics):,} topics of {self.counts.words.contributors:,} documents"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            (f"topic {number}", ", ".join(word for word, _ in topic.words))
            for number, topic in enumerate(self.topics, start=1)
        ]


def topics(
    corpus: str | Path,
    output: str | Path | None = None,
    *,
    epsilon: float,
    topics: int = 10,
    words: int = 10,
    delta: float | str = "auto",
    words_per_document: int = 100,
    weights: str = "plain",
    common: int = COMMON,
    unit: str = "example",
    record: str = "",
    field: str = "text",
    author_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    overwrite: bool = False,
    seed: int | None = None,
    budget: str | Path | None = None,
    account: str | None = None,
    budget_key: str | Path | None = None,
) -> TopicStatistics:
    """So many topics of a corpus, each with its weightiest ``words``, under one level.

    What is released is how many documents (or authors) have each word and each pair of words, with
    noise; topics are computed from these counts and nothing else. Each gives at most
    ``words_per_document`` words and as many pairs. The ``common`` most frequent public words are
    left out. ``output`` gets JSON lines, and beside it ``OUTPUT.guarantee.json`` says what is
    proven. Every call is a release of its own, also one with ``overwrite=True``.

    With a ``budget`` (a file, or ``postgresql://…``) the release is charged to an ``account``
    of it, ``corpus:ID``, before any noise is drawn, and refused if too little is left. Its key is
    in the file ``budget_key`` or in the environment variable SFUMATO_BUDGET_KEY.
    """
    extra("sklearn", needed_for="topics", extra="attack")
    from sfumato.accounting.budget.payment import corpus_payment
    from sfumato.core.checks import at_least
    from sfumato.histograms.pairs import SCOPE, count_pairs
    from sfumato.histograms.payment import HistogramBill
    from sfumato.metrics.topics import MOST_TOPICS, find_topics
    from sfumato.vectors.load import default_space

    at_least("topics", topics, 1, MOST_TOPICS)
    at_least("words", words, 1)
    at_least("common", common, 0)
    payment = corpus_payment(budget, account, budget_key)
    settled = choose_budget(epsilon, delta, words_per_document, weights, unit, record, author_field)
    path = None if output is None else Path(output)
    if path is not None:
        for one in (path, _beside(path)):
            refuse_input(one, corpus)
        refuse_existing(path, overwrite=overwrite)
        if _beside(path).exists() and not overwrite:
            raise OutputExists(
                f"{_beside(path)} exists already: topics were drawn for {path}, and their level is "
                "spent; `overwrite=True` draws others, and the levels add up"
            )
    documents = read_documents(
        corpus, field=field, author_field=author_field, format=format, encoding=encoding,
        header=header,
    )  # fmt: skip
    left_out = default_space().words[:common]
    randomness = draws_from(seed)
    bill = HistogramBill.of(payment, documents, settled, randomness, SCOPE, path)
    counts = count_pairs(documents, settled, randomness, left_out, before=bill.pay)
    bill.settle()  # from here on nothing is looked at but what is released
    found = TopicStatistics(find_topics(counts, topics, words), counts, path)
    return found if path is None else _write(found, path)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)


def _write(found: TopicStatistics, path: Path) -> TopicStatistics:
    """The topics and, before them, what is proven: no reader sees one without the other."""
    from sfumato.core.files import sync_folder, write_whole

    path.unlink(missing_ok=True)
    sync_folder(path.absolute().parent)
    stated = json.dumps(found.as_dict(), indent=2, ensure_ascii=False) + "\n"
    write_whole(_beside(path), stated.encode())
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found.rows())
    write_whole(path, lines.encode())
    return found
