"""Federated averaging with a guarantee for every client, simulated in this process.

Guarantee
    (epsilon, delta)-DP of the weights after every round, for neighbors of which one lacks a client
    (an author, with all of its documents) of the other. The server itself, who sees updates, is not
    covered: in a simulation that is this process.

Why it holds
    A round is a step of the plan of DP-SGD whose units are the clients: Poisson coins, updates in
    place of gradients, clipped to C, noise once, divided by the expected number of clients
    (``averaging``, ``server``).

Reference
    McMahan, Ramage, Talwar and Zhang 2018, "Learning differentially private recurrent language
    models".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.settings import shown_settings
from sfumato.guarantees.guarantee import Guarantee
from sfumato.training.methods.base import TRAINING, Prepared, Task, TrainingMethod
from sfumato.training.processes.team import current_team
from sfumato.training.stages import lengths

if TYPE_CHECKING:
    from torch import Tensor

    from sfumato.core.randomness import Randomness
    from sfumato.federation.averaging import Reply
    from sfumato.federation.clients import LocalTraining, Trained
    from sfumato.federation.server import Server
    from sfumato.text.document import Document
    from sfumato.training.folder import RunFolder
    from sfumato.training.loop import WatchSteps
    from sfumato.training.methods.promise import PolicyPromise
    from sfumato.training.plan import LogicalBatch, Plan
    from sfumato.training.records import TokenRecords
    from sfumato.training.request import Request
    from sfumato.training.settings import Course, Privacy

# The stream of what clients draw; those of ``training.loop`` come before it.
CLIENTS = 8
SERVER_SEES = "the server, which sees the update of every client that it asks"


@dataclass(frozen=True)
class Federated(TrainingMethod):
    """Federated averaging: authors are clients, and a batch is the clients of a round.

    Each round, a client takes ``local_epochs`` passes over its own documents, ``local_batch_size``
    of them in each step of SGD at ``local_learning_rate``. ``rounds`` takes the place of epochs:
    how often the server asks. The course's optimizer is that of the server.
    """

    name: ClassVar[str] = "federated"
    adds_up: ClassVar[bool] = True

    rounds: int | None = None
    local_epochs: int = 1
    local_learning_rate: float = 0.1
    local_batch_size: int = 8

    def __post_init__(self) -> None:
        if self.rounds is not None:
            at_least("rounds", self.rounds, 1)
        self.local  # noqa: B018  # an error if it is wrong

    @property
    def local(self) -> LocalTraining:
        """What a client does in a round."""
        from sfumato.federation.clients import LocalTraining

        return LocalTraining(
            epochs=self.local_epochs,
            learning_rate=self.local_learning_rate,
            batch_size=self.local_batch_size,
        )

    def check(self, request: Request) -> None:
        """Refuse several processes, another unit than the author, and clipping of another kind."""
        super().check(request)
        if current_team().size > 1:
            raise InvalidArgument(
                "the method federated has clients of its own, which train one after the other in "
                "one process: start it in one"
            )
        if request.privacy.unit != "author":
            raise InvalidArgument(
                "the method federated protects its clients, and these are the authors: give "
                "`unit='author'` and `author_field=NAME`"
            )
        if request.privacy.clipping.kind != "fixed":
            raise InvalidArgument(
                "the method federated clips updates of clients to a fixed norm; leave "
                "`clipping=...` out"
            )

    def plan(self, privacy: Privacy, clients: int) -> Plan:
        """The plan for so many clients: a step is a round."""
        if self.rounds is None:
            return privacy.plan(clients)
        drafted = privacy.draft(clients)
        parts = zip(drafted.stages, lengths(self.rounds, len(drafted.stages)), strict=True)
        stages = tuple(replace(stage, steps=steps) for stage, steps in parts)
        return replace(drafted, stages=stages).with_epsilon(privacy.epsilon)

    def prepare(self, task: Task) -> Prepared:
        """The documents of each author are those of a client."""
        clients = Clients.of(task)
        plan = self.plan(task.privacy, len(clients))

        def fit(randomness: Randomness, folder: RunFolder, watch: WatchSteps | None) -> Guarantee:
            from sfumato.federation.server import Server

            own = randomness.stream(TRAINING)
            opened = Server.opened(task.model, plan, task.course, randomness=own, folder=folder)
            with opened as server:
                simulate(server, clients, self.local, watch)
                return server.guarantee()

        return Prepared(plan, clients, fit)

    @staticmethod
    def alone(task: Task) -> Task:
        """The task of a client, to whom each document is a record of its own."""
        return replace(task, privacy=replace(task.privacy, unit="example", record=""))

    def promise(self, guarantee: Guarantee, protection: PolicyPromise | None) -> Guarantee:
        """The guarantee of the plan, for all but the server."""
        stated = super().promise(guarantee, protection)
        return stated.not_covering(SERVER_SEES) if guarantee.epsilon < np.inf else stated

    def as_dict(self, privacy: Privacy, course: Course) -> dict[str, object]:  # noqa: ARG002
        """There is no public step."""
        return {"public": None, "method_settings": shown_settings(self)}


@dataclass(frozen=True, eq=False)
class Clients:
    """The documents of all clients, and whose each of them is."""

    records: TokenRecords
    owner: NDArray[np.intp]
    count: int

    @classmethod
    def of(cls, task: Task) -> Clients:
        """Authors in the order of their first documents; a document is a record of its own."""
        owner = number_authors(task.documents)
        return cls(Federated.alone(task).records(), owner, int(owner.max(initial=-1)) + 1)

    def __len__(self) -> int:
        return self.count

    def documents(self, client: int) -> TokenRecords:
        """What a client trains on, as if there were no other."""
        from sfumato.federation.clients import documents_of

        return documents_of(self.records, (self.owner == client).nonzero()[0])

    def lines(self) -> tuple[str, ...]:
        """A summary for the owner of the documents, in lines."""
        return (f"{len(self):,} clients: {self.records.counts.summary()}",)

    def public_bits(self) -> Sequence[NDArray[np.generic]]:
        """Without a policy there are none."""
        return ()


def number_authors(documents: Sequence[Document]) -> NDArray[np.intp]:
    """The number of each document's author, counted as they come."""
    numbers: dict[str, int] = {}
    found = []
    for number, document in enumerate(documents, start=1):
        if document.author is None:
            raise BadInput(
                f"document {number} has no author, but the clients of a federation are its "
                "authors; name the field that holds them: `author_field=NAME`"
            )
        found.append(numbers.setdefault(document.author, len(numbers)))
    return np.array(found, dtype=np.intp)


