"""Documents as public and private stretches in turns, and the schedule of these turns.

A position is where a token is read and the next one predicted. It is private if one of the two
tokens is. The positions of a document are split into *turns*: a public stretch, which may be empty,
and the private stretch after it, which only the last turn may lack.

Guarantee
    The text that a policy finds in a document affects only the tokens of the document's own private
    stretches: no other document, not the document's public tokens, and not its number of turns.
    Neither does the length of that text.

Why it holds
    Every stretch is tokenized separately, so no token joins a public character with a private one,
    and a private stretch has at least one token, whatever its text. Nothing is split at a number of
    tokens that includes private ones. Documents do not share a row.

Full batches of turns
    A step takes one turn of each of up to ``batch_size`` documents. Documents have different
    numbers of turns. If a batch of documents were processed until its longest one is done, most
    steps would have only a few documents at the cost of a full step. So the next document takes the
    place of one that is done. In every epoch each document takes all its turns, in reading order,
    and at most one in a step. So a record contributes to as many private sums per epoch as it has
    private stretches, once to each. An epoch has the smallest possible number of steps, which is
    the same for every order.

Why every turn is taken once
    The turns of all documents are concatenated in the epoch's order and split into lanes of equal
    length; step t takes the turn at t of every lane (McNaughton 1959). A lane is at least as long
    as the number of turns of any document, so a document that is split over two lanes never has two
    turns in one step. The order is drawn without private text, and lengths are counted in turns,
    which are public; the guarantee does not depend on the order being secret.

Care
    One space before a private stretch belongs to it: subword tokenizers join a space with the word
    after it, and otherwise the model would see tokens that never occur in ordinary text. The shapes
    of physical batches depend on the lengths of private stretches; do not log them. The order of
    rows within a step does not matter, since they are summed. They are grouped by length, so that
    there is little padding. Rows are padded on the right, so the state after a row is the one at
    its own length.
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
from sfumato.models.tokenizer import IGNORED, Tokenizer, Tokens
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.training.methods.streams import Split, split_each

_DOCUMENTS_AT_A_TIME = 512

TokenRange = tuple[int, int]


@dataclass(frozen=True)
class Turn:
    """Positions from ``begin`` are public, from ``middle`` to ``end`` private; one may be empty.

    At position p, token p is read and token p + 1 is predicted.
    """

    begin: int
    middle: int
    end: int

    @property
    def public(self) -> TokenRange:
        """The public positions."""
        return self.begin, self.middle

    @property
    def private(self) -> TokenRange:
        """The private positions."""
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
        """How many turns each document has; public, like the positions of private stretches."""
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
        """The share of private positions; itself private, shown to the owner only."""
        return float((self.cuts[:, 2] - self.cuts[:, 1]).sum()) / self.places

    @property
    def places(self) -> int:
        """The number of positions, which is the number of tokens to predict."""
        return int((self.cuts[:, 2] - self.cuts[:, 0]).sum())

    def turn(self, document: int, number: int) -> Turn:
        """A turn of a document."""
        return Turn(*self.cuts[self.first[document] + number].tolist())

    def lines(self) -> tuple[str, ...]:
        """A summary for the owner of the documents."""
        secret = int((self.private > 0).sum())
        empty = f", {self.without_text:,} without text" if self.without_text else ""
        return (
            f"{len(self):,} documents, {secret:,} with something private{empty}; "
            f"{self.selected:.1%} of all places are private",
        )

    def public_bits(self) -> Sequence[NDArray[np.generic]]:
        """The length of the public text before each private stretch."""
        private = (self.cuts[:, 2] > self.cuts[:, 1]).astype(np.int64)
        return self.first, self.cuts[:, 1] - self.cuts[:, 0], private


def stretch_records(
    documents: Sequence[Document], policy: Policy, tokenizer: Tokenizer
) -> StretchRecords:
    """Split every document by the policy; documents without tokens are left out."""
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
    # The token after a secret reveals something about it, as does predicting the secret.
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
        # If the tokenizer has no token for a secret, its stretch must not disappear.
        kept = piece if len(piece) or not private else np.array([tokenizer.padding], dtype=kind)
        tokens.append(kept)
        bits.append(np.full(len(kept), private))
    if not sum(map(len, tokens)):
        return np.empty(0, dtype=kind), np.empty(0, dtype=np.bool_)
    if tokenizer.begin is None and tokenizer.end is None and all(map(np.all, bits)):
        # A document that is one secret has a position, however few tokens it has.
        tokens.append(np.array([tokenizer.padding], dtype=kind))
        bits.append(np.array([True]))
    for place, edge in ((0, tokenizer.begin), (len(tokens) + 1, tokenizer.end)):
        if edge is not None:
            tokens.insert(place, np.array([edge], dtype=kind))
            bits.insert(place, np.array([False]))
    return np.concatenate(tokens), np.concatenate(bits)


@dataclass(frozen=True)
class Step:
    """The documents of a step and the turn of each; ``step`` counts from 0 over all epochs."""

    step: int
    documents: NDArray[np.int64]
    numbers: NDArray[np.int64]


def steps_per_epoch(turns: NDArray[np.int64], batch_size: int) -> int:
    """The smallest number of steps for all turns, and for the document with the most turns.

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
    # A document that is split at the end of a lane continues at the beginning of the next one.
    # Those steps are earlier, so these are its first turns.
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
    """The steps from ``first`` on, in random orders determined by ``key``."""
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
    """How many turns of each document are in the lane after the one in which it begins."""
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
    """A stretch in pieces; gradients do not flow from one to the next."""
    begin, end = stretch
    for start in range(begin, end, longest):
        yield start, min(start + longest, end)


def row_batches(
    records: StretchRecords, stretches: Mapping[int, TokenRange], most_places: int
) -> Iterator[Rows]:
    """The stretches of some members, none empty, in batches of a bounded number of positions."""
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
