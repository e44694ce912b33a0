"""Flower carries messages and decides nothing: the same model as in one process, bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict

import sfumato
from federated.grid import InProcess
from sfumato.accounting.ledger import Ledger
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.federation.deployment import Deployment
from sfumato.federation.flower import ARRAYS, PrivateAveraging, serve, to_arrays
from sfumato.federation.server import Server
from sfumato.training.checkpoints import Checkpoint
from sfumato.training.settings import Course
from unit.federation.test_method import documents
from unit.training.runs import Killed, same, tokenizer, weights

AUTHORS = "abcde"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of all authors, one of each, and a tokenizer."""
    folder = tmp_path_factory.mktemp("texts")
    rows = [{"text": one.text, "author": one.author} for one in documents(AUTHORS)]
    everyone = {"all": rows} | {
        author: [row for row in rows if row["author"] == author] for author in AUTHORS
    }
    for name, some in everyone.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    tokenizer().backend.save_pretrained(folder / "tokenizer")
    return folder


def config(texts: Path, output: Path, **changes: Any) -> dict[str, Any]:
    return {
        "clients": 5, "output": str(output), "epsilon": 8.0, "delta": 1e-2, "rounds": 4,
        "clients_per_round": 3, "local_epochs": 2, "local_learning_rate": 0.5,
        "local_batch_size": 2, "clip_norm": 0.5, "accountant": "rdp", "model": "lstm",
        "model_settings": "hidden=4,embedding=4,context=12",
        "tokenizer": str(texts / "tokenizer"), "optimizer": "momentum", "seed": 1,
    } | changes  # fmt: skip


def nodes(texts: Path) -> dict[int, dict[str, Any]]:
    return {100 + n: {"corpus": str(texts / f"{a}.jsonl")} for n, a in enumerate(AUTHORS)}


def simulated(texts: Path, output: Path) -> sfumato.Run:
    settings = config(texts, output)
    own = dict(one.split("=") for one in settings.pop("model_settings").split(","))
    for name in ("clients", "output"):
        settings.pop(name)
    return sfumato.federate(
        texts / "all.jsonl", output, author_field="author", settings=own, **settings
    )


def served(texts: Path, output: Path, meddle: Any = None, **changes: Any) -> sfumato.Run:
    settings = config(texts, output, **changes)
    return serve(InProcess(nodes(texts), settings, meddle), settings)


def test_through_messages_as_in_one_process_bit_for_bit(texts: Path, tmp_path: Path) -> None:
    one, other = simulated(texts, tmp_path / "one"), served(texts, tmp_path / "other")
    assert same(weights(one.model), weights(other.model))
    assert one.plan == other.plan
    assert one.guarantee == other.guarantee
    assert (one.folder / "ledger.jsonl").read_text() == (other.folder / "ledger.jsonl").read_text()
    lost = served(texts, tmp_path / "lost", lambda _, replies: replies[1:])
    assert not same(weights(one.model), weights(lost.model))


def test_the_order_of_replies_does_not_matter(texts: Path, tmp_path: Path) -> None:
    found = [
        weights(served(texts, tmp_path / name, meddle).model)
        for name, meddle in (("a", None), ("b", lambda _, replies: replies[::-1]))
    ]
    assert same(*found)


def _with(reply: Message, change: Any) -> Message:
    """A reply with other arrays."""
    arrays = {name: one.numpy().copy() for name, one in reply.content[ARRAYS].items()}
    made = {name: Array(one) for name, one in change(arrays).items()}
    reply.content[ARRAYS] = ArrayRecord(made)
    return reply


