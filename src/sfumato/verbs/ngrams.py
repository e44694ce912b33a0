"""``sfumato.ngrams``: the words and n-grams that many documents have in common, with noise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.display import as_html, as_lines
from sfumato.core.errors import OutputExists
from sfumato.core.files import refuse_existing, refuse_input
from sfumato.verbs.inputs import draws_from, read_documents
from sfumato.verbs.tokenizer import choose_budget

if TYPE_CHECKING:
    from sfumato.guarantees.guarantee import Guarantee
    from sfumato.histograms.ngrams import Ngrams

SCHEMA = 1
SUFFIX = ".guarantee.json"
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class NgramStatistics:
    """N-grams with their noisy counts, the shortest and most frequent first, and what is proven."""

    found: Ngrams
    path: Path | None = None

    @property
    def guarantee(self) -> Guarantee:
        """What is proven about all of them together."""
        return self.found.guarantee

    @property
    def contributors(self) -> int:
        """How many documents, or authors, there are."""
        return self.found.levels[0].contributors

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return (pair for level in self.found.levels for pair in level.counts.items())

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for each n-gram: its length, the text, and about how many have it."""
        for length, level in enumerate(self.found.levels, start=1):
            for ngram, count in level.counts.items():
                yield {"n": length, "ngram": ngram, "count": _whole(count)}

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything but the n-grams themselves."""
        return {
            "schema": SCHEMA,
            "sentence": self.guarantee.sentence(),
            "for_release": self.guarantee.for_release,
            "guarantee": self.guarantee.as_dict(),
            "ngrams": [len(level) for level in self.found.levels],
            "contributors": self.contributors,
            "noise": self.found.levels[0].noise.as_dict(),
        }

    def __repr__(self) -> str:
        return as_lines(self._title(), [*self._facts(), ("guarantee", self.guarantee.sentence())])

    def _repr_html_(self) -> str:
        shown = [tuple(row.values()) for row, _ in zip(self.rows(), range(_SHOWN), strict=False)]
        notes = [self.guarantee.sentence()]
        return as_html(self._title(), ["n", "n-gram", "count"], shown, notes)

    def _title(self) -> str:
        unit = self.guarantee.unit
        return f"{len(self):,} n-grams of {self.contributors:,} {unit}s"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            (f"n = {length}", f"{len(level):,}")
            for length, level in enumerate(self.found.levels, start=1)
        ]


def ngrams(
    corpus: str | Path,
    output: str | Path | None = None,
    *,
    epsilon: float,
    n: int = 2,
    delta: float | str = "auto",
    words_per_document: int = 60,
    weights: str = "plain",
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
) -> NgramStatistics:
    """Words and n-grams of up to ``n`` words that many documents or authors have, with counts.

    A count is about how many of them have the n-gram, with noise; ``n=1`` gives the statistics of a
    bag of words. Each gives at most ``words_per_document`` different n-grams of each length. The
    level is that of all lengths together. ``output`` gets JSON lines, and beside it
    ``OUTPUT.guarantee.json`` says what is proven. Every call is a release of its own, also one with
    ``overwrite=True``: the levels of several add up.

    With a ``budget`` (a file, or ``postgresql://…``) the release is charged to an ``account``
    of it, ``corpus:ID``, before any noise is drawn, and refused if too little is left. Its key is
    in the file ``budget_key`` or in the environment variable SFUMATO_BUDGET_KEY.
    """
    from sfumato.accounting.budget.payment import corpus_payment
    from sfumato.core.checks import at_least
    from sfumato.histograms.ngrams import LONGEST, SCOPE, count_ngrams
    from sfumato.histograms.payment import HistogramBill

    at_least("n", n, 1, LONGEST)
    payment = corpus_payment(budget, account, budget_key)
    settled = choose_budget(epsilon, delta, words_per_document, weights, unit, record, author_field)
    if output is not None:
        for one in (Path(output), Path(f"{output}{SUFFIX}")):
            refuse_input(one, corpus)
        refuse_existing(Path(output), overwrite=overwrite)
        _refuse_release(Path(output), overwrite=overwrite)
    documents = read_documents(
        corpus, field=field, author_field=author_field, format=format, encoding=encoding,
        header=header,
    )  # fmt: skip
    randomness = draws_from(seed)
    bill = HistogramBill.of(payment, documents, settled, randomness, SCOPE, output)
    found = NgramStatistics(count_ngrams(documents, n, settled, randomness, before=bill.pay))
    made = found if output is None else _write(found, Path(output))
    bill.settle()
    return made


def _refuse_release(path: Path, *, overwrite: bool) -> None:
    """Refuse to draw again where a release was interrupted between its two files."""
    beside = path.with_name(path.name + SUFFIX)
    if beside.exists() and not overwrite:
        raise OutputExists(
            f"{beside} exists already: n-grams were drawn for {path}, and their level is spent; "
            "`overwrite=True` draws others, and the levels add up"
        )


def _write(found: NgramStatistics, path: Path) -> NgramStatistics:
    """The n-grams and, before them, what is proven: no reader sees one without the other."""
    from sfumato.core.files import sync_folder, write_whole

    beside = path.with_name(path.name + SUFFIX)
    # Nor n-grams of an earlier release beside what is proven about these.
    path.unlink(missing_ok=True)
    sync_folder(path.absolute().parent)
    stated = json.dumps(found.as_dict(), indent=2, ensure_ascii=False) + "\n"
    write_whole(beside, stated.encode())
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found.rows())
    write_whole(path, lines.encode())
    return NgramStatistics(found.found, path)


def _whole(count: float) -> float | int:
    return int(count) if count.is_integer() else round(count, 3)
