"""What a client does in a round: a few epochs of ordinary steps on its own documents.

Guarantee
    The weights that a client sends depend on the weights that it was given, its own documents and
    its own random numbers, and on nothing of another client.

Care
    Nothing here has noise or a bound: that is the server's part. Losses are private, and so is how
    long a client takes. Its order of documents, and what is hidden in them, come from a stream of
    its own.

Reference
    McMahan et al. 2017, "Communication-efficient learning of deep networks from decentralized data"
    (ClientUpdate).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfumato.core.checks import at_least, between, positive
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel, draw_weights_from
from sfumato.training.batches import physical_batches
from sfumato.training.records import TokenRecords
from sfumato.training.row_losses import row_losses
from sfumato.training.settings import LARGEST_RATE
from sfumato.training.steps import hide_members

# Streams of a client in a round.
_DROPOUT, _DOCUMENTS, _EXAMPLES = range(3)


@dataclass(frozen=True)
class Trained:
    """The weights after a round; loss and tokens are private, for the owner of the documents."""

    weights: Mapping[str, Tensor]
    loss: float
    tokens: int


@dataclass(frozen=True, kw_only=True)
class LocalTraining:
    """``epochs`` passes over a client's documents, ``batch_size`` of them in each step of SGD."""

    epochs: int = 1
    learning_rate: float = 0.1
    batch_size: int = 8

    def __post_init__(self) -> None:
        at_least("local_epochs", self.epochs, 1)
        rate = positive("local_learning_rate", self.learning_rate)
        between("local_learning_rate", rate, 0.0, LARGEST_RATE)
        at_least("local_batch_size", self.batch_size, 1)

    def run(
        self,
        model: LoadedModel,
        start: Mapping[str, Tensor],
        records: TokenRecords,
        randomness: Randomness,
        *,
        tokens_at_once: int = 4096,
    ) -> Trained:
        """Train from ``start`` on all records; a record is a document of the client.

        Afterwards, and after an error, the model is as it was before.
        """
        network: Any = model.begin_training()
        with _put_back(network):
            return self._train(network, start, records, randomness, tokens_at_once)

    def _train(
        self,
        network: Any,
        start: Mapping[str, Tensor],
        records: TokenRecords,
        randomness: Randomness,
        tokens_at_once: int,
    ) -> Trained:
        weights = _trained(network)
        for name, one in weights.items():
            one.data.copy_(start[name])
        optimizer = torch.optim.SGD(weights.values(), lr=self.learning_rate)
        loss, tokens = 0.0, 0
        with hide_members(), draw_weights_from(randomness.stream(_DROPOUT)):
            for epoch in range(self.epochs):
                order = randomness.stream(_DOCUMENTS).stream(epoch).uniform(len(records)).argsort()
                for place in range(0, len(order), self.batch_size):
                    some = np.sort(order[place : place + self.batch_size])
                    own = randomness.stream(_EXAMPLES).stream(epoch).stream(place)
                    drawn, members = records.drawn(some, own)
                    optimizer.zero_grad()
                    most = max(tokens_at_once, drawn.context)
                    for rows in _rows(drawn, members, most):
                        losses = row_losses(
                            network, rows.inputs(), rows.labels, rows.weights, rows.levels
                        )
                        total = losses.sum() / len(some)
                        total.backward()  # type: ignore[no-untyped-call]
                        loss += float(losses.detach().sum())
                        tokens += int(rows.attention_mask.sum())
                    optimizer.step()
        found = {name: one.detach().clone() for name, one in weights.items()}
        return Trained(found, loss / max(1, self.epochs * len(records)), tokens)


def _trained(network: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    return {name: one for name, one in network.named_parameters() if one.requires_grad}


@contextmanager
def _put_back(network: torch.nn.Module) -> Iterator[None]:
    """Whatever happens within this block, the network is then as it was before.

    What a client has computed has no bound and no noise: not its weights, nor numbers that a
    forward pass changes, such as running means. In a simulation the network is the server's, and
    whoever has it must not find them there.
    """
    changed: dict[str, Tensor] = {**_trained(network), **dict(network.named_buffers())}
    before = {name: one.detach().clone() for name, one in changed.items()}
    try:
        yield
    finally:
        for name, one in changed.items():
            one.data.copy_(before[name])
            one.grad = None


def _rows(records: TokenRecords, members: Sequence[int] | NDArray[np.intp], most: int) -> Any:
    for group in physical_batches(records, members, most_tokens=most):
        yield from group


def documents_of(records: TokenRecords, chosen: NDArray[np.intp]) -> TokenRecords:
    """Some of the records, numbered from 0, as if there were no others."""
    rows = np.concatenate(
        [np.arange(records.first[one], records.first[one + 1]) for one in chosen]
        or [np.empty(0, dtype=np.int64)]
    ).astype(np.int64)
    sizes = np.diff(records.first)[chosen]
    targets = records.targets
    if targets is not None:
        targets = replace(targets, starts=targets.starts[rows], lengths=targets.lengths[rows])
    return replace(
        records,
        starts=records.starts[rows],
        lengths=records.lengths[rows],
        first=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        classes=None if records.classes is None else records.classes[rows],
        targets=targets,
    )
