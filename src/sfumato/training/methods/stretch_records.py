"""Documents as stretches: public and private ones in turn, and who takes which turn when.

A place is where a token is read and the next one predicted. It is private if either of the two
tokens is. The places of a document are cut into *turns*: a public stretch, which may be empty, and
the private stretch behind it, which only the last turn may lack.

Guarantee
    What a policy finds in a document decides nothing but the tokens of its own private stretches:
    not those of any other document, not the public tokens of its own, and not how many turns there
    are. Neither does its length.

Why it holds
    Every stretch is tokenized on its own, so no token joins a public character to a private one,
    and a private stretch has one token at least, whatever stands in it. Nothing is cut at a number
    of tokens counted over private ones. Documents do not share a row.

Full batches of turns
    A step takes one turn of each of up to ``batch_size`` documents. Documents have different
    numbers of turns. Were a batch of documents worked through until its longest one is done, most
    steps would serve a few documents only, at the price of a full one; so a document that is done
    makes room for the next. In every epoch each document takes all its turns, in reading order,
    and at most one in a step. So a record contributes to as many private sums per epoch as it has
    private stretches, once to each. The steps of an epoch are as few as can be, and their number is
    the same for every order.

Why every turn is taken once
    The turns of all documents are laid end to end, in the epoch's order, and the line is cut into
    lanes of equal length, of which step t takes what stands at t (McNaughton 1959). A lane is at
    least as long as a document has turns, so a document that is cut in two never meets itself. The
    order is drawn without looking at private text, and lengths are counted in turns, which are
    public: nothing rests on the order being secret.

Care
    One space before a private stretch is counted into it: subword tokenizers join a space to the
    word behind it, and a model would else learn to read numbers that never occur in ordinary text.
    The shapes of physical batches follow from the lengths of private stretches; do not log them.
    The order of rows within a step means nothing, since they are summed; so they are grouped by
    length, and little is wasted on padding. Rows are padded on the right, so the state behind a row
    is that at its own length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.models.lstm_layer import State, run
from sfumato.models.lstm_network import LstmForCausalLM
from sfumato.models.tokenizer import Tokenizer, Tokens
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.training.clipping.losses import IGNORED
from sfumato.training.methods.streams import Split, split_each

_DOCUMENTS_AT_A_TIME = 512

TokenRange = tuple[int, int]


@dataclass(frozen=True)
class Turn:
    """Places ``begin`` to ``middle`` are public, ``middle`` to ``end`` private; one may be empty.

    At place p the token p is read and the token p + 1 predicted.
    """

    begin: int
    middle: int
    end: int

    @property
    def public(self) -> TokenRange:
        """The public places."""
        return self.begin, self.middle

    @property
    def private(self) -> TokenRange:
        """The private places."""
        return self.middle, self.end


@dataclass(frozen=True, eq=False)
class StretchRecords:
    """Documents in turns, all tokens in one array.

    Document d has the turns ``first[d]`` up to ``first[d + 1]``, each a line of ``cuts``.
    """

    tokens: Tokens = field(repr=False)
    cuts: NDArray[np.int64] = field(repr=False)
    first: NDArray[np.int64] = field(repr=False)
    padding: int
    without_text: int = field(default=0, repr=False)

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def turns(self) -> NDArray[np.int64]:
        """How many turns each document has; public, as the places of private stretches are."""
        counts: NDArray[np.int64] = np.diff(self.first)
        return counts

    @property
    def private(self) -> NDArray[np.int64]:
        """How many private stretches each document has; public as well."""
        so_far = np.concatenate([[0], np.cumsum(self.cuts[:, 2] > self.cuts[:, 1])])
        counts: NDArray[np.int64] = np.diff(so_far[self.first])
        return counts

    @property
    def selected(self) -> float:
        """The share of places that are private; itself private, for the owner's eyes."""
        return float((self.cuts[:, 2] - self.cuts[:, 1]).sum()) / self.places

    @property
    def places(self) -> int:
        """As many as there are tokens to predict."""
        return int((self.cuts[:, 2] - self.cuts[:, 0]).sum())

    def turn(self, document: int, number: int) -> Turn:
        """A turn of a document."""
        return Turn(*self.cuts[self.first[document] + number].tolist())

    def lines(self) -> tuple[str, ...]:
        """What it is, for the owner of the documents."""
        secret = int((self.private > 0).sum())
        empty = f", {self.without_text:,} without text" if self.without_text else ""
        return (
            f"{len(self):,} documents, {secret:,} with something private{empty}; "
            f"{self.selected:.1%} of all places are private",
        )

    def public_bits(self) -> Sequence[NDArray[np.generic]]:
        """How much public text stands before each private stretch."""
        private = (self.cuts[:, 2] > self.cuts[:, 1]).astype(np.int64)
        return self.first, self.cuts[:, 1] - self.cuts[:, 0], private


