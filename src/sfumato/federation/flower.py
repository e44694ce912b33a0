"""Flower carries the messages: a strategy over ``Server``, and two apps that can be used as is.

Guarantee
    That of ``server``. Flower decides when messages travel, and nothing else: who is asked, what is
    taken of the answers, the noise, the charge and the weights are the server's.

Why it holds
    A client is known by the node that sent a reply, which Flower's SuperLink states, and a round by
    the group of the message that it answers; neither is taken from what a client wrote. Weights are
    sent in ``configure_train`` only, and those are charged. Metrics of clients are not read, and no
    evaluation is sent to them: both would be figures without noise. Replies are waited for to the
    last, or by the clock.

Care
    Flower's own wrappers for differential privacy are not used; ``sfumato verify --exhibit`` has
    what is wrong with them. Flower sends telemetry unless FLWR_TELEMETRY_ENABLED=0 is in the
    environment of each of its programs. An insecure SuperLink believes anybody who calls: use TLS
    and authenticated SuperNodes.

The apps, for ``[tool.flwr.app.components]``::

    serverapp = "sfumato.federation.flower:server_app"
    clientapp = "sfumato.federation.flower:client_app"

Reference
    Beutel et al. 2020, "Flower: a friendly federated learning research framework"; flwr 1.41.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import Strategy
from torch import Tensor

from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.federation.averaging import Reply
from sfumato.federation.deployment import Deployment, OwnDocuments, fingerprint
from sfumato.federation.method import Federated, client_stream
from sfumato.federation.server import Server
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.load import LoadedModel
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.loop import WatchSteps
from sfumato.training.methods.base import TRAINING, Prepared, Task
from sfumato.training.plan import LogicalBatch
from sfumato.training.records import TokenRecords
from sfumato.training.run import Run

ARRAYS, CONFIG = "arrays", "config"
_PAUSE = 1.0  # seconds between two looks at who has come


class PrivateAveraging(Strategy):  # type: ignore[misc]  # flwr is not typed here
    """Rounds of a ``Server`` as Flower's messages; client i is ``nodes[i]``, fixed at the start."""

    def __init__(self, server: Server, nodes: Sequence[int]) -> None:
        if len(nodes) != server.plan.units or len(set(nodes)) != len(nodes):
            raise InvalidArgument(
                f"the plan is for {server.plan.units:,} clients, and there are "
                f"{len(set(nodes)):,}; their number is public and fixed before the first round"
            )
        server.refuse_to_send_unsaved()
        self.server = server
        self.nodes = tuple(nodes)
        self._rounds = server.rounds()
        self._fingerprint = fingerprint(server.model)
        self._open: tuple[LogicalBatch, dict[str, Tensor]] | None = None

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask the clients that the coins of the plan have chosen, maybe none."""
        del server_round, arrays, grid  # the server has its own count, and its own weights
        batch, start = next(self._rounds), self.server.weights()
        self._open = batch, start
        sent = to_arrays(start)
        told = dict(config) | {"step": batch.step, "fingerprint": self._fingerprint}
        # A list: a grid may go through it more than once.
        return [
            Message(
                RecordDict({ARRAYS: sent, CONFIG: ConfigRecord(told | {"client": client})}),
                dst_node_id=self.nodes[client],
                message_type="train",
                group_id=str(batch.step),
            )
            for client in batch.members.tolist()
        ]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The noisy mean of what fits; metrics are dropped."""
        del server_round
        if self._open is None:
            raise InvalidArgument("no round is open: nothing was asked that could be answered")
        (batch, start), self._open = self._open, None
        self.server.take(batch, start, self._read(batch.step, replies))
        self.server.now.stop_if_asked()
        return to_arrays(self.server.weights()), None

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Nobody is asked: figures of clients have no noise."""
        del server_round, arrays, config, grid
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> None:
        """Nothing is taken."""
        del server_round, replies

    def summary(self) -> None:
        """Nothing beyond what Flower itself says."""

    def _read(self, step: int, replies: Iterable[Message]) -> Iterator[Reply]:
        numbers = {node: client for client, node in enumerate(self.nodes)}
        for message in replies:
            client = numbers.get(message.metadata.src_node_id)
            this = message.metadata.group_id == str(step)
            if client is not None and this and not message.has_error():
                yield Reply(client, step, _weights_in(message))


def _weights_in(message: Message) -> Mapping[str, Tensor]:
    """What a client has sent; nothing, which fits no model, if it cannot be read."""
    try:
        return from_arrays(message.content[ARRAYS])
    except Exception:  # a client can send anything, and what it sends must not stop a round
        return {}


def to_arrays(weights: Mapping[str, Tensor]) -> ArrayRecord:
    """Weights as Flower sends them."""
    return ArrayRecord({name: Array(one.cpu().numpy()) for name, one in weights.items()})


def from_arrays(record: ArrayRecord) -> dict[str, Tensor]:
    """Weights as Flower has brought them."""
    return {name: torch.from_numpy(array.numpy().copy()) for name, array in record.items()}


@dataclass(frozen=True)
class Deployed(Federated):
    """The rounds of ``Federated`` with clients at the nodes of a grid."""

    grid: Any = field(default=None, repr=False)
    nodes: tuple[int, ...] = field(default=(), repr=False)
    timeout: float = field(default=3600.0, repr=False)

    def prepare(self, task: Task) -> Prepared:
        """There are no documents here: they stay with the clients."""
        plan = self.plan(task.privacy, len(self.nodes))

        def fit(randomness: Randomness, folder: RunFolder, watch: WatchSteps | None) -> Guarantee:
            del watch  # the losses stay with the clients, too
            own = randomness.stream(TRAINING)
            opened = Server.opened(task.model, plan, task.course, randomness=own, folder=folder)
            with opened as server:
                strategy = PrivateAveraging(server, self.nodes)
                start = to_arrays(server.weights())
                strategy.start(self.grid, start, num_rounds=server.left, timeout=self.timeout)
                return server.guarantee()

        return Prepared(plan, _Elsewhere(len(self.nodes)), fit)


@dataclass(frozen=True)
class _Elsewhere:
    """Clients of which only the number is known."""

    clients: int

    def lines(self) -> tuple[str, ...]:
        """For the owner of the server."""
        return (f"{self.clients:,} clients",)

    def public_bits(self) -> Sequence[Any]:
        """Without a policy there are none."""
        return ()


def serve(grid: Grid, values: Mapping[str, object]) -> Run:
    """Wait for all clients, then train; the folder ``output`` is a run as any other."""
    asked = Deployment.read(values)
    nodes = tuple(_wait_for(grid, asked))
    usual = asked.method()
    method = Deployed(
        rounds=usual.rounds,
        local_epochs=usual.local_epochs,
        local_learning_rate=usual.local_learning_rate,
        local_batch_size=usual.local_batch_size,
        grid=grid,
        nodes=nodes,
        timeout=asked.timeout,
    )
    request = asked.request(method, seed=asked.seed)
    return train_model(request, (), RunFolder(Path(asked.output)), resume=asked.resume)


def _wait_for(grid: Grid, asked: Deployment) -> list[int]:
    """The nodes that are there when as many have come as the plan is for."""
    until = time.monotonic() + asked.timeout
    while True:
        nodes = sorted(grid.get_node_ids())
        if len(nodes) == asked.clients:
            return nodes
        if len(nodes) > asked.clients or time.monotonic() > until:
            raise InvalidArgument(
                f"the configuration says clients = {asked.clients}, but {len(nodes)} have come: "
                "their number is in the plan, so it must be stated before, and all must be there"
            )
        time.sleep(_PAUSE)


def answer(message: Message, context: Context) -> Message:
    """A client's part of a round: weights in, weights out, and nothing about its documents."""
    told = message.content[CONFIG]
    asked = Deployment.read(context.run_config)
    own = OwnDocuments.read(context.node_config)
    model, records, shape = _opened(asked, own)
    if told["fingerprint"] != shape:
        raise SfumatoError("this client has another tokenizer, or other weights that stay fixed")
    stream = Randomness.secure()
    if asked.seed is not None:  # for studies: not for release
        root = Randomness.reproducible(asked.seed).stream(TRAINING)
        stream = client_stream(root, int(told["step"]), int(told["client"]))
    start = from_arrays(message.content[ARRAYS])
    done = asked.local.run(model, start, records, stream, tokens_at_once=asked.tokens_at_once)
    return Message(RecordDict({ARRAYS: to_arrays(done.weights)}), reply_to=message)


@lru_cache(maxsize=4)
def _opened(asked: Deployment, own: OwnDocuments) -> tuple[LoadedModel, TokenRecords, str]:
    """Model and documents of a client, read once for all rounds."""
    asked = replace(
        asked, model=own.model or asked.model, tokenizer=own.tokenizer or asked.tokenizer
    )
    request = asked.request(asked.method())
    # What is drawn here is replaced by what the server sends.
    model = request.load(Randomness.secure())
    return model, own.records(request, model), fingerprint(model)


def _main(grid: Grid, context: Context) -> None:
    serve(grid, context.run_config)


client_app = ClientApp()
client_app.train()(answer)
server_app = ServerApp()
server_app.main()(_main)
