"""Documents as records, the units that are sampled, clipped and protected.

Guarantee
    A record is one document, or all documents of one author (``unit="author"``). Every row of
    tokens belongs to one record, and holds tokens of one document only. So removing a record from
    the corpus removes its rows and changes no others.

Why it holds
    Each document is tokenized separately with a public vocabulary, and begins a new row.
    Concatenating all texts and cutting them into rows of equal length would be faster. But then a
    row would contain the end of one author's text and the beginning of another's, and removing a
    document would move the boundaries of all rows after it: one document would change the whole
    corpus.

Care
    A long document becomes several rows of one record, which are clipped together; or only its
    beginning is used (``long="truncate"``), and the dropped tokens are counted. The counts are
    private, and so are the tokens, which are text. Nothing here is written to disk, not even a
    cache. Each piece of a document is read without the pieces before it. Records with an objective
    (``objectives``) become examples when they are used, each by draws from a stream of its own.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.tagging import Aligned, row_room
from sfumato.models.tokenizer import IGNORED, Tokenizer, Tokens
from sfumato.text.document import Document
from sfumato.text.tagging import types_of
from sfumato.training.plan import UNITS

if TYPE_CHECKING:
    from sfumato.training.objectives import Objective

LONG = ("split", "truncate")
_DOCUMENTS_AT_A_TIME = 512


@dataclass(frozen=True, kw_only=True)
class Cut:
    """How documents become rows of at most ``context`` tokens."""

    context: int
    unit: str = "example"
    long: str = "split"

    def __post_init__(self) -> None:
        at_least("context", self.context, 1)
        one_of("unit", self.unit, UNITS)
        one_of("long", self.long, LONG)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Statistics of the documents; as private as the documents.

    ``tokens`` counts the tokens to predict. An empty document is a record that contributes nothing.
    """

    documents: int
    records: int
    rows: int
    tokens: int
    empty: int
    split: int
    truncated: int
    dropped: int

    def summary(self) -> str:
        """In one line, for the owner of the documents."""
        parts = [
            f"{self.documents:,} documents",
            f"{self.records:,} records",
            f"{self.rows:,} rows",
        ]
        if self.empty:
            parts.append(f"{self.empty:,} without text")
        if self.split:
            parts.append(f"{self.split:,} in several rows that stay one record")
        if self.truncated:
            parts.append(f"{self.truncated:,} cut off ({self.dropped:,} tokens dropped)")
        return ", ".join(parts)


class Example(NamedTuple):
    """What is read of a row and what is predicted; ``first`` is where a decoder begins.

    Without it the labels stand at the places that are read, −100 where nothing is predicted.
    """

    read: NDArray[np.int64]
    labels: NDArray[np.int64]
    first: int | None = None


