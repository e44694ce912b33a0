"""What frozen layers say of every row, computed once and used in every epoch.

Where many models have the same frozen layers, as in a study, they are also read once for all of
them when these are evaluated and attacked (``training.keeping``).

Guarantee
    That of the training, unchanged: the gradient of a record is the same function of the record and
    of the head's weights, whether the frozen layers are computed again or not.

Why it holds
    Nothing in the frozen layers is trained, and nothing in them is drawn: their modules stay in
    evaluation mode (``models.trainable``). A row's features depend on this row alone, which is
    compared in batches of the records themselves, as training compares its own (``row_checks``):
    training on features would never see it. If rows do influence each other, features are not used,
    and training on the whole network refuses it. The head gives the network's own scores for
    features (``models.head``, where that is tested for each network before it is relied on).
    Clipping, noise and sampling come afterwards.

Care
    Features are as private as the text; they are kept in memory and written nowhere. The last ones
    (``MOST_KEPT``), if they are not large, are kept until the process ends, for further runs on
    the same rows with the same frozen network, as in a study. Both ways of computing differ by the
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

from sfumato.core.errors import CoupledRows, InvalidArgument
from sfumato.core.progress import progress
from sfumato.core.randomness import Randomness
from sfumato.models.head import HeadOnly
from sfumato.models.load import LoadedModel
from sfumato.training.batches import PhysicalBatch, physical_batches
from sfumato.training.clipping.row_checks import SLACK_IN_OTHER_SHAPES, CheckSchedule, RowSplit
from sfumato.training.keeping import KEEPING
from sfumato.training.processes.meetings import STARTED, meet
from sfumato.training.processes.team import current_team
from sfumato.training.records import TokenRecords
from sfumato.training.steps import hide_members

TOKENS_AT_ONCE = 8192
# More numbers than these, 4 GB, are not kept; layers are computed again in every epoch then.
MOST_NUMBERS = 2**30
# For further runs: of so many groups of rows, of so many numbers (256 MB) in all.
MOST_KEPT, MOST_KEPT_NUMBERS = 16, 2**26


@dataclass(frozen=True, eq=False)
class HeadFeatures:
    """The features of all rows of some records, and the head that reads them."""

    head: HeadOnly
    values: Tensor = field(repr=False)

    @classmethod
    def of(cls, model: LoadedModel, records: TokenRecords) -> HeadFeatures | None:
        """None if more than a head is trained, or if the head reads more than one place.

        Also if rows influence each other: then training on the whole network finds out and charges.
        """
        if not model.classes or not model.fixed:
            return None
        network = model.begin_training()
        head = HeadOnly.of(network)
        trained = (one for one in network.parameters() if one.requires_grad)
        if head is None or not head.has_all(trained) or not head.is_steady():
            return None
        if len(records.lengths) * head.width > MOST_NUMBERS:
            return None
        # Each process of a team needs the rows of its own units, and one that finds rows coupled
        # must not be the only one to train on the whole network.
        team = current_team()
        own = range(team.rank, len(records), team.size)
        try:
            values = _known(head, records, own)
        except CoupledRows:
            values = None
        if not all(row[0] for row in meet(team, STARTED, [values is not None])):
            return None
        return None if values is None else cls(head, values)

    @classmethod
    def of_trained(cls, model: LoadedModel, records: TokenRecords) -> HeadFeatures | None:
        """For a classifier that is only asked; None unless features are kept (``keeping``).

        The head is that of this model. What its layers say is known if another model with the same
        layers has read the same rows.
        """
        if not KEEPING.get() or not model.classes:
            return None
        network: Any = model.network.eval()
        try:
            head = HeadOnly.of(network)
            if head is None or len(records.lengths) * head.width > MOST_KEPT_NUMBERS:
                return None
            return cls(head, _known(head, records))
        except (CoupledRows, InvalidArgument):  # it has no list of layers, for example
            return None

    def inputs(self, rows: PhysicalBatch, some: Tensor) -> dict[str, Any]:
        """What the head is called with, for some rows of a batch."""
        return {"features": self.values[rows.numbers[some]]}


_KEPT: OrderedDict[bytes, Tensor] = OrderedDict()


def _known(head: HeadOnly, records: TokenRecords, some: range | None = None) -> Tensor:
    """The features, computed unless the same layers have read the same rows in this process."""
    chosen = range(len(records)) if some is None else some
    key = _identity(head, records) + repr(chosen).encode()
    if key not in _KEPT:
        found = compute_features(head, records, chosen)
        if found.numel() > MOST_KEPT_NUMBERS:
            return found
        _KEPT[key] = found
    _KEPT.move_to_end(key)
    while len(_KEPT) > MOST_KEPT or sum(map(Tensor.numel, _KEPT.values())) > MOST_KEPT_NUMBERS:
        _KEPT.popitem(last=False)
    return _KEPT[key]


def _identity(head: HeadOnly, records: TokenRecords) -> bytes:
    """A digest of the network before its head, and of the rows; it stays in this process.

    The same weights are another function with other settings, such as the number of heads.
    """
    network = head.network
    settings = network.config.to_json_string()
    found = blake2b(f"{head.place} {type(network).__qualname__} {settings}".encode())
    for name, one in (*network.named_parameters(), *network.named_buffers()):
        if not head.has_all([one]):
            found.update(f"{name} {one.dtype} {tuple(one.shape)}".encode())
            found.update(np.ascontiguousarray(one.detach().cpu().numpy()).data)
    for numbers in (records.tokens, records.starts, records.lengths):
        found.update(np.ascontiguousarray(numbers).data)
    return found.digest()


def compute_features(head: HeadOnly, records: TokenRecords, some: range | None = None) -> Tensor:
    """A line for each row of the records; zeros for those of other records than ``some``."""
    values = torch.zeros(len(records.lengths), head.width, dtype=head.network.dtype)
    everyone = range(len(records)) if some is None else some
    most = max(TOKENS_AT_ONCE, records.context)
    coin = Randomness.secure()
    schedule = CheckSchedule(coin)
    head.network.eval()
    with hide_members(), progress("reading", len(values), unit_is_bytes=False) as advance:
        done = 0
        for group in physical_batches(records, everyone, most_tokens=most):
            for rows in group:
                found = head.features(rows.input_ids, rows.attention_mask)
                if len(found) > 1 and schedule.due():
                    _refuse_coupled(head, rows, found, RowSplit.drawn(len(found), coin))
                    schedule.passed()
                values[rows.numbers] = found
                done += len(found)
                advance(done)
    return values


def _refuse_coupled(head: HeadOnly, rows: PhysicalBatch, found: Tensor, split: RowSplit) -> None:
    """Refuse features of a row that change when other rows are replaced, or left out."""
    kept, mine = split.kept, found[split.kept]
    sizes = mine.abs().amax(1, keepdim=True)
    allowed = SLACK_IN_OTHER_SHAPES * (sizes + sizes.max())
    for places, same in ((split.replaced, kept), (kept, torch.arange(len(kept)))):
        again = head.features(rows.input_ids[places], rows.attention_mask[places])[same]
        if bool(((again - mine).abs() > allowed).any()):
            raise CoupledRows(
                "what frozen layers say of a row changes with other rows of its batch"
            )
