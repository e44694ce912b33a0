"""A federation is a run like any other: its plan, its ledger, its folder, its guarantee."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sfumato
from sfumato.core.errors import BadInput, CannotResume, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.federation import clients as federation_clients
from sfumato.federation.clients import LocalTraining
from sfumato.federation.method import SERVER_SEES, Clients, Federated, client_stream
from sfumato.federation.server import Server
from sfumato.text.document import Document
from sfumato.training import loop
from sfumato.training.checkpoints import Checkpoint
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import TRAINING
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.settings import Course, Privacy
from unit.training.runs import SETTINGS, Killed, same, tokenizer, weights

TEXT = "nothing at all is about a public text, and all of it is text. "
LOCAL = LocalTraining(epochs=2, learning_rate=0.5, batch_size=2)


def documents(authors: str = "abcde", each: int = 3) -> list[Document]:
    texts = [TEXT[(3 * n) % 20 :][: 5 + (7 * n) % 40] for n in range(each * len(authors))]
    return [Document(text, author=authors[n % len(authors)]) for n, text in enumerate(texts)]


def request(**changes: Any) -> Request:
    """Four rounds of a tiny model."""
    asked: dict[str, Any] = {
        "model": "lstm",
        "settings": SETTINGS["lstm"],
        "tokenizer": tokenizer(),
        "privacy": Privacy(
            epsilon=8.0, delta=1e-2, unit="author", batch_sizes=(3,), accountant="rdp",
            clipping=Clipping(norm=0.5),
        ),
        "method": Federated(rounds=4, local_epochs=2, local_learning_rate=0.5, local_batch_size=2),
        "course": Course(optimizer="momentum", learning_rate=1.0, checkpoint_every=1),
        "seed": 1,
    }  # fmt: skip
    return Request(**(asked | changes))


def trained(folder: Path, asked: Request | None = None, **options: Any) -> Run:
    return train_model(asked or request(), documents(), RunFolder(folder), **options)


def killed_after(step: int) -> Callable[..., Callable[[loop.Progress], None]]:
    def watch(now: loop.Progress) -> None:
        if now.step == step:
            raise Killed

    return lambda *_: watch


def test_a_round_is_a_step_of_a_plan_whose_units_are_authors(tmp_path: Path) -> None:
    run = trained(tmp_path / "run")
    drafted = request().privacy.draft(5)
    expected = replace(drafted, stages=(replace(drafted.stages[0], steps=4),)).with_epsilon(8.0)
    assert run.plan == expected
    stated = expected.guarantee().not_covering(SERVER_SEES).reproducible()
    assert run.guarantee == stated == sfumato.Run.open(run.folder).guarantee
    assert SERVER_SEES in run.guarantee.sentence()
    settings = run.files.settings()
    assert settings["plan"]["units"] == 5
    assert settings["method_settings"]["local_epochs"] == 2
    lines = run.files.ledger.read_text().splitlines()[1:]
    assert [json.loads(line)["charged"] for line in lines] == [1, 2, 3, 4]


@pytest.mark.parametrize("step", [1, 3])
def test_a_killed_run_goes_on_and_ends_in_the_same_model(tmp_path: Path, step: int) -> None:
    whole = trained(tmp_path / "whole")
    with pytest.raises(Killed):
        trained(tmp_path / "killed", announce=killed_after(step))
    resumed = trained(tmp_path / "killed", resume=True)
    assert same(weights(whole.model), weights(resumed.model))


def test_no_checkpoint_is_ahead_of_the_ledger_wherever_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    save = Checkpoint.save

    def watched(self: Checkpoint, path: Path) -> None:
        seen.append((self.steps, len(path.with_name("ledger.jsonl").read_text().splitlines()) - 1))
        if self.steps == 2:
            raise Killed
        save(self, path)

    monkeypatch.setattr(Checkpoint, "save", watched)
    with pytest.raises(Killed):
        trained(tmp_path / "run")
    assert seen == [(1, 1), (2, 2)]  # charged when it is saved: the twin below is behind
    monkeypatch.setattr(Checkpoint, "save", save)
    with pytest.warns(UserWarning, match="1 of 4 steps are charged"):
        run = trained(tmp_path / "run", resume=True)
    # The round that was charged and lost is not repeated.
    assert len(run.files.ledger.read_text().splitlines()) == 5


def test_a_server_that_saves_first_is_refused_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save_first(self: Server, ledger: Any) -> None:
        assert self.folder is not None
        kept = Checkpoint.of(ledger.charged + 1, self.model.network, self.optimizer, 0.5)
        kept.save(self.folder.checkpoint)
        raise Killed

    monkeypatch.setattr(Server, "_save", save_first)
    with pytest.raises(Killed):
        trained(tmp_path / "run")
    monkeypatch.undo()
    with pytest.raises(CannotResume, match="ahead of the ledger"):
        trained(tmp_path / "run", resume=True)


def clients(some: list[Document]) -> tuple[Clients, Any]:
    asked = request()
    model = asked.load(asked.randomness())
    return Clients.of(asked.task(model, some)), model


def test_what_a_client_sends_depends_on_its_own_documents_alone() -> None:
    everyone, model = clients(documents())
    alone, _ = clients([one for one in documents() if one.author == "c"])
    start = {name: one.detach().clone() for name, one in model.network.named_parameters()}
    own = client_stream(Randomness.reproducible(3), 5, 2)
    first, second = (
        LOCAL.run(model, start, some.documents(number), own).weights
        for some, number in ((everyone, 2), (alone, 0))
    )
    assert all(torch.equal(first[name], second[name]) for name in start)
    other = LOCAL.run(model, start, everyone.documents(1), own).weights
    assert not all(torch.equal(first[name], other[name]) for name in start)


def test_what_a_forward_pass_counts_stays_with_the_client() -> None:
    """Running means of layers have no bound and no noise."""
    found, model = clients(documents())
    model.network.register_buffer("seen", torch.zeros(()))
    calls: list[float] = []

    def count(*_: object) -> None:
        model.network.seen.add_(1)
        calls.append(float(model.network.seen))

    model.network.register_forward_hook(count)
    start = {name: one.detach().clone() for name, one in model.network.named_parameters()}
    LOCAL.run(model, start, found.documents(0), Randomness.reproducible(1))
    assert max(calls) > 1
    assert float(model.network.seen) == 0.0


def test_a_client_that_fails_leaves_nothing_in_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a simulation the model is the server's: whoever catches the error has it in hand."""
    asked = request(seed=None)
    model = asked.load(Randomness.secure())
    before, calls = weights(model), [0]

    def fail(*_: object) -> None:
        calls[0] += 1
        if calls[0] == 4:
            raise MemoryError

    model.network.register_forward_pre_hook(fail)
    prepared = asked.method.prepare(asked.task(model, documents()))
    folder = RunFolder(tmp_path)
    with pytest.raises(MemoryError):
        prepared.fit(Randomness.reproducible(1), folder, None)
    assert same(before, weights(model))
    # The twin: the weights of the client of whom it was.
    monkeypatch.setattr(federation_clients, "_put_back", lambda _: nullcontext())
    calls[0] = 0
    with pytest.raises(MemoryError):
        prepared.fit(Randomness.reproducible(1), folder, None)
    assert not same(before, weights(model))


