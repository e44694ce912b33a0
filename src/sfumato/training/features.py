"""What frozen layers say of every row, computed once and used in every epoch.

Guarantee
    That of the training, unchanged: the gradient of a record is the same function of the record and
    of the head's weights, whether the frozen layers are computed again or not.

Why it holds
    Nothing in the frozen layers is trained, and nothing in them is drawn: their modules stay in
    evaluation mode (``models.trainable``). A row's features depend on this row alone, and the head
    gives the network's own scores for them (``models.head``, where that is tested for each network
    before it is relied on). Clipping, noise and sampling come afterwards.

Care
    Features are as private as the text; they are kept in memory and written nowhere. Those of the
    last two corpora, if they are not large, are kept until the process ends, for further runs on
    the same rows with the same frozen weights, as in a study. Both ways of computing differ by the
    rounding of sums, as the same rows do in batches of different widths.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sfumato.core.progress import progress
from sfumato.models.head import HeadOnly
from sfumato.models.load import LoadedModel
from sfumato.training.batches import PhysicalBatch, physical_batches
from sfumato.training.records import TokenRecords
from sfumato.training.steps import hide_members

TOKENS_AT_ONCE = 8192
# More numbers than these, 4 GB, are not kept; layers are computed again in every epoch then.
MOST_NUMBERS = 2**30
# For further runs: so many corpora, of so many numbers (256 MB) at most.
MOST_KEPT, MOST_KEPT_NUMBERS = 2, 2**26


@dataclass(frozen=True, eq=False)
class HeadFeatures:
    """The features of all rows of some records, and the head that reads them."""

    head: HeadOnly
    values: Tensor = field(repr=False)

    @classmethod
    def of(cls, model: LoadedModel, records: TokenRecords) -> HeadFeatures | None:
        """None if more than a head is trained, or if the head reads more than one place."""
        if not model.classes or not model.fixed:
            return None
        network = model.begin_training()
        head = HeadOnly.of(network)
        trained = (one for one in network.parameters() if one.requires_grad)
        if head is None or not head.has_all(trained) or not head.is_steady():
            return None
        if len(records.lengths) * head.width > MOST_NUMBERS:
            return None
        return cls(head, _known(head, records))

    def inputs(self, rows: PhysicalBatch, some: Tensor) -> dict[str, Any]:
        """What the head is called with, for some rows of a batch."""
        return {"features": self.values[rows.numbers[some]]}


_KEPT: OrderedDict[bytes, Tensor] = OrderedDict()


def _known(head: HeadOnly, records: TokenRecords) -> Tensor:
    """The features, computed unless the same layers have read the same rows in this process."""
    key = _identity(head, records)
    if key not in _KEPT:
        found = compute_features(head, records)
        if found.numel() > MOST_KEPT_NUMBERS:
            return found
        _KEPT[key] = found
    _KEPT.move_to_end(key)
    while len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return _KEPT[key]


def _identity(head: HeadOnly, records: TokenRecords) -> bytes:
    """A digest of all frozen weights and of the rows; it stays in this process."""
    found = blake2b(head.place.encode())
    for name, one in head.network.named_parameters():
        if not one.requires_grad:
            found.update(name.encode())
            found.update(np.ascontiguousarray(one.detach().cpu().numpy()).data)
    for numbers in (records.tokens, records.starts, records.lengths):
        found.update(np.ascontiguousarray(numbers).data)
    return found.digest()


def compute_features(head: HeadOnly, records: TokenRecords) -> Tensor:
    """A line for each row of the records."""
    values = torch.zeros(len(records.lengths), head.width)
    everyone = range(len(records))
    most = max(TOKENS_AT_ONCE, records.context)
    head.network.eval()
    with hide_members(), progress("reading", len(values), unit_is_bytes=False) as advance:
        done = 0
        for group in physical_batches(records, everyone, most_tokens=most):
            for rows in group:
                values[rows.numbers] = head.features(rows.input_ids, rows.attention_mask)
                done += len(rows.numbers)
                advance(done)
    return values
