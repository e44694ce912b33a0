"""Guessing an attribute of documents from what was released of them: text, or vectors.

``attribute-inference`` and ``vector-attributes`` are this attack; what it measures and how is said
in the first. ``author-attributes`` is this attack on all documents of an author at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.attacks.attack import Done, Inputs
from sfumato.attacks.guessed_labels import (
    MakeModel,
    deal_folds,
    fit,
    guess_over_folds,
    share,
    shuffle,
)
from sfumato.attacks.text_target import refuse_other_originals
from sfumato.core.checks import at_least, extra
from sfumato.core.errors import BadInput, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.power import tells_from
from sfumato.text.document import Document

STATIC, ADAPTIVE, ORIGINALS = "static", "adaptive", "originals"


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """The originals with their attribute, and other text in the clear if there is any."""

    originals: Sequence[Document]
    others: Sequence[Document] | None = None

    def __repr__(self) -> str:
        return f"Known({len(self.originals)} originals)"


@dataclass(frozen=True, kw_only=True)
class GuessesAttributes:
    """Guess an attribute of each document from what was released of it.

    The attribute is the field of labels. ``folds`` is the number of parts in cross-validation; a
    value with fewer documents than that, or fewer authors if there are any, is left out and
    counted. A subclass says what was released, what that is in the clear, and which model learns.
    """

    folds: int = 5

    name: ClassVar[str]
    # What is guessed about; a subclass may put documents together.
    cases: ClassVar[str] = "documents"

    def __post_init__(self) -> None:
        at_least("folds", self.folds, 2)

    def after(self, target: Any) -> Sequence[Any]:
        """What was released of each document."""
        raise NotImplementedError

    def before(self, target: Any, documents: Sequence[Document]) -> Sequence[Any]:
        """The same in the clear, of any documents."""
        raise NotImplementedError

    def model_maker(self) -> MakeModel:
        """Makes models with ``fit`` and ``predict``."""
        raise NotImplementedError

    def more_notes(self, target: Any, counts: Sequence[int]) -> tuple[str, ...]:
        """What else to know about the figures; ``counts`` say how many have each value."""
        del target, counts
        return ()

    def score(
        self,
        target: Any,
        data: Known,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Guess the attribute of every document with a model that was trained on others."""
        extra("sklearn", needed_for="guessing attributes", extra="attack")
        with time_block() as watch:
            after_all, before_all = self.after(target), self.before(target, data.originals)
            refuse_other_originals(data.originals, after_all)
            values = [_value(one, place) for place, one in enumerate(data.originals, start=1)]
            authors = _authors(data.originals)
            kept = self._kept(values, authors)
            after = [after_all[place] for place in kept]
            before = [before_all[place] for place in kept]
            values = [values[place] for place in kept]
            people = None if authors is None else [authors[place] for place in kept]
            others, same = by_other_people(data.others, people)
            make = self.model_maker()
            at_random = shuffle(values, randomness.stream(0), people)

            def over_folds(name: str, train: list[Any], test: list[Any], of: list[str]) -> Measured:
                folds = deal_folds(of, self.folds, randomness.stream(1 + len(figures)), people)
                return share(name, guess_over_folds(name, train, test, of, folds, make), people)

            figures: list[Measured] = []
            trials: list[Any] = [
                lambda: (
                    over_folds(STATIC, before, after, values)
                    if others is None
                    else self._guess(target, others, after, values, make, people)
                ),
                lambda: over_folds(ADAPTIVE, after, after, values),
                lambda: over_folds(ORIGINALS, before, before, values),
                lambda: over_folds(ADAPTIVE, after, after, at_random),
            ]
            for number, trial in enumerate(trials, start=1):
                figures.append(trial())
                if done:
                    done(number, len(trials))
            majority = max(Counter(values).values()) / len(values)
            scores = Scores(
                attack=self.name,
                knowledge=_knowledge(
                    held_out=others is not None,
                    rest=f"other {self.cases}" if people is None else "documents by other authors",
                ),
                figures=tuple(figures[:-1]),
                chance={one.metric: majority for one in figures[:-1]},
                control=Control(
                    what="the adaptive attack with the attribute randomly permuted over "
                    + (self.cases if people is None else "authors"),
                    figures=(figures[-1],),
                ),
                notes=(
                    *self._notes(
                        majority, len(values), len(data.originals) - len(values), people, same
                    ),
                    *self.more_notes(target, list(Counter(values).values())),
                ),
                details={self.cases: len(values), "folds": self.folds}
                | {"values": len(set(values)), "majority": majority}
                | {"folds_by": self.cases.removesuffix("s") if people is None else "author"}
                | ({} if people is None else {"authors": len(set(people))}),
            )
        return watch.stamp(scores)

    def _kept(self, values: Sequence[str], authors: Sequence[str] | None) -> list[int]:
        """The documents whose value has enough of them, or of authors."""
        cases = range(len(values)) if authors is None else authors
        # A person counts once for each value.
        counts = Counter(value for value, _ in set(zip(values, cases, strict=True)))
        kept = [place for place, one in enumerate(values) if counts[one] >= self.folds]
        if len({values[place] for place in kept}) < 2:
            of, instead = (
                (self.cases, "")
                if authors is None
                else ("authors", ", or without `author_field`: then by document")
            )
            raise MissingInput(
                f"at least two values of the attribute with {self.folds} {of} each are "
                f"needed; {sum(count >= self.folds for count in counts.values())} of {len(counts)} "
                f"have as many (fewer folds: `settings={{'folds': 2}}`{instead})"
            )
        return kept

    def _notes(
        self,
        majority: float,
        kept: int,
        left_out: int,
        people: Sequence[str] | None,
        same: int,
    ) -> tuple[str, ...]:
        cases, of = (kept, self.cases) if people is None else (len(set(people)), "authors")
        notes = [
            f"Chance is the share of the most frequent value. With {cases:,} {of} a true share of "
            f"{tells_from(majority, cases):.2g} would be told from it with a probability of 95 %.",
            self._by(people),
        ]
        if left_out:
            notes.append(
                f"{left_out:,} {self.cases} were left out: their values have fewer {of} than folds."
            )
        if same:
            notes.append(
                f"{same:,} documents of the other text were left out: their authors are here."
            )
        return tuple(notes)

    def _by(self, people: Sequence[str] | None) -> str:
        """Whether folds, control and intervals are by document or by author."""
        if people is None:
            return (
                "Folds, the control and intervals are by document. If several documents are by one "
                "person, all figures may show that the author was recognized: name the authors "
                "with `author_field`."
            )
        return (
            "Folds, the control and intervals are by author: no model has seen another document "
            "of the author it guesses about."
        )

    def _guess(
        self,
        target: Any,
        learned: Sequence[Document],
        tested: list[Any],
        values: list[str],
        make: MakeModel,
        people: Sequence[str] | None,
    ) -> Measured:
        """The share of right guesses by a model that learned from other text."""
        labels = [_value(one, place) for place, one in enumerate(learned, start=1)]
        if len(set(labels)) < 2:
            raise BadInput("the other text has one value of the attribute: nothing can be learned")
        model = fit(make, list(self.before(target, learned)), labels, STATIC)
        guesses = zip(model.predict(tested), values, strict=True)
        return share(STATIC, np.array([guess == value for guess, value in guesses]), people)


