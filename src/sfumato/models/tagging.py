"""A text for a tagger, and what a tagger says of it: pieces, the tokens that stand for them, spans.

A piece of a text (``text.tagging``) has a label, and of its tokens the first stands for it: the one
with its first character. If a token is the first of several pieces (``://``), the first of them
decides. A text that is longer than the context is read in rows, each with the tokens around it that
the network expects, and each without the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import Advance
from sfumato.models.load import LoadedModel
from sfumato.models.tokenizer import IGNORED, Tokenizer, Tokens
from sfumato.text.span import Spans
from sfumato.text.tagging import OUTSIDE, Extent, cut, mark, parts_of, read

TOKENS_AT_ONCE = 4096
NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Aligned:
    """A text's tokens and pieces; ``firsts`` are the numbers of the tokens that stand for them.

    A piece whose first character no token has (some tokenizers drop characters) stands nowhere.
    """

    tokens: Tokens = field(repr=False)
    pieces: list[Extent] = field(repr=False)
    firsts: list[int] = field(repr=False)

    @classmethod
    def of(cls, text: str, tokenizer: Tokenizer) -> Aligned:
        """The pieces of a text and their tokens."""
        pieces = cut(text)
        tokens = tokenizer.encode(text)
        return cls(tokens, pieces, first_tokens(tokenizer.places(text), pieces))

    def labels(self, spans: Spans, numbers: dict[str, int]) -> NDArray[np.int64]:
        """The number of the label at each token, and IGNORED where a token stands for no piece."""
        found = np.full(len(self.tokens), IGNORED, dtype=np.int64)
        for place, label in zip(self.firsts, mark(self.pieces, spans), strict=True):
            if place != NOWHERE and found[place] == IGNORED:
                found[place] = numbers[label]
        return found

    def spans(self, said: Sequence[str]) -> Spans:
        """What the labels of all tokens say about the text."""
        pieces: list[Extent] = []
        labels: list[str] = []
        before = NOWHERE
        for piece, place in zip(self.pieces, self.firsts, strict=True):
            if place == NOWHERE:
                continue
            letter, kind = parts_of(said[place]) or (OUTSIDE, "")
            # Pieces that share a token share its label: one span begins, and not several.
            goes_on = place == before and letter == "B"
            pieces.append(piece)
            labels.append(f"I-{kind}" if goes_on else said[place])
            before = place
        return read(pieces, labels)


def first_tokens(tokens: Sequence[Extent], pieces: Sequence[Extent]) -> list[int]:
    """For each piece the first token that has its first character, or any character of it.

    >>> first_tokens([(0, 3), (3, 5), (5, 8)], [(0, 3), (4, 5), (5, 6), (6, 8), (9, 10)])
    [0, 1, 2, 2, -1]
    """
    found: list[int] = []
    place = 0
    for start, end in pieces:
        while place < len(tokens) and tokens[place][1] <= start:
            place += 1
        reached = place < len(tokens) and tokens[place][0] < end
        found.append(place if reached else NOWHERE)
    return found


def row_room(context: int, tokenizer: Tokenizer) -> int:
    """How many tokens of a text one row has, beside those around it."""
    around = sum(map(len, tokenizer.frame))
    if context <= around:
        raise InvalidArgument(
            f"context={context} leaves no room for text beside the {around} special tokens"
        )
    return context - around


def find_spans(
    model: LoadedModel, texts: Sequence[str], done: Advance | None = None
) -> list[Spans]:
    """What a tagger finds in each text; it does not depend on the other texts.

    ``done`` is called with the number of rows that were read.
    """
    aligned = [Aligned.of(text, model.tokenizer) for text in texts]
    said = [np.zeros(len(one.tokens), dtype=np.int64) for one in aligned]
    room = row_room(model.context, model.tokenizer)
    rows = [
        (number, start, min(start + room, len(one.tokens)))
        for number, one in enumerate(aligned)
        for start in range(0, len(one.tokens), room)
    ]
    rows.sort(key=lambda row: row[2] - row[1])
    count = 0
    for some in _batches(rows, model.context - room):
        tokens = [aligned[number].tokens[start:end] for number, start, end in some]
        for (number, start, end), labels in zip(some, _label_rows(model, tokens), strict=True):
            said[number][start:end] = labels
        count += len(some)
        if done:
            done(count)
    return [
        one.spans([model.tags[label] for label in labels.tolist()])
        for one, labels in zip(aligned, said, strict=True)
    ]


_Row = tuple[int, int, int]


def _batches(rows: Sequence[_Row], around: int) -> Iterator[list[_Row]]:
    waiting: list[_Row] = []
    for row in rows:  # each is as long as the one before it, or longer
        width = row[2] - row[1] + around
        if waiting and (len(waiting) + 1) * width > TOKENS_AT_ONCE:
            yield waiting
            waiting = []
        waiting.append(row)
    if waiting:
        yield waiting


def _label_rows(model: LoadedModel, rows: Sequence[Tokens]) -> Iterator[NDArray[np.int64]]:
    """The likeliest label of each token of each row."""
    import torch

    before, after = model.tokenizer.frame
    width = max(map(len, rows)) + len(before) + len(after)
    tokens = np.full((len(rows), width), model.tokenizer.padding, dtype=np.int64)
    mask = np.zeros_like(tokens)
    for place, row in enumerate(rows):
        framed = [*before, *row.tolist(), *after]
        tokens[place, : len(framed)] = framed
        mask[place, : len(framed)] = 1
    network: Any = model.network.eval()
    with torch.no_grad():
        scores = network(
            input_ids=torch.from_numpy(tokens), attention_mask=torch.from_numpy(mask)
        ).logits
    best = scores.argmax(-1).numpy()
    for place, row in enumerate(rows):
        yield best[place, len(before) : len(before) + len(row)]