def stretch_records(
    documents: Sequence[Document], policy: Policy, tokenizer: Tokenizer
) -> StretchRecords:
    """Cut every document where the policy says; documents without a token are left out."""
    streams: list[Tokens] = []
    cuts: list[Turn] = []
    first, length, empty = [0], 0, 0
    for tokens, bits in _tokenize(documents, policy, tokenizer):
        turns = turns_of(bits, length)
        if not turns:
            empty += 1
            continue
        streams.append(tokens)
        cuts += turns
        length += len(tokens)
        first.append(len(cuts))
    if not any(turn.middle < turn.end for turn in cuts):
        raise BadInput(
            f"the policy {policy.name} finds nothing in the {len(documents):,} documents; there is "
            "nothing to protect, and the method 'plain' trains on such text"
        )
    return StretchRecords(
        tokens=np.concatenate(streams),
        cuts=np.array([(one.begin, one.middle, one.end) for one in cuts], dtype=np.int64),
        first=np.array(first, dtype=np.int64),
        padding=tokenizer.padding,
        without_text=empty,
    )


def turns_of(bits: NDArray[np.bool_], start: int = 0) -> list[Turn]:
    """The turns of a document from the policy's bit for each of its tokens.

    >>> bits = np.array([False, False, False, True, False, False])
    >>> turns_of(bits)
    [Turn(begin=0, middle=2, end=4), Turn(begin=4, middle=5, end=5)]
    """
    # What follows a secret tells of it, as does what is predicted to be one.
    places = (bits[:-1] | bits[1:]).tolist()
    turns, begin, middle = [], 0, 0
    for place, private in enumerate(places):
        if not private:
            if middle < place:  # a private stretch has ended
                turns.append(Turn(start + begin, start + middle, start + place))
                begin = place
            middle = place + 1
    if begin < len(places):
        turns.append(Turn(start + begin, start + middle, start + len(places)))
    return turns


def _tokenize(
    documents: Sequence[Document], policy: Policy, tokenizer: Tokenizer
) -> Iterator[tuple[Tokens, NDArray[np.bool_]]]:
    """The tokens of every document with the policy's bit for each; none for an empty one."""
    for start in range(0, len(documents), _DOCUMENTS_AT_A_TIME):
        some = split_each(documents[start : start + _DOCUMENTS_AT_A_TIME], policy)
        pieces = [_pieces(one) for one in some]
        encoded = iter(tokenizer.encode_many([text for one in pieces for text, _ in one]))
        for one in pieces:
            yield _join([(next(encoded), private) for _, private in one], tokenizer)


def _pieces(one: Split) -> list[tuple[str, bool]]:
    """The text in stretches, and whether each is private."""
    text, found = one.original.text, list(one.private)
    edges = [0]
    for start, end in found:
        spaced = start - 1 if start > edges[-1] and text[start - 1] == " " else start
        edges += (spaced, end)
    edges.append(len(text))
    cut = [
        (text[start:end], number % 2 == 1) for number, (start, end) in enumerate(pairwise(edges))
    ]
    return [(piece, private) for piece, private in cut if piece]


def _join(
    pieces: Sequence[tuple[Tokens, bool]], tokenizer: Tokenizer
) -> tuple[Tokens, NDArray[np.bool_]]:
    kind = tokenizer.number_type
    tokens: list[Tokens] = []
    bits: list[NDArray[np.bool_]] = []
    for piece, private in pieces:
        # A tokenizer that knows no token for a secret must not make its stretch vanish.
        kept = piece if len(piece) or not private else np.array([tokenizer.padding], dtype=kind)
        tokens.append(kept)
        bits.append(np.full(len(kept), private))
    if not sum(map(len, tokens)):
        return np.empty(0, dtype=kind), np.empty(0, dtype=np.bool_)
    if tokenizer.begin is None and tokenizer.end is None and all(map(np.all, bits)):
        # A secret alone in its document has a place, however few tokens it takes.
        tokens.append(np.array([tokenizer.padding], dtype=kind))
        bits.append(np.array([True]))
    for place, edge in ((0, tokenizer.begin), (len(tokens) + 1, tokenizer.end)):
        if edge is not None:
            tokens.insert(place, np.array([edge], dtype=kind))
            bits.insert(place, np.array([False]))
    return np.concatenate(tokens), np.concatenate(bits)


@dataclass(frozen=True)
class Step:
    """The documents that take a turn, and which one; ``step`` counts from 0 over all epochs."""

    step: int
    documents: NDArray[np.int64]
    numbers: NDArray[np.int64]