class Framing(NamedTuple):
    """Tokens around a whole document, and how many of its rows' tokens are only predicted."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    ahead: int = 0

    @classmethod
    def around(cls, before: int | None, after: int | None, *, ahead: int = 0) -> Framing:
        """With a token on either side, if there is one."""
        first, last = (() if one is None else (one,) for one in (before, after))
        return cls(first, last, ahead)


@dataclass(frozen=True, eq=False)
class Targets:
    """What is predicted for each row, where that is not the next token of what it reads.

    If a decoder writes it, ``first`` is the token that it reads first; otherwise the labels stand
    at the places that the row reads.
    """

    labels: NDArray[np.int64] = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False)
    lengths: NDArray[np.int64] = field(repr=False)
    first: int | None = None

    def of(self, row: int) -> NDArray[np.int64]:
        """The labels of a row."""
        return self.labels[self.starts[row] : self.starts[row] + self.lengths[row]]

    def written(self, row: int) -> NDArray[np.int64]:
        """What a decoder reads: the labels, one place later."""
        begun = np.concatenate([[self.first or 0], self.of(row)[:-1]])
        return begun.astype(np.int64)[: self.lengths[row]]

    def counts(self) -> NDArray[np.int64]:
        """How many tokens each row has to predict."""
        so_far = np.concatenate([[0], np.cumsum(self.labels != IGNORED)])
        found: NDArray[np.int64] = so_far[self.starts + self.lengths] - so_far[self.starts]
        return found


@dataclass(frozen=True, eq=False)
class TokenRecords:
    """Records as rows of tokens, in a few flat arrays.

    Row i is ``lengths[i]`` tokens from ``starts[i]`` on; rows of record r are those from
    ``first[r]`` up to ``first[r + 1]``. For a language model the label at each position is the next
    token of the same document; for a classifier ``classes[i]`` is the label of row i, and
    ``class_weights`` may have a factor for the losses of each class. ``shares`` is what each record
    counts after clipping, if not all count alike (``groups``). If ``wanted`` is given, only the
    tokens that it marks are predicted; the others are only read. With ``targets`` it is these that
    are predicted. ``levels`` are those of a public tree of classes. With an ``objective`` rows are
    not yet examples; ``drawn`` makes them so.
    """

    tokens: Tokens = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False)
    lengths: NDArray[np.int64] = field(repr=False)
    first: NDArray[np.int64] = field(repr=False)
    classes: NDArray[np.int64] | None = field(repr=False)
    padding: int
    context: int
    unit: str
    counts: Counts = field(repr=False)
    wanted: NDArray[np.bool_] | None = field(default=None, repr=False)
    class_weights: NDArray[np.float32] | None = field(default=None, repr=False)
    shares: NDArray[np.float32] | None = field(default=None, repr=False)
    targets: Targets | None = field(default=None, repr=False)
    objective: Objective | None = field(default=None, repr=False)
    levels: NDArray[np.int64] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.first) - 1

    @cached_property
    def predictions(self) -> NDArray[np.float32]:
        """How many tokens, or labels, each record has to predict."""
        of_rows = self.lengths if self.classes is None else np.ones_like(self.lengths)
        if self.wanted is not None:
            so_far = np.concatenate([[0], np.cumsum(self.wanted)])
            of_rows = so_far[self.starts + self.lengths + 1] - so_far[self.starts + 1]
        if self.targets is not None:
            of_rows = self.targets.counts()
        before = np.concatenate([[0], np.cumsum(of_rows)])
        return np.diff(before[self.first]).astype(np.float32)

    def rows_of(self, record: int) -> range:
        """The numbers of the rows of a record; an empty one has none."""
        return range(int(self.first[record]), int(self.first[record + 1]))

    def inputs(self, row: int) -> Tokens:
        """What the model reads."""
        return self.tokens[self.starts[row] : self.starts[row] + self.lengths[row]]

    def labels(self, row: int) -> Tokens:
        """What the model should predict: the same tokens, shifted by one."""
        return self.tokens[self._ahead(row)]

    def marked(self, row: int) -> NDArray[np.bool_] | None:
        """Which of those tokens are to be predicted; None means all."""
        return None if self.wanted is None else self.wanted[self._ahead(row)]

    def drawn(
        self, chosen: Sequence[int] | NDArray[np.intp], randomness: Randomness
    ) -> tuple[TokenRecords, Sequence[int] | NDArray[np.intp]]:
        """The chosen records as examples of the objective, and their numbers among these.

        The examples of a record depend on this record and on the stream of its number alone.
        """
        objective = self.objective
        if objective is None:
            return self, chosen
        examples: list[Example] = []
        sizes = [0]
        for record in np.asarray(chosen, dtype=np.int64).tolist():
            own = randomness.stream(record)
            ahead = objective.framing.ahead
            for row in self.rows_of(record):
                start = self.starts[row]
                tokens = self.tokens[start : start + self.lengths[row] + ahead]
                examples.append(objective.example(tokens, own))
            sizes.append(len(examples))
        made = self.of_examples(examples, np.array(sizes, dtype=np.int64))
        if self.shares is not None:
            made = replace(made, shares=self.shares[np.asarray(chosen, dtype=np.int64)])
        return made, range(len(sizes) - 1)

    def of_examples(self, examples: list[Example], first: NDArray[np.int64]) -> TokenRecords:
        """Records whose rows are some examples; ``first`` is the first of each record."""
        none = np.empty(0, dtype=np.int64)
        read, labels = (
            [getattr(one, side) for one in examples] or [none] for side in ("read", "labels")
        )
        starts, lengths = _layout(read, len(examples))
        apart = next((one.first for one in examples), None)
        return replace(
            self,
            tokens=np.concatenate(read).astype(np.uint32),
            starts=starts,
            lengths=lengths,
            first=first,
            targets=Targets(np.concatenate(labels), *_layout(labels, len(examples)), apart),
            # What is read and what is written have at most a context each.
            context=self.context * (1 if apart is None else 2),
            objective=None,
        )

    def _ahead(self, row: int) -> slice:
        return slice(self.starts[row] + 1, self.starts[row] + self.lengths[row] + 1)


def make_language_records(
    documents: Iterable[Document], tokenizer: Tokenizer, cut: Cut
) -> TokenRecords:
    """Records for a language model: every token, and the end of the document, is predicted once."""
    gathered = _Gathered(cut)
    before = [] if tokenizer.begin is None else [tokenizer.begin]
    after = [] if tokenizer.end is None else [tokenizer.end]
    for number, document, tokens in _encode(documents, tokenizer):
        stream = _frame(before, tokens, after) if len(tokens) else tokens
        gathered.add_document(_owner(document, number, cut.unit), stream, ahead=1)
    return gathered.records(tokenizer)


def make_labeled_records(
    documents: Iterable[Document], tokenizer: Tokenizer, cut: Cut, classes: Sequence[str]
) -> TokenRecords:
    """Records for a classifier: a document is one row, and its first label is the class."""
    if cut.long != "truncate":
        raise InvalidArgument(
            f"long={cut.long!r}: a classifier reads a document in one row; take long='truncate'"
        )
    before, after = tokenizer.frame
    room = cut.context - len(before) - len(after)
    if room < 1:
        raise InvalidArgument(
            f"context={cut.context} leaves no room for text beside the "
            f"{len(before) + len(after)} special tokens"
        )
    places = {name: place for place, name in enumerate(classes)}
    gathered = _Gathered(cut)
    for number, document, tokens in _encode(documents, tokenizer):
        label = _label(document, number, places)
        row = _frame(before, tokens[:room], after) if len(tokens) else tokens
        gathered.dropped += max(0, len(tokens) - room)
        gathered.truncated += len(tokens) > room
        gathered.add_document(_owner(document, number, cut.unit), row, ahead=0, label=label)
    return gathered.records(tokenizer)


def make_objective_records(
    documents: Iterable[Document], tokenizer: Tokenizer, cut: Cut, objective: Objective
) -> TokenRecords:
    """Records whose rows become examples of an objective anew whenever they are used."""
    gathered = _Gathered(replace(cut, context=objective.room(cut.context)))
    before, after, ahead = objective.framing
    for number, document, tokens in _encode(documents, tokenizer):
        stream = _frame(before, tokens, after) if len(tokens) else tokens
        gathered.add_document(_owner(document, number, cut.unit), stream, ahead=ahead)
    return replace(gathered.records(tokenizer), context=cut.context, objective=objective)


def make_tagged_records(
    documents: Iterable[Document], tokenizer: Tokenizer, cut: Cut, tags: Sequence[str]
) -> TokenRecords:
    """Records for a tagger: the labels of a document's spans stand at the first token of pieces.

    A long document becomes several rows of one record, each with the special tokens around it. A
    record's loss is the mean over its own labeled places; one without any contributes nothing.
    """
    numbers = {name: place for place, name in enumerate(tags)}
    gathered = _Gathered(replace(cut, context=row_room(cut.context, tokenizer)))
    streams: list[NDArray[np.int64]] = []
    for number, document in enumerate(documents, start=1):
        _refuse_other_types(document, number, numbers)
        aligned = Aligned.of(document.text, tokenizer)
        before = gathered.kept
        gathered.add_document(_owner(document, number, cut.unit), aligned.tokens, ahead=0)
        streams.append(aligned.labels(document.spans, numbers)[: gathered.kept - before])
    made = gathered.records(tokenizer)
    labels = np.concatenate(streams)
    first, last = (np.array(side, dtype=np.int64) for side in tokenizer.frame)
    unread = [np.full(len(side), IGNORED, dtype=np.int64) for side in (first, last)]
    examples = [
        Example(
            np.concatenate([first, made.tokens[start:end].astype(np.int64), last]),
            np.concatenate([unread[0], labels[start:end], unread[1]]),
        )
        for start, end in zip(made.starts, made.starts + made.lengths, strict=True)
    ]
    return replace(made.of_examples(examples, made.first), context=cut.context)


def weigh_classes(
    records: TokenRecords, classes: int, weights: Sequence[float] | str
) -> TokenRecords:
    """The same records with a factor for the losses of each class.

    A word in place of weights makes them balance the classes: rows over classes times rows of a
    class. That counts labels, so it is for training without privacy.
    """
    if not weights or records.classes is None:
        return records
    if isinstance(weights, str):
        counts = np.bincount(records.classes, minlength=classes)
        weights = (counts.sum() / (classes * np.maximum(counts, 1))).tolist()
    return replace(records, class_weights=np.array(weights, dtype=np.float32))


class _Gathered:
    """Collects documents one after the other."""

    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.documents = self.empty = self.split = self.truncated = self.dropped = 0
        self._streams: list[Tokens] = []
        self.kept = 0
        self._numbers: dict[str | int, int] = {}
        self._starts, self._lengths = array("q"), array("q")
        self._owners, self._labels = array("q"), array("q")

    def add_document(
        self, owner: str | int, stream: Tokens, *, ahead: int, label: int | None = None
    ) -> None:
        """Cut a document into rows; the last ``ahead`` tokens are predicted, but not read."""
        self.documents += 1
        record = self._numbers.setdefault(owner, len(self._numbers))
        count = max(0, len(stream) - ahead)
        self.empty += count == 0
        context = self.cut.context
        if count > context and self.cut.long == "truncate":
            self.truncated += 1
            self.dropped += count - context
            count = context
        self.split += count > context
        for start in range(0, count, context):
            self._starts.append(self.kept + start)
            self._lengths.append(min(context, count - start))
            self._owners.append(record)
            if label is not None:
                self._labels.append(label)
        if count:
            self._streams.append(stream[: count + ahead])
            self.kept += count + ahead

    def records(self, tokenizer: Tokenizer) -> TokenRecords:
        """All records in flat arrays, with the rows of each record next to each other."""
        if not self.documents:
            raise BadInput("the corpus holds no documents")
        if not self._streams:
            raise BadInput(f"none of the {self.documents} documents of the corpus holds any text")
        owners, starts, lengths, labels = (
            np.array(one, dtype=np.int64)
            for one in (self._owners, self._starts, self._lengths, self._labels)
        )
        order = np.argsort(owners, kind="stable")
        sizes = np.bincount(owners, minlength=len(self._numbers))
        return TokenRecords(
            tokens=np.concatenate(self._streams),
            starts=starts[order],
            lengths=lengths[order],
            first=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            classes=labels[order] if len(labels) else None,
            padding=tokenizer.padding,
            context=self.cut.context,
            unit=self.cut.unit,
            counts=Counts(
                documents=self.documents,
                records=len(self._numbers),
                rows=len(owners),
                tokens=int(lengths.sum()),
                empty=self.empty,
                split=self.split,
                truncated=self.truncated,
                dropped=self.dropped,
            ),
        )


def _layout(
    rows: list[NDArray[np.int64]], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each row begins among all of them, and how long it is."""
    lengths = np.array([len(row) for row in rows[:count]], dtype=np.int64)
    return np.concatenate([[0], np.cumsum(lengths)])[:count].astype(np.int64), lengths