def lacks_attribute(inputs: Inputs) -> str | None:
    """Why the attribute is not known; None if it is."""
    if inputs.layout.label_field is not None:
        return None
    return (
        "the originals need a column with the attribute: `label_field=NAME` (jsonl, csv, tsv or "
        "parquet; a text file has no columns)"
    )


def _authors(originals: Sequence[Document]) -> list[str] | None:
    """The author of each document; None if there are none."""
    if not any(one.author for one in originals):
        return None
    found = [one.author or "" for one in originals]
    if not all(found):
        raise BadInput(
            f"document {found.index('') + 1} has no author, and others have one: every document "
            "needs its author, or leave out `author_field`"
        )
    return found


def by_other_people(
    others: Sequence[Document] | None, people: Sequence[str] | None
) -> tuple[Sequence[Document] | None, int]:
    """The other text without that of tested people, and how many documents were theirs."""
    if others is None or people is None:
        return others, 0
    tested = set(people)
    kept = [one for one in others if one.author not in tested]
    if not kept:
        raise BadInput(
            "all of the other text is by authors of the originals: whoever learned from it would "
            "recognize them; give text by other people, or none"
        )
    return kept, len(others) - len(kept)


def _value(document: Document, number: int) -> str:
    if not document.labels:
        raise BadInput(f"document {number} has no value of the attribute")
    return document.labels[0]


def _knowledge(*, held_out: bool, rest: str) -> str:
    learned = (
        "other text of the same kind, in the clear, with its attribute"
        if held_out
        else f"the originals of all {rest}, with their attribute"
    )
    return (
        f"The static attacker has {learned}; the adaptive attacker knows the attribute of all "
        f"{rest}, and has them as they were released."
    )
