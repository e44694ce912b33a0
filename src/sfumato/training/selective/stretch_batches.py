"""Stretches as physical batches: padded rows of a bounded number of places.

Care
    Shapes follow from the lengths of private stretches; do not log them. The order of rows within a
    step means nothing, since they are summed; so they are grouped by length, and little is wasted
    on padding. Rows are padded on the right, so the state behind a row is that at its own length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from sfumato.models.lstm_layer import State, run
from sfumato.models.lstm_network import LstmForCausalLM
from sfumato.training.clipping.losses import IGNORED
from sfumato.training.selective.stretch_records import Stretch, StretchRecords


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


def chunks(stretch: Stretch, longest: int) -> Iterator[Stretch]:
    """A stretch in pieces that gradients do not flow between."""
    begin, end = stretch
    for start in range(begin, end, longest):
        yield start, min(start + longest, end)


def row_batches(
    records: StretchRecords, stretches: Mapping[int, Stretch], most_places: int
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


def _rows(records: StretchRecords, stretches: Mapping[int, Stretch], members: list[int]) -> Rows:
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