def _encode(
    documents: Iterable[Document], tokenizer: Tokenizer
) -> Iterator[tuple[int, Document, Tokens]]:
    number, waiting = 0, iter(documents)
    while some := list(islice(waiting, _DOCUMENTS_AT_A_TIME)):
        encoded = tokenizer.encode_many([document.text for document in some])
        for document, tokens in zip(some, encoded, strict=True):
            number += 1
            yield number, document, tokens


def _frame(before: Sequence[int], tokens: Tokens, after: Sequence[int]) -> Tokens:
    edges: list[Any] = [np.array(edge, dtype=tokens.dtype) for edge in (before, after)]
    return np.concatenate([edges[0], tokens, edges[1]])


def _owner(document: Document, number: int, unit: str) -> str | int:
    if unit == "example":
        return number
    if document.author is None:
        # If it were treated as a separate author, one person's documents would count as many
        # authors.
        raise BadInput(
            f"document {number} has no author, but authors are to be protected; name the field "
            "that holds them, or protect examples"
        )
    return document.author


def _refuse_other_types(document: Document, number: int, numbers: dict[str, int]) -> None:
    if any(f"B-{span.label}" not in numbers for span in document.spans):
        known = ", ".join(types_of(numbers))
        raise BadInput(f"document {number} has a span whose label is none of the tags ({known})")


def _label(document: Document, number: int, places: dict[str, int]) -> int:
    name = document.labels[0] if document.labels else None
    if name is None or name not in places:
        known = ", ".join(places)
        raise BadInput(
            f"document {number} has no label ({known}); name the field that holds it: "
            "`label_field=NAME`"
            if name is None
            else f"document {number} has a label that is none of the classes ({known})"
        )
    return places[name]
