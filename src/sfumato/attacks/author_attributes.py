"""Author attributes: what all privatized documents of a person together tell of that person.

A gender, an age band, a native language, a region: what does not change from one document to the
next adds up over them. Noise that hides it in each document may leave it readable in fifty.

Figures
    Shares of authors whose attribute is guessed from all of their privatized documents, read as one
    text. ``static`` has learned from text in the clear (``others``, by other authors; or else the
    originals of the other authors), ``adaptive`` from other authors as they were released.
    ``one document`` is the adaptive attack on a single document of each author, drawn at random:
    what ``adaptive`` has above it is what the others add. ``originals`` learned and was tested on
    originals, which shows how well the attribute could be told before.

    With several ``attributes`` there are these figures for each, "adaptive, gender" for one.

How
    TF-IDF of n-grams and a linear support vector machine, as for ``attribute-inference``; with the
    ``encoder`` in a folder, logistic regression on the mean vector of an author's lines. Each
    author counts once: an author who wrote much weighs no more than another. Folds are dealt, the
    attribute is permuted and intervals are computed over authors, so no model has seen the author
    it guesses about.

Control
    The adaptive attack with the attribute randomly permuted over authors. Chance is the share of
    authors with the most frequent value.

Care
    What is proven of a document holds of an author with k documents at k times the level, unless
    the release was made by author; a note says how many documents authors have here.

    An attribute may be told by topics as well as by style, and by what authors say of themselves.
    A classifier that found nothing proves nothing: a stronger one may find more.

Reference
    Koppel, Argamon and Shimoni 2002, "Automatically categorizing written texts by author gender";
    Rangel et al. 2013, "Overview of the author profiling task at PAN 2013", for documents of an
    author taken together; Mattern, Weggenmann and Kerschbaum 2022, "The limits of word level
    differential privacy", for the adaptive attacker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.attacks.attack import Done, Inputs, Needs
from sfumato.attacks.attribute_guessing import (
    ADAPTIVE,
    ORIGINALS,
    Known,
    by_other_people,
    lacks_attribute,
)
from sfumato.attacks.attribute_inference import AttributeInference
from sfumato.attacks.guessed_labels import (
    LinesModel,
    MakeModel,
    deal_folds,
    guess_over_folds,
    n_gram_model,
    share,
)
from sfumato.attacks.text_target import lacks_originals, refuse_other_originals
from sfumato.core.arrays import Floats
from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.metrics.rewriting import read_encoder
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.charts.chart import Chart

ONE = "one document"
# The trials of each attribute: static, adaptive, originals, the control, one document.
_TRIALS = 5


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """Where the documents of each author are, in the order in which authors appear."""

    places: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, documents: Sequence[Document]) -> People:
        """Every document needs its author; an error names it by its number."""
        found: dict[str, list[int]] = {}
        for place, one in enumerate(documents):
            if not one.author:
                raise BadInput(f"document {place + 1} has no author")
            found.setdefault(one.author, []).append(place)
        return cls(found)

    def pool(self, documents: Sequence[Document], described: Sequence[Document]) -> list[Document]:
        """One document for each author: their texts, and the value that ``described`` gives them.

        An author who has two values has none: nobody could say which guess is right.
        """
        pooled = []
        for mine in self.places.values():
            values = {described[one].labels[:1] for one in mine}
            if values == {()}:
                raise BadInput(f"document {mine[0] + 1} has no value of the attribute")
            if len(values) > 1:
                other = next(
                    one
                    for one in mine
                    if described[one].labels[:1] != described[mine[0]].labels[:1]
                )
                raise BadInput(
                    f"documents {mine[0] + 1} and {other + 1} are by one author and have two "
                    "values of the attribute: it is none of authors. The attack "
                    "'attribute-inference' guesses what may differ between documents"
                )
            text = "\n".join(documents[one].text for one in mine)
            pooled.append(Document(text, labels=next(iter(values))))
        return pooled

    def __repr__(self) -> str:
        return f"People({len(self.places)} authors)"


@dataclass(frozen=True, kw_only=True)
class AuthorAttributes(AttributeInference):
    """Guess attributes of authors from all their privatized documents together.

    ``attributes`` are the columns to guess, by default the field of labels. ``folds`` is the number
    of parts in cross-validation; a value that fewer authors have is left out and counted.
    ``characters`` and ``words`` are the longest n-grams, 0 for none. With the folder of an
    ``encoder``, vectors take their place.
    """

    attributes: tuple[str, ...] = ()

    name: ClassVar[str] = "author-attributes"
    needs: ClassVar[Needs] = Needs(
        inputs=("originals", "others"), by_group=False, about_the_data=(ORIGINALS,)
    )
    cases: ClassVar[str] = "authors"

    def __post_init__(self) -> None:
        super().__post_init__()
        if "" in self.attributes or len(set(self.attributes)) < len(self.attributes):
            raise InvalidArgument("`attributes` must name different columns")

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a privatized file, its originals, their authors and attributes."""
        lacking = lacks_originals(inputs)
        if lacking is None and inputs.layout.author_field is None:
            lacking = (
                "the originals need a column that says who wrote each document: "
                "`author_field=NAME` (jsonl, csv, tsv or parquet; a text file has no columns)"
            )
        if lacking is None and not self.attributes:
            lacking = lacks_attribute(inputs)
        return lacking

    def opened(self, inputs: Inputs) -> tuple[list[Document], Any]:
        """The privatized documents, and what is known of each attribute."""
        released, _ = super().opened(replace(inputs, others=None))
        known = {}
        for column in self.attributes or (str(inputs.layout.label_field),):
            layout = replace(inputs.layout, label_field=column, group_field=None)
            _, known[column] = super().opened(replace(inputs, layout=layout))
        return released, known

    def model_maker(self) -> MakeModel:
        """N-grams and a linear machine, or the mean vector of lines."""
        if not self.encoder:
            return lambda: n_gram_model(self.characters, self.words)
        encode, known = read_encoder(self.encoder), dict[str, Floats]()
        return lambda: LinesModel(encode, known)

    def score(
        self,
        target: Sequence[Document],
        data: Any,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Guess every attribute of every author with a model that was trained on other authors.

        ``data`` is what is known of each attribute, by its name.
        """
        extra("sklearn", needed_for="guessing attributes", extra="attack")
        if not isinstance(data, Mapping) or not data:
            raise InvalidArgument("`data` must hold a `Known` for each attribute, by its name")
        with time_block() as watch:
            found = []
            for number, (column, known) in enumerate(data.items()):
                tell = None if done is None else _Part(done, number, len(data)).tell
                part = self._of_one(target, known, randomness.stream(number), tell)
                found.append(part if len(data) == 1 else _rename(part, column))
            scores = _join(found, list(data))
        return watch.stamp(scores)

    def chart(self, scores: Scores) -> Chart:
        """Every figure with its interval, beside chance and the control."""
        from sfumato.charts.figures import figures_chart

        return figures_chart(scores, title="Authors whose attribute is guessed", of="authors")

    def _of_one(
        self, target: Sequence[Document], data: Known, randomness: Randomness, done: Done | None
    ) -> Scores:
        """All figures of one attribute."""
        refuse_other_originals(data.originals, target)
        people = People.of(data.originals)
        before = people.pool(data.originals, data.originals)
        after = people.pool(target, data.originals)
        others, same = by_other_people(data.others, list(people.places))
        public = None if others is None else People.of(others).pool(others, others)
        scores = super().score(after, Known(before, public), randomness.stream(0), done)
        sizes = [len(mine) for mine in people.places.values()]
        notes = [*scores.notes, _tell_sizes(sizes)]
        if same:
            notes.append(
                f"{same:,} documents of the other text were left out: their authors are here."
            )
        if max(sizes) == 1:
            return replace(scores, notes=tuple(notes))
        alone = self._one_document(target, people, before, randomness.stream(1))
        if done:
            done(_TRIALS, _TRIALS)
        return replace(
            scores,
            figures=(*scores.figures[:-1], alone, scores.figures[-1]),
            chance={**scores.chance, ONE: scores.chance[ADAPTIVE]},
            notes=tuple(notes),
        )

    def _one_document(
        self,
        target: Sequence[Document],
        people: People,
        described: Sequence[Document],
        randomness: Randomness,
    ) -> Measured:
        """The adaptive attack on one random document of each author."""
        drawn = randomness.stream(0).uniform(len(people.places)).tolist()
        places = [
            mine[int(one * len(mine))]
            for mine, one in zip(people.places.values(), drawn, strict=True)
        ]
        values = [one.labels[0] for one in described]
        kept = self._kept(values, None)
        texts = [target[places[one]].text for one in kept]
        labels = [values[one] for one in kept]
        folds = deal_folds(labels, self.folds, randomness.stream(1))
        right = guess_over_folds(ONE, texts, texts, labels, folds, self.model_maker())
        return share(ONE, right)

    def _by(self, people: Sequence[str] | None) -> str:
        del people  # there is one case for each author
        return (
            "All documents of an author are read together and each author counts once: folds, the "
            "control and intervals are over authors."
        )


@dataclass(frozen=True)
class _Part:
    """Progress of one attribute as a part of all."""

    done: Done
    number: int
    count: int

    def tell(self, reached: int, total: int) -> None:
        del total  # one trial follows those that are counted
        self.done(self.number * _TRIALS + reached, self.count * _TRIALS)


def _rename(scores: Scores, column: str) -> Scores:
    """The same scores, whose figures say which attribute they are about."""

    def of(metric: str) -> str:
        return f"{metric}, {column}"

    named = [replace(one, metric=of(one.metric)) for one in scores.figures]
    blank = [replace(one, metric=of(one.metric)) for one in scores.control.figures]
    return replace(
        scores,
        figures=tuple(named),
        chance={of(metric): value for metric, value in scores.chance.items()},
        control=replace(scores.control, figures=tuple(blank)),
    )


def _join(found: Sequence[Scores], columns: Sequence[str]) -> Scores:
    """All attributes in one result; a note that holds for every attribute is given once."""
    shared = [note for note in found[0].notes if all(note in one.notes for one in found)]
    own = [
        f"{column}: {note}"
        for column, one in zip(columns, found, strict=True)
        for note in one.notes
        if note not in shared
    ]
    return replace(
        found[0],
        figures=tuple(figure for one in found for figure in one.figures),
        chance={metric: value for one in found for metric, value in one.chance.items()},
        control=Control(
            what=found[0].control.what,
            figures=tuple(figure for one in found for figure in one.control.figures),
        ),
        notes=(*own, *shared),
        details={
            "attributes": {
                column: dict(one.details) for column, one in zip(columns, found, strict=True)
            }
        },
    )


def _tell_sizes(sizes: Sequence[int]) -> str:
    middle, most = float(np.median(sizes)), max(sizes)
    if most == 1:
        return (
            "Every author has one document here, so nothing was put together: the figures are "
            "those of documents."
        )
    return (
        f"Authors have {middle:g} documents in the middle and {most:,} at most. What is proven of "
        f"one document holds of an author with {most:,} at {most:,} times the level, unless the "
        "text was released by author."
    )