def simulate(
    server: Server, clients: Clients, local: LocalTraining, watch: WatchSteps | None = None
) -> None:
    """All rounds that are left, with clients that train one after the other in this process."""
    from sfumato.training.loop import Progress

    for batch in server.rounds():
        began, start = time.perf_counter(), server.weights()
        seen: list[Trained] = []

        def train(
            client: int, batch: LogicalBatch = batch, start: dict[str, Tensor] = start
        ) -> Trained:
            own = client_stream(server.randomness, batch.step, client)
            at_once = server.course.tokens_at_once
            documents = clients.documents(client)
            return local.run(server.model, start, documents, own, tokens_at_once=at_once)

        server.take(batch, start, _replies(batch, train, seen))
        if watch:
            loss = sum(one.loss for one in seen) / max(1, len(seen))
            tokens = sum(one.tokens for one in seen)
            watch(Progress(batch.step + 1, loss, tokens, time.perf_counter() - began))
        server.now.stop_if_asked()


def _replies(
    batch: LogicalBatch, train: Callable[[int], Trained], seen: list[Trained]
) -> Iterator[Reply]:
    """Answers, each computed when it is asked for: one client's weights at a time."""
    from sfumato.federation.averaging import Reply

    for client in batch.members.tolist():
        done = train(client)
        seen.append(replace(done, weights={}))
        yield Reply(client, batch.step, done.weights)


def client_stream(randomness: Randomness, step: int, client: int) -> Randomness:
    """What a client draws from in a round; with a seed, the same wherever the client runs."""
    return randomness.stream(CLIENTS).stream(step).stream(client)