def test_rounds_that_are_sent_are_saved_first(tmp_path: Path) -> None:
    """Otherwise a killed server takes rounds again whose weights were seen."""
    asked = request()
    model, plan = asked.load(asked.randomness()), Federated(rounds=4).plan(asked.privacy, 5)
    for every, folder in ((1, RunFolder(tmp_path)), (50, None)):  # one without a folder never ends
        course = replace(asked.course, checkpoint_every=every)
        with Server.opened(model, plan, course, randomness=asked.randomness(), folder=folder) as it:
            it.refuse_to_send_unsaved()
    course = replace(asked.course, checkpoint_every=2)
    with (
        Server.opened(
            model, plan, course, randomness=asked.randomness(), folder=RunFolder(tmp_path)
        ) as it,
        pytest.raises(InvalidArgument, match="`checkpoint_every=1`"),
    ):
        it.refuse_to_send_unsaved()


def test_a_client_takes_ordinary_steps() -> None:
    """One batch of all documents: one step of gradient descent, written out."""
    found, model = clients(documents("ab", each=2))
    start = {name: one.detach().clone() for name, one in model.network.named_parameters()}
    once = LocalTraining(epochs=1, learning_rate=0.5, batch_size=9)
    sent = once.run(model, start, found.documents(0), Randomness.reproducible(1)).weights
    for name, one in model.network.named_parameters():
        one.data.copy_(start[name])
    total = torch.zeros(())
    records = found.documents(0)
    for record in range(len(records)):
        rows = records.rows_of(record)
        losses, count = torch.zeros(()), 0
        for row in rows:
            scores = model.network(input_ids=torch.tensor(records.inputs(row)[None].astype(int)))
            labels = torch.tensor(records.labels(row).astype(int))
            losses = losses + torch.nn.functional.cross_entropy(
                scores.logits[0], labels, reduction="sum"
            )
            count += len(labels)
        total = total + losses / count
    model.network.zero_grad()
    (total / len(records)).backward()  # type: ignore[no-untyped-call]
    for name, one in model.network.named_parameters():
        assert torch.allclose(sent[name], start[name] - 0.5 * one.grad, atol=1e-5)