def _nan(arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    next(iter(arrays.values())).flat[0] = np.nan
    return arrays


def _from(reply: Message, **metadata: Any) -> Message:
    reply.metadata.__dict__.update({f"_{name}": value for name, value in metadata.items()})
    return reply


def _empty(reply: Message) -> Message:
    reply.content[ARRAYS] = ArrayRecord({})
    return reply


def _without(reply: Message) -> Message:
    del reply.content[ARRAYS]
    return reply


SPOILED = {
    "nan": lambda one: _with(one, _nan),
    "names": lambda one: _with(one, lambda some: {f"x{name}": a for name, a in some.items()}),
    "shapes": lambda one: _with(one, lambda some: {n: a.reshape(-1) for n, a in some.items()}),
    "numbers": lambda one: _with(one, lambda some: {n: a.astype(float) for n, a in some.items()}),
    "stranger": lambda one: _from(one, src_node_id=7),
    "round": lambda one: _from(one, group_id="0"),
    "no round": lambda one: _from(one, group_id="next"),
    "empty": _empty,
    "without": _without,
}


@pytest.mark.parametrize("how", SPOILED)
def test_what_does_not_fit_is_as_if_it_had_not_come(texts: Path, tmp_path: Path, how: str) -> None:
    def spoil(call: int, replies: list[Message]) -> list[Message]:
        return [SPOILED[how](one) for one in replies] if call == 2 else replies

    def drop(call: int, replies: list[Message]) -> list[Message]:
        return [] if call == 2 else replies

    found = [
        weights(served(texts, tmp_path / name, meddle, rounds=2, seed=3).model)
        for name, meddle in (("spoiled", spoil), ("dropped", drop), ("whole", None))
    ]
    assert same(found[0], found[1])
    assert not same(found[0], found[2])


def test_a_second_answer_adds_nothing(texts: Path, tmp_path: Path) -> None:
    found = [
        weights(served(texts, tmp_path / name, meddle).model)
        for name, meddle in (("once", None), ("twice", lambda _, some: [*some, *some[::-1]]))
    ]
    assert same(*found)


def test_metrics_of_clients_are_dropped_and_no_weights_but_charged_ones_are_sent(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(texts, tmp_path / "run")
    results: list[Any] = []
    start = PrivateAveraging.start

    def noted(self: PrivateAveraging, *arguments: Any, **named: Any) -> Any:
        results.append(start(self, *arguments, **named))
        return results[-1]

    def report(_: int, replies: list[Message]) -> list[Message]:
        for one in replies:
            one.content["metrics"] = MetricRecord({"num-examples": 10**6, "loss": 1.5})
        charged = len((tmp_path / "run" / "ledger.jsonl").read_text().splitlines()) - 1
        steps = {int(one.metadata.group_id) for one in replies}
        assert steps <= {charged}  # weights of step n are out when n steps are charged
        return replies

    monkeypatch.setattr(PrivateAveraging, "start", noted)
    run = serve(InProcess(nodes(texts), settings, report), settings)
    assert same(weights(run.model), weights(simulated(texts, tmp_path / "one").model))
    (result,) = results
    assert not result.train_metrics_clientapp
    assert not result.evaluate_metrics_clientapp


def test_a_killed_server_goes_on(texts: Path, tmp_path: Path) -> None:
    def kill(call: int, replies: list[Message]) -> list[Message]:
        if call == 3:
            raise Killed
        return replies

    with pytest.raises(Killed):
        served(texts, tmp_path / "run", kill)
    kept = Checkpoint.load(tmp_path / "run" / "checkpoint.pt").steps
    assert kept == len((tmp_path / "run" / "ledger.jsonl").read_text().splitlines()) - 1
    again = served(texts, tmp_path / "run", resume=True)
    assert same(weights(again.model), weights(served(texts, tmp_path / "whole").model))


def test_a_client_with_another_tokenizer_does_not_answer(texts: Path, tmp_path: Path) -> None:
    errors: list[str] = []

    def listen(_: int, replies: list[Message]) -> list[Message]:
        errors.extend(one.error.reason for one in replies if one.has_error())
        return replies

    settings = config(texts, tmp_path / "run", rounds=1, clients_per_round=5)
    from sfumato.models.bpe import train_bpe

    train_bpe(["other words"] * 2, public=True, size=270).backend.save_pretrained(texts / "other")
    some = nodes(texts)
    some[102]["tokenizer"] = str(texts / "other")
    assert serve(InProcess(some, settings, listen), settings).files.finished
    assert errors == ["this client has another tokenizer, or other weights that stay fixed"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"clients": 4}, "5 have come"),
        ({"clients": 6, "timeout": 0.01}, "5 have come"),
        ({"epsilom": 3.0}, "epsilon"),
        ({"trainable": "head", "model": "gpt-small", "model_settings": ""}, "drawn anew"),
        ({"model_settings": "hidden"}, "KEY=VALUE"),
    ],
)
def test_what_cannot_be_served_is_refused(
    texts: Path, tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(sfumato.SfumatoError, match=said):
        served(texts, tmp_path / "run", **wrong)


def test_the_set_of_clients_is_that_of_the_plan(texts: Path, tmp_path: Path) -> None:
    asked = Deployment.read(config(texts, tmp_path / "run"))
    request = asked.request(asked.method(), seed=1)
    model, plan = request.load(request.randomness()), asked.method().plan(request.privacy, 5)
    stream = Randomness.reproducible(1)
    with Server.opened(model, plan, request.course, randomness=stream) as server:
        for some in ([1, 2, 3], [1, 2, 3, 4, 4]):
            with pytest.raises(InvalidArgument, match="the plan is for 5 clients"):
                PrivateAveraging(server, some)
        nodes = [1, 2, 3, 4, 5]
        unsaved = replace(server, course=Course(checkpoint_every=2), ledger=Ledger.__new__(Ledger))
        with pytest.raises(InvalidArgument, match="checkpoint_every=1"):
            PrivateAveraging(unsaved, nodes)
        strategy = PrivateAveraging(server, nodes)
        with pytest.raises(InvalidArgument, match="no round is open"):
            strategy.aggregate_train(1, [])
        assert list(strategy.configure_evaluate(1, to_arrays({}), None, None)) == []


def test_messages_hold_weights_and_numbers_and_no_text(texts: Path, tmp_path: Path) -> None:
    settings = config(texts, tmp_path / "run", rounds=1, clients_per_round=5)
    replies: list[Message] = []

    def keep(_: int, some: list[Message]) -> list[Message]:
        replies.extend(some)
        return some

    grid = InProcess(nodes(texts), settings, keep)
    serve(grid, settings)
    assert {*grid.sent[0].content} == {"arrays", "config"}
    assert {*grid.sent[0].content["config"]} == {"step", "client", "fingerprint"}
    assert all({*one.content} == {"arrays"} for one in replies)
    assert isinstance(replies[0].content, RecordDict)
    arrays = [one.numpy() for one in replies[0].content["arrays"].values()]
    assert all(torch.from_numpy(one).is_floating_point() for one in arrays)
