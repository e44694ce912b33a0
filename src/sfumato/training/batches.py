"""Records as physical batches: tensors with a bounded number of token positions.

Guarantee
    All rows of a record are in one batch, or in several that hold nothing else, so they can be
    clipped together. A row's weight depends on its own record alone. All records of a batch have
    the same share, which what they add is multiplied by after clipping (``groups``).

Why it holds
    A record is split only if it is too large for a batch, and then its batches form one group. A
    weight is one over the record's own number of tokens, or over a public constant; that of a
    classifier is also multiplied by the weight of the row's own class. One over the number of
    tokens of the *batch* would couple the records: removing one would rescale the others.

Care
    The number of batches and their shapes depend on the lengths of private documents; do not log
    them. The order of records within a step does not matter, since they are summed. They are sorted
    by length, so that there is little padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import at_least, positive
from sfumato.models.tokenizer import IGNORED
from sfumato.training.records import TokenRecords

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class PhysicalBatch:
    """Rows, padded on the right to one length.

    ``labels`` are aligned with the logits (the next token for a language model, −100 at the
    padding; one class per row for a classifier), so they are compared with them directly and not
    given to the model. ``owner`` is the record of each row, ``numbers`` the row among those of all
    records, and the sum of a row's losses is multiplied by its weight in ``weights``. ``written``
    is what a decoder reads, if there is one: its labels, one place later. ``levels`` are those of a
    public tree of classes, the same for all rows. ``share`` is what each of its records counts, at
    most 1.
    """

    input_ids: Tensor = field(repr=False)
    attention_mask: Tensor = field(repr=False)
    labels: Tensor = field(repr=False)
    owner: Tensor = field(repr=False)
    weights: Tensor = field(repr=False)
    numbers: Tensor = field(repr=False)
    written: Tensor | None = field(default=None, repr=False)
    levels: Tensor | None = field(default=None, repr=False)
    share: float = field(default=1.0, repr=False)

    def on(self, device: str) -> PhysicalBatch:
        """The same batch on a device; the very same if it is there already."""
        if self.input_ids.device.type == device:
            return self
        tensors = {
            one.name: getattr(self, one.name).to(device)
            for one in fields(self)
            if hasattr(getattr(self, one.name), "to")
        }
        return replace(self, **tensors)

    def inputs(self, some: Tensor | slice = slice(None)) -> dict[str, Any]:
        """What a network is called with, for all rows or for some."""
        read = {"input_ids": self.input_ids[some], "attention_mask": self.attention_mask[some]}
        if self.written is None:
            return read
        # What follows the end of a row's labels is padding, which no earlier place sees.
        return read | {"decoder_input_ids": self.written[some], "use_cache": False}


def physical_batches(
    records: TokenRecords,
    chosen: Sequence[int] | NDArray[np.intp],
    *,
    most_tokens: int,
    divisor: float | None = None,
) -> Iterator[list[PhysicalBatch]]:
    """The chosen records in groups: one batch of many records, or several of a single one.

    A batch has at most ``most_tokens`` positions, padding included. A record's loss is the sum over
    its tokens, divided by ``divisor`` or by the number of its tokens. Empty records contribute
    nothing and are left out.
    """
    at_least("most_tokens", most_tokens, records.context)
    if divisor is not None:
        positive("divisor", divisor)
    for share, alike in _by_share(records, chosen):
        for rows in _groups(records, alike, most_tokens):
            yield [replace(_batch(records, some, divisor), share=share) for some in rows]


def _by_share(
    records: TokenRecords, chosen: Sequence[int] | NDArray[np.intp]
) -> Iterator[tuple[float, Sequence[int] | NDArray[np.intp]]]:
    """The chosen records that count alike; all of them if nothing is weighed."""
    if records.shares is None:
        yield 1.0, chosen
        return
    some = np.asarray(chosen, dtype=np.intp)
    for share in np.unique(records.shares[some]).tolist():
        yield share, some[records.shares[some] == np.float32(share)]


def _groups(
    records: TokenRecords, chosen: Sequence[int] | NDArray[np.intp], most_tokens: int
) -> Iterator[list[NDArray[np.int64]]]:
    """The numbers of the rows of each batch, by group."""
    waiting: list[range] = []
    count = read = written = 0
    for widths, rows in _by_width(records, chosen):
        width = sum(widths)
        if len(rows) * width > most_tokens:
            at_a_time = most_tokens // width
            yield [
                np.array(rows[start : start + at_a_time])
                for start in range(0, len(rows), at_a_time)
            ]
            continue
        read, written = max(read, widths[0]), max(written, widths[1])
        if (count + len(rows)) * (read + written) > most_tokens and waiting:
            yield [_in_order(waiting)]
            waiting, count = [], 0
            read, written = widths
        waiting.append(rows)
        count += len(rows)
    if waiting:
        yield [_in_order(waiting)]


def _in_order(records: list[range]) -> NDArray[np.int64]:
    """The rows of all records, first those of the first: then rows that are records are seen so."""
    return np.sort(np.concatenate(records))


def _by_width(
    records: TokenRecords, chosen: Sequence[int] | NDArray[np.intp]
) -> list[tuple[tuple[int, int], range]]:
    """The longest row of each record, as read and as written, and its rows; the shortest first."""
    found = []
    targets = records.targets
    for record in np.asarray(chosen, dtype=np.int64).tolist():
        rows = records.rows_of(record)
        if rows:
            some = slice(rows.start, rows.stop)
            apart = targets is not None and targets.first is not None
            written = int(targets.lengths[some].max()) if targets is not None and apart else 0
            found.append(((int(records.lengths[some].max()), written), record, rows))
    return [(width, rows) for width, _, rows in sorted(found, key=lambda one: (sum(one[0]), one))]


def _wanted(records: TokenRecords, row: int) -> NDArray[np.int64]:
    """The tokens to predict in a row, and IGNORED at all other positions."""
    if records.targets is not None:
        return records.targets.of(row)
    labels, marked = records.labels(row).astype(np.int64), records.marked(row)
    return labels if marked is None else np.where(marked, labels, IGNORED)


def _batch(records: TokenRecords, rows: NDArray[np.int64], divisor: float | None) -> PhysicalBatch:
    import torch

    lengths = records.lengths[rows]
    shape = (len(rows), int(lengths.max()))
    tokens = np.full(shape, records.padding, dtype=np.int64)
    apart = records.targets is not None and records.targets.first is not None
    predicted = records.targets.lengths[rows] if records.targets is not None else lengths
    labels = np.full((len(rows), int(predicted.max())), IGNORED, dtype=np.int64)
    written = np.full_like(labels, records.padding)
    for place, (row, length) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
        tokens[place, :length] = records.inputs(row)
        if records.classes is None:
            labels[place, : predicted[place]] = _wanted(records, row)
        if records.targets is not None and apart:
            written[place, : predicted[place]] = records.targets.written(row)
    mask = np.arange(shape[1]) < lengths[:, None]
    owner = np.searchsorted(records.first, rows, side="right") - 1
    # A record without tokens to predict contributes nothing, whatever it is divided by.
    own = np.maximum(records.predictions[owner], 1)
    weights = np.float32(1) / (own if divisor is None else np.full_like(own, divisor, np.float32))
    if records.class_weights is not None and records.classes is not None:
        # Before clipping, and by the row's own class alone: no record's bound grows.
        weights = weights * records.class_weights[records.classes[rows]]
    return PhysicalBatch(
        input_ids=torch.from_numpy(tokens),
        attention_mask=torch.from_numpy(mask.astype(np.int64)),
        labels=torch.from_numpy(labels if records.classes is None else records.classes[rows]),
        owner=torch.from_numpy(owner),
        weights=torch.from_numpy(weights),
        numbers=torch.from_numpy(rows),
        written=torch.from_numpy(written) if apart else None,
        levels=None if records.levels is None else torch.from_numpy(records.levels),
    )