def test_one_author_moves_a_round_by_at_most_its_bound(tmp_path: Path) -> None:
    """From documents to weights: all noise is the same, and one author has no text."""
    asked = request(
        method=Federated(rounds=1, local_epochs=5, local_learning_rate=50.0),
        course=Course(optimizer="sgd", learning_rate=1.0, checkpoint_every=1),
        privacy=replace(request().privacy, batch_sizes=(5,)),
    )
    other = [replace(one, text="") if one.author == "b" else one for one in documents()]
    found = [
        weights(train_model(asked, some, RunFolder(tmp_path / name)).model)
        for name, some in (("with", documents()), ("without", other))
    ]
    apart = torch.cat([(found[0][name] - found[1][name]).reshape(-1).double() for name in found[0]])
    # Weights are rounded to single precision behind the noise.
    assert 0.5 / 5 * 0.5 < float(apart.norm()) <= 0.5 / 5 * (1 + 1e-4)


@pytest.mark.parametrize("kind", ["lora", "head", "masked"])
def test_parts_of_models_and_other_objectives(tmp_path: Path, kind: str) -> None:
    changes: dict[str, Any] = {"method": Federated(rounds=1), "course": Course(optimizer="sgd")}
    if kind == "lora":
        changes |= {"model": "gpt-small", "settings": SETTINGS["gpt-small"], "lora_rank": 1}
    elif kind == "head":
        changes |= {"model": "gpt-small", "settings": SETTINGS["gpt-small"], "trainable": "head"}
    else:
        small = {"layers": 1, "width": 8, "heads": 2, "context": 12}
        changes |= {"model": "bert-small", "settings": small, "kind": "masked"}
    run = trained(tmp_path / "run", request(**changes))
    assert run.files.finished
    assert run.plan.steps == 1


def test_without_privacy_nothing_is_clipped_and_nothing_claimed(tmp_path: Path) -> None:
    private = replace(request().privacy, epsilon=np.inf, batch_sizes=(5,))
    huge = Federated(rounds=1, local_learning_rate=5.0)
    asked = request(privacy=private, method=huge, course=Course(optimizer="sgd", learning_rate=1.0))
    run = trained(tmp_path / "run", asked)
    assert not run.guarantee.for_release
    assert SERVER_SEES not in run.guarantee.uncovered
    before = asked.load(asked.randomness()).network.state_dict()
    after = weights(run.model)
    moved = torch.cat([(after[name] - before[name]).reshape(-1) for name in after])
    assert float(moved.norm()) > 0.5 / 5  # five clients together, none of them bounded


def test_rounds_are_epochs_over_clients_unless_they_are_given() -> None:
    privacy = replace(request().privacy, epochs=2.0)
    assert Federated().plan(privacy, 30).steps == 20
    assert Federated(rounds=7).plan(privacy, 30).steps == 7


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"privacy": Privacy(epsilon=8.0)}, "unit='author'"),
        (
            {"privacy": Privacy(epsilon=8.0, unit="author",
                                clipping=Clipping(kind="automatic"))},
            "fixed norm",
        ),
    ],
)  # fmt: skip
def test_what_a_federation_cannot_do_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        request(**changes)


@pytest.mark.parametrize(
    "wrong",
    [{"rounds": 0}, {"local_epochs": 0}, {"local_learning_rate": 0.0}, {"local_batch_size": 0}],
)
def test_wrong_settings_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        Federated(**wrong)


def test_a_document_without_an_author_is_named_by_its_number(tmp_path: Path) -> None:
    some = [*documents(), Document("who wrote this?")]
    with pytest.raises(BadInput, match="document 16 has no author") as error:
        train_model(request(), some, RunFolder(tmp_path / "run"))
    assert "wrote" not in str(error.value)


def test_the_streams_of_clients_are_nobody_elses() -> None:
    root = Randomness.reproducible(1).stream(TRAINING)
    draws = {float(root.stream(n).stream(0).stream(0).uniform(1)[0]) for n in range(5)}
    assert float(client_stream(root, 0, 0).uniform(1)[0]) not in draws