def steps_per_epoch(turns: NDArray[np.int64], batch_size: int) -> int:
    """As few as can be: enough for all turns, and for the document with the most of them.

    >>> steps_per_epoch(np.array([1, 1, 5, 2]), 2), steps_per_epoch(np.array([1, 7]), 2)
    (5, 7)
    """
    return max(int(turns.max()), -(-int(turns.sum()) // batch_size))


def epoch(
    turns: NDArray[np.int64], batch_size: int, order: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For every step of an epoch the documents that take a turn, and which turn it is."""
    length = steps_per_epoch(turns, batch_size)
    counts = turns[order]
    owner = np.repeat(order, counts).astype(np.int64)
    begin = np.repeat(np.cumsum(counts) - counts, counts)
    place = np.arange(len(owner))
    # A document that is cut by the end of a lane goes on at the beginning of the next one, which is
    # earlier: those are its first turns.
    edge = (place // length) * length
    ahead = np.repeat(
        _beyond(begin_of=np.cumsum(counts) - counts, counts=counts, length=length), counts
    )
    numbers = np.where(edge > begin, place - edge, place - begin + ahead)
    for step in range(length):
        yield owner[step::length], numbers[step::length]


def all_steps(
    turns: NDArray[np.int64], batch_size: int, epochs: int, key: int, *, first: int = 0
) -> Iterator[Step]:
    """The steps from ``first`` on, in orders that follow from ``key``."""
    length, orders = steps_per_epoch(turns, batch_size), Randomness.reproducible(key)
    for number in range(first // length, epochs):
        order = orders.stream(number).uniform(len(turns)).argsort(kind="stable")
        for place, (documents, numbers) in enumerate(epoch(turns, batch_size, order)):
            step = number * length + place
            if step >= first:
                yield Step(step, documents, numbers)


def _beyond(
    *, begin_of: NDArray[np.int64], counts: NDArray[np.int64], length: int
) -> NDArray[np.int64]:
    """How many turns of each document stand in the lane behind the one in which it begins."""
    end_of_lane = (begin_of // length + 1) * length
    beyond: NDArray[np.int64] = np.maximum(0, begin_of + counts - end_of_lane)
    return beyond


@dataclass(frozen=True, eq=False)
class Rows:
    """Stretches of different members of a step, a row each; ``members`` are in increasing order."""

    input_ids: Tensor = field(repr=False)
    labels: Tensor = field(repr=False)
    lengths: Tensor = field(repr=False)
    members: Tensor = field(repr=False)

    def of(self, some: Tensor) -> Rows:
        """Some of the rows, in any order."""
        parts = (self.input_ids, self.labels, self.lengths, self.members)
        return Rows(*(one[some] for one in parts))


def chunks(stretch: TokenRange, longest: int) -> Iterator[TokenRange]:
    """A stretch in pieces that gradients do not flow between."""
    begin, end = stretch
    for start in range(begin, end, longest):
        yield start, min(start + longest, end)


def row_batches(
    records: StretchRecords, stretches: Mapping[int, TokenRange], most_places: int
) -> Iterator[Rows]:
    """The stretches of some members, none of them empty, in batches of at most so many places."""
    waiting: list[int] = []
    for member in sorted(stretches, key=lambda one: stretches[one][1] - stretches[one][0]):
        begin, end = stretches[member]
        if waiting and (len(waiting) + 1) * (end - begin) > most_places:
            yield _rows(records, stretches, sorted(waiting))
            waiting = []
        waiting.append(member)
    if waiting:
        yield _rows(records, stretches, sorted(waiting))


@torch.no_grad()
def states_behind(network: LstmForCausalLM, rows: Rows, before: State) -> State:
    """Hidden and cell state after the last token of every row, from those before the first."""
    embedded = network.dropout(network.embedding(rows.input_ids))
    course = run(network.lstm.weights(), embedded, before)
    each = torch.arange(len(rows.lengths))
    return course.hidden[rows.lengths, each], course.cells[rows.lengths, each]


def _rows(records: StretchRecords, stretches: Mapping[int, TokenRange], members: list[int]) -> Rows:
    lengths = np.array([stretches[one][1] - stretches[one][0] for one in members])
    tokens = np.full((len(members), lengths.max()), records.padding, dtype=np.int64)
    labels = np.full_like(tokens, IGNORED)
    for row, member in enumerate(members):
        begin, end = stretches[member]
        tokens[row, : end - begin] = records.tokens[begin:end]
        labels[row, : end - begin] = records.tokens[begin + 1 : end + 1]
    return Rows(
        input_ids=torch.from_numpy(tokens),
        labels=torch.from_numpy(labels),
        lengths=torch.from_numpy(lengths),
        members=torch.tensor(members),
    )
