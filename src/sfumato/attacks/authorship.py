"""Authorship attribution: documents to known authors, before and after privatization.

Figures
    ``adaptive``: trained on privatized documents of the authors, as anyone with the released text
    can do. ``static``: trained on other original documents of the authors. ``originals``: trained
    and tested on originals, which shows how well authors could be told apart before. The adaptive
    attacker always runs: an attacker who ignores that the text was changed says little about how
    well it hides its author.

How
    The usual strong baseline: TF-IDF of character and word n-grams, a linear support vector
    machine, stratified cross-validation by author. Vocabulary and weights are learned on the
    training folds only.

Control
    The adaptive attack with the authors randomly permuted over the documents.

Care
    Authors can also be recognized by their topics. Where each author has a topic, attribution
    measures topics, and no control can separate the two.

Reference
    Stamatatos 2009, "A survey of modern authorship attribution methods"; for the adaptive attacker
    Mattern et al. 2022, "The limits of word level differential privacy".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sfumato.attacks.attack import Done, Inputs, Needs
from sfumato.attacks.guessed_labels import (
    deal_folds,
    guess_over_folds,
    n_gram_model,
    share,
    shuffle,
)
from sfumato.attacks.text_target import refuse_other_originals
from sfumato.core.checks import at_least, extra
from sfumato.core.errors import BadInput, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.text.document import Document


@dataclass(frozen=True, eq=False, repr=False)
class Writings:
    """Documents, their authors, and their originals if these are given."""

    texts: list[str]
    authors: list[str]
    originals: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Authorship:
    """Attribute documents to their authors by n-grams and a linear model.

    ``folds`` is the number of parts in cross-validation; an author with fewer documents than that
    is left out and counted. ``characters`` and ``words`` are the longest n-grams, 0 for none.
    """

    folds: int = 5
    characters: int = 4
    words: int = 2

    name: ClassVar[str] = "authorship"
    target: ClassVar[str] = "text"
    needs: ClassVar[Needs] = Needs(inputs=("originals",), about_the_data=("originals",))

    def __post_init__(self) -> None:
        at_least("folds", self.folds, 2)
        at_least("characters", self.characters, 0)
        at_least("words", self.words, 0 if self.characters else 1)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a file of documents with their authors; None if nothing is."""
        if not inputs.target.is_file():
            return (
                f"{inputs.target} is not a file of documents; this attack is on a privatized text: "
                "`sfumato.privatize('IN.jsonl', 'OUT.jsonl', epsilon=5)`, then attack OUT.jsonl"
            )
        if inputs.layout.author_field is None:
            return (
                "every document needs its author, in a field of the file: "
                "`author_field=NAME` (jsonl, csv, tsv or parquet; a text file has no fields)"
            )
        return None

    def opened(self, inputs: Inputs) -> tuple[list[Document], list[Document] | None]:
        """The documents and, if they are given, their originals."""
        originals = inputs.originals
        return (
            inputs.documents(inputs.target),
            None if originals is None else inputs.documents(originals),
        )

    def score(
        self,
        target: Sequence[Document],
        data: Sequence[Document] | None,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Attribute every document with a model that was trained on other documents."""
        extra("sklearn", needed_for="attributing documents to authors", extra="attack")
        with time_block() as watch:
            writings, left_out = self._writings(target, data)
            trials = [("adaptive", writings.texts, writings.texts, writings.authors)]
            if writings.originals is not None:
                before = writings.originals
                trials.append(("static", before, writings.texts, writings.authors))
                trials.append(("originals", before, before, writings.authors))
            at_random = shuffle(writings.authors, randomness.stream(0))
            trials.append(("control", writings.texts, writings.texts, at_random))
            figures = []
            for number, (name, train, test, authors) in enumerate(trials, start=1):
                # New folds for each trial, so that no trial is favored.
                folds = deal_folds(authors, self.folds, randomness.stream(1 + number))
                right = guess_over_folds(name, train, test, authors, folds, self._model)
                figures.append(share(name, right))
                if done:
                    done(number, len(trials))
            majority = max(Counter(writings.authors).values()) / len(writings.authors)
            scores = Scores(
                attack=self.name,
                knowledge=_knowledge(originals=writings.originals is not None),
                figures=tuple(figures[:-1]),
                chance={one.metric: majority for one in figures[:-1]},
                control=Control(
                    what="the adaptive attack with authors randomly permuted over documents",
                    figures=(_rename(figures[-1], "adaptive"),),
                ),
                notes=tuple(_notes(writings, left_out)),
                details={"documents": len(writings.texts), "folds": self.folds}
                | {"authors": len(set(writings.authors)), "majority": majority},
            )
        return watch.stamp(scores)

    def _writings(
        self, target: Sequence[Document], data: Sequence[Document] | None
    ) -> tuple[Writings, int]:
        """The documents of authors with enough documents, and how many others there were."""
        if data is not None:
            refuse_other_originals(data, target)
        authors = [_author(document, number) for number, document in enumerate(target, start=1)]
        counts = Counter(authors)
        kept = [place for place, author in enumerate(authors) if counts[author] >= self.folds]
        if len({authors[place] for place in kept}) < 2:
            raise MissingInput(
                f"at least two authors with {self.folds} documents each are needed; "
                f"{sum(count >= self.folds for count in counts.values())} of {len(counts)} authors "
                "have as many (fewer folds: `settings={'folds': 2}`)"
            )
        originals = None if data is None else [data[place].text for place in kept]
        writings = Writings(
            [target[place].text for place in kept], [authors[place] for place in kept], originals
        )
        return writings, len(authors) - len(kept)

    def _model(self) -> Any:
        return n_gram_model(self.characters, self.words)


def _author(document: Document, number: int) -> str:
    if not document.author:
        raise BadInput(f"document {number} has no author")
    return document.author


def _rename(figure: Measured, metric: str) -> Measured:
    return replace(figure, metric=metric)


def _knowledge(*, originals: bool) -> str:
    known = (
        "The attacker knows the authors of all documents except the one they attribute. The "
        "adaptive attacker has the others as they were released"
    )
    return f"{known}, the static attacker their originals." if originals else f"{known}."


def _notes(writings: Writings, left_out: int) -> list[str]:
    notes = [
        "Chance is the share of the author with most documents. Authors can also be recognized by "
        "their topics: a high figure need not be about style.",
    ]
    if writings.originals is None:
        notes.append(
            "Without the originals (`originals=IN`) it is not known how much was hidden, and the "
            "static attacker did not run."
        )
    if left_out:
        notes.append(
            f"{left_out:,} documents were left out: their authors have fewer documents than folds."
        )
    return notes
