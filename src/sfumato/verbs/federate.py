"""``sfumato.federate``: federated training with a guarantee for every client, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.checks import extra
from sfumato.verbs.train import train

if TYPE_CHECKING:
    from sfumato.models.private_tokenizer import PrivateTokenizer
    from sfumato.models.tokenizer import Tokenizer
    from sfumato.training.run import Run


def federate(
    corpus: str | Path,
    folder: str | Path,
    *,
    author_field: str,
    epsilon: float | None = None,
    delta: float | str = "auto",
    rounds: int = 100,
    clients_per_round: int = 64,
    local_epochs: int = 1,
    local_learning_rate: float = 0.1,
    local_batch_size: int = 8,
    clip_norm: float = 1.0,
    accountant: str = "pld",
    model: str | Path = "gpt-small",
    objective: str | None = None,
    settings: Mapping[str, object] | None = None,
    lora_rank: int | None = None,
    trainable: str | None = None,
    pooling: str | None = None,
    tokenizer: str | Path | Tokenizer | PrivateTokenizer | None = None,
    tokenizer_corpus: str | Path | None = None,
    tokenizer_epsilon: float | None = None,
    classes: Sequence[str | int] = (),
    tags: Sequence[str] = (),
    learning_rate: float = 1.0,
    optimizer: str = "sgd",
    schedule: str = "constant",
    field: str = "text",
    label_field: str | None = None,
    span_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    long: str = "split",
    valid: str | Path | None = None,
    resume: bool = False,
    checkpoint_every: int = 1,
    tokens_at_once: int = 4096,
    seed: int | None = None,
    budget: str | Path | None = None,
    account: str | None = None,
    budget_key: str | Path | None = None,
) -> Run:
    """Train a model as a federation would, with a guarantee for every author of a corpus.

    Authors are the clients. In each of ``rounds`` every client is asked by a coin of its own,
    ``clients_per_round`` of them on average. It takes ``local_epochs`` passes over its documents,
    ``local_batch_size`` of them in each step at ``local_learning_rate``; its update is clipped to
    ``clip_norm``, noise is added to the sum once, and the sum is divided by ``clients_per_round``.
    ``optimizer`` and ``learning_rate`` are those of the server: ``sgd`` at 1 is federated
    averaging, ``momentum`` FedAvgM, ``adam`` FedAdam.

    ``folder`` then holds a run as ``sfumato.train`` makes it, and everything that opens runs opens
    it. All other settings are those of ``sfumato.train``, which has more of them, with
    ``method="federated"``.
    """
    extra("torch", needed_for="training", extra="train")
    from sfumato.federation.method import Federated

    return train(
        corpus,
        folder,
        method=Federated(
            rounds=rounds,
            local_epochs=local_epochs,
            local_learning_rate=local_learning_rate,
            local_batch_size=local_batch_size,
        ),
        epsilon=epsilon,
        delta=delta,
        unit="author",
        author_field=author_field,
        batch_size=clients_per_round,
        clip_norm=clip_norm,
        accountant=accountant,
        model=model,
        objective=objective,
        settings=settings,
        lora_rank=lora_rank,
        trainable=trainable,
        pooling=pooling,
        tokenizer=tokenizer,
        tokenizer_corpus=tokenizer_corpus,
        tokenizer_epsilon=tokenizer_epsilon,
        classes=classes,
        tags=tags,
        learning_rate=learning_rate,
        optimizer=optimizer,
        schedule=schedule,
        field=field,
        label_field=label_field,
        span_field=span_field,
        format=format,
        encoding=encoding,
        header=header,
        long=long,
        valid=valid,
        resume=resume,
        checkpoint_every=checkpoint_every,
        tokens_at_once=tokens_at_once,
        seed=seed,
        budget=budget,
        account=account,
        budget_key=budget_key,
    )
