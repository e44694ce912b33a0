"""The settings of a federation whose clients are elsewhere, as its configuration files write them.

Server and clients read the same table (``Deployment``), so they agree on the model and on what is
done in a round; each client adds where its own documents are (``OwnDocuments``). Nothing here
depends on the engine that carries messages.

Care
    What is frozen must be the same everywhere, and the tokenizer, too: the server tells clients a
    digest of both, and a client that has others does not answer. A client that is one person's in
    two places is two clients, each with the level of the guarantee.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import torch

from sfumato.core.checks import at_least, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.settings import FileToRead, FolderToFill, read_table
from sfumato.federation.clients import LocalTraining
from sfumato.federation.method import Federated
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.models.load import LoadedModel
from sfumato.models.name import is_built_in
from sfumato.models.trainable import ALL
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.objectives import kind_to_train
from sfumato.training.records import TokenRecords
from sfumato.training.request import Request
from sfumato.training.settings import Course, Privacy


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The settings of ``sfumato.federate`` under the same names, and who takes part.

    ``clients`` is the number of all clients, a public number; the server waits ``timeout`` seconds
    for them to come, and as long for the answers of a round. ``classes`` and ``model_settings``
    (``hidden=100``) are lists by commas.
    """

    clients: int
    output: FolderToFill
    epsilon: float
    delta: float | str = "auto"
    rounds: int = 100
    clients_per_round: int = 64
    local_epochs: int = 1
    local_learning_rate: float = 0.1
    local_batch_size: int = 8
    clip_norm: float = 1.0
    accountant: str = "pld"
    model: FileToRead = "gpt-small"
    model_settings: str = ""
    tokenizer: FileToRead = ""
    classes: str = ""
    lora_rank: int | None = None
    trainable: str | None = None
    learning_rate: float = 1.0
    optimizer: str = "sgd"
    schedule: str = "constant"
    long: str = "split"
    tokens_at_once: int = 4096
    timeout: float = 3600.0
    resume: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        at_least("clients", self.clients, 2)
        positive("timeout", self.timeout)

    @classmethod
    def read(cls, values: Mapping[str, object]) -> Deployment:
        """From a table; an unknown key is an error."""
        return read_table(cls, dict(values), "the configuration of the federation")

    @property
    def local(self) -> LocalTraining:
        """What a client does in a round."""
        return self.method().local

    def method(self) -> Federated:
        """The method whose rounds these are."""
        return Federated(
            rounds=self.rounds,
            local_epochs=self.local_epochs,
            local_learning_rate=self.local_learning_rate,
            local_batch_size=self.local_batch_size,
        )

    def request(self, method: Federated, *, seed: int | None = None) -> Request:
        """What is trained; every round is saved before the next one is sent."""
        classes = tuple(one.strip() for one in self.classes.split(",") if one.strip())
        asked = Request(
            model=self.model,
            privacy=Privacy(
                epsilon=self.epsilon,
                delta=self.delta,
                batch_sizes=(self.clients_per_round,),
                unit="author",
                clipping=Clipping(norm=self.clip_norm),
                accountant=self.accountant,
            ),
            method=method,
            course=Course(
                optimizer=self.optimizer,
                learning_rate=self.learning_rate,
                schedule=self.schedule,
                tokens_at_once=self.tokens_at_once,
                checkpoint_every=1,
            ),
            kind=kind_to_train(self.model, None, classes),
            classes=classes,
            long=self.long,
            lora_rank=self.lora_rank,
            trainable=self.trainable,
            tokenizer=self.tokenizer or None,
            settings=dict(_pair(one) for one in self.model_settings.split(",") if one.strip()),
            seed=seed,
        )
        if is_built_in(self.model) and asked.trained.part != ALL:
            raise InvalidArgument(
                f"the weights of {self.model} are drawn anew by each client, and those that are "
                "not trained would differ; train all of them, or begin with the folder of a model"
            )
        return asked


@dataclass(frozen=True, kw_only=True)
class OwnDocuments:
    """Where a client has its documents, and its own paths of the model and the tokenizer."""

    corpus: FileToRead
    field: str = "text"
    label_field: str | None = None
    format: str | None = None
    model: FileToRead | None = None
    tokenizer: FileToRead | None = None

    @classmethod
    def read(cls, values: Mapping[str, object]) -> OwnDocuments:
        """From the table of a client; an unknown key is an error."""
        return read_table(cls, dict(values), "the configuration of this client")

    def records(self, request: Request, model: LoadedModel) -> TokenRecords:
        """All documents, each a record."""
        layout = Layout(field=self.field, label_field=self.label_field)
        documents = list(Source.of(self.corpus, layout, file_format=self.format).documents())
        task = request.task(model, documents)
        # Whoever wrote them, they are those of one client.
        return Federated.alone(task).records()


def fingerprint(model: LoadedModel) -> str:
    """Identifies what is not trained, and the tokenizer: public, the same for all clients."""
    digest = sha256(repr(sorted(model.tokenizer.backend.get_vocab().items())).encode())
    network: torch.nn.Module = model.network
    for name, one in network.named_parameters():
        digest.update(f"{name} {tuple(one.shape)} {one.dtype} {one.requires_grad}".encode())
        if not one.requires_grad:
            digest.update(one.detach().double().numpy().tobytes())
    return digest.hexdigest()


def _pair(text: str) -> tuple[str, object]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InvalidArgument(f"model_settings: {text!r} must be KEY=VALUE")
    return key.strip(), value.strip()
