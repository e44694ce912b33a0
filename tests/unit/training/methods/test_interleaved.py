"""Interleaved training: which update is which, and how secrets go on from stretch to stretch."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from naive_gradients import clip_scale
from sfumato.core.errors import CoupledRows
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel
from sfumato.models.lstm_network import LstmForCausalLM
from sfumato.policies.parsing import combine_policies
from sfumato.text.document import Document
from sfumato.training.batches import physical_batches
from sfumato.training.clipping import row_checks
from sfumato.training.clipping.clippers import Clipping, Flat
from sfumato.training.loop import NOISE
from sfumato.training.methods.interleaved import Interleaved, InterleavedPlan
from sfumato.training.methods.interleaved_steps import InterleavedRun, StateRelease
from sfumato.training.methods.stretch_records import (
    Step,
    StretchRecords,
    all_steps,
    stretch_records,
)
from sfumato.training.records import Cut, make_language_records
from sfumato.training.row_losses import row_losses
from sfumato.training.settings import Course, Privacy
from sfumato.training.steps import PrivateStep, make_private
from unit.training.runs import same, small_model, tokenizer, weights

TEXTS = ["Code 42 is mine", "Nothing here", "Ring 12345 or else 678 now", "A line", "Room 9"]
NORM, RATE, BATCH = 0.05, 0.5, 4


def cut(texts: list[str], policy: str = "digits") -> StretchRecords:
    documents = [Document(text) for text in texts]
    return stretch_records(documents, combine_policies([policy], [], {}), tokenizer())


def plan_for(records: StretchRecords, noise: float = 0.0, state: str = "noise") -> InterleavedPlan:
    privacy = Privacy(
        epsilon=8.0, delta=1e-2, epochs=2, batch_sizes=(BATCH,), clipping=Clipping(norm=NORM)
    )
    plan = InterleavedPlan.of(records, privacy, Interleaved(state=state, state_clip_norm=0.1))
    return replace(plan, noise_multiplier=noise)


def begun(
    records: StretchRecords,
    noise: float = 0.0,
    *,
    model: LoadedModel | None = None,
    optimizer: str = "sgd",
    state: str = "noise",
) -> InterleavedRun:
    model = model or small_model(settings={"context": 64})
    course = Course(optimizer=optimizer, learning_rate=RATE)
    plan = plan_for(records, noise, state)
    return InterleavedRun.begun(model, records, plan, course, Randomness.reproducible(3))


def still(norm: float) -> Interleaved:
    """Public updates that move nothing."""
    return Interleaved(state_clip_norm=norm, public_learning_rate=1e-30)


def first_turns(records: StretchRecords, step: int = 0) -> Step:
    everybody = np.arange(len(records))[:BATCH]
    return Step(step, everybody, np.zeros(len(everybody), dtype=np.int64))


def padded(records: StretchRecords, stretches: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Tokens and labels, put together by hand."""
    longest = max(end - begin for begin, end in stretches)
    tokens = torch.full((len(stretches), longest), records.padding)
    labels = torch.full_like(tokens, -100)
    stream = torch.from_numpy(records.tokens.astype(np.int64))
    for row, (begin, end) in enumerate(stretches):
        tokens[row, : end - begin] = stream[begin:end]
        labels[row, : end - begin] = stream[begin + 1 : end + 1]
    return tokens, labels


# --- the two updates -----------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_public_update_is_bitwise_the_plain_update(optimizer: str) -> None:
    records = cut(TEXTS)
    ours, twin = small_model(settings={"context": 64}), small_model(settings={"context": 64})
    run = begun(records, 5.0, model=ours, optimizer=optimizer)
    stretches = {place: records.turn(place, 0).public for place in range(len(records))}
    run.public_update(stretches, torch.zeros(2, len(records), 4))
    run.step.close()
    tokens, labels = padded(records, list(stretches.values()))
    kind = torch.optim.SGD if optimizer == "sgd" else torch.optim.Adam
    plain = kind(twin.network.parameters(), lr=RATE)
    count = sum(end - begin for begin, end in stretches.values())
    losses = row_losses(twin.network, {"input_ids": tokens}, labels, torch.ones(len(tokens)))
    (losses.sum() / count).backward()  # type: ignore[no-untyped-call]
    plain.step()
    assert same(weights(ours), weights(twin))
    assert not same(weights(ours), weights(small_model(settings={"context": 64})))


def test_the_plain_update_is_that_of_the_mean_over_all_tokens() -> None:
    """The same with torch's own loss, up to rounding."""
    records = cut(TEXTS)
    ours, twin = small_model(settings={"context": 64}), small_model(settings={"context": 64})
    run = begun(records, model=ours)
    stretches = {place: records.turn(place, 0).public for place in range(len(records))}
    run.public_update(stretches, torch.zeros(2, len(records), 4))
    tokens, labels = padded(records, list(stretches.values()))
    logits = twin.network(input_ids=tokens).logits
    cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()  # type: ignore[no-untyped-call]
    for one, other in zip(ours.network.parameters(), twin.network.parameters(), strict=True):
        assert other.grad is not None
        torch.testing.assert_close(one, other - RATE * other.grad, atol=1e-6, rtol=1e-5)


def private_by_hand(records: StretchRecords, model: LoadedModel) -> dict[str, Tensor]:
    """Clipped gradients of every document's first private stretch, one by one, summed up."""
    network = model.network
    assert isinstance(network, LstmForCausalLM)
    total = {name: torch.zeros_like(one) for name, one in network.named_parameters()}
    for document in range(BATCH):
        turn = records.turn(document, 0)
        if turn.middle == turn.end:
            continue
        stream = torch.from_numpy(records.tokens.astype(np.int64))[None]
        with torch.no_grad():
            _, state = network.step(stream[:, slice(*turn.public)])
        network.zero_grad()
        logits, _ = network.step(stream[:, slice(*turn.private)], state)
        labels = stream[0, turn.middle + 1 : turn.end + 1]
        cross_entropy(logits[0], labels).backward()  # type: ignore[no-untyped-call]
        gradients = {name: one.grad for name, one in network.named_parameters()}
        norm = math.sqrt(
            sum(float(one.square().sum()) for one in gradients.values() if one is not None)
        )
        assert norm > NORM
        for name, one in gradients.items():
            assert one is not None
            total[name] += one * clip_scale(NORM, norm)
    network.zero_grad()
    return total


def test_a_private_update_is_the_clipped_sum() -> None:
    """Without noise; the public update is switched off by a tiny rate, so both start alike."""
    records = cut(TEXTS)
    ours, twin = small_model(settings={"context": 64}), small_model(settings={"context": 64})
    run = begun(records, model=ours)
    run.plan = replace(run.plan, interleaving=still(0.1))
    run.take(first_turns(records))
    total = private_by_hand(records, twin)
    for name, one in twin.network.named_parameters():
        moved = weights(ours)[name]
        torch.testing.assert_close(moved, one - RATE * total[name] / BATCH, atol=1e-6, rtol=1e-4)


def test_a_private_update_is_bitwise_the_dp_update_noise_included() -> None:
    records = cut(TEXTS, "everything")
    ours, twin = small_model(settings={"context": 64}), small_model(settings={"context": 64})
    run = begun(records, 2.0, model=ours)
    run.take(first_turns(records, step=6))
    step = make_private(
        twin.network,
        torch.optim.SGD(twin.network.parameters(), lr=RATE),
        clipper=Flat(NORM),
        noise_multiplier=2.0,
        expected_batch_size=BATCH,
        randomness=Randomness.reproducible(3).stream(NOISE),
    )
    tokens, labels = padded(records, [records.turn(place, 0).private for place in range(BATCH)])
    own = 1 / (labels != -100).sum(1).float()
    step.backward(row_losses(twin.network, {"input_ids": tokens}, labels, own))
    step.steps = 6
    step.step()
    assert same(weights(ours), weights(twin))


def test_with_everything_private_it_is_dp_sgd() -> None:
    """The same clipped sum as on records of whole documents, and the noise is drawn alike."""
    texts = ["alpha beta", "gamma", "delta epsilon zeta", "eta"]
    records = cut(texts, "everything")
    assert records.private.tolist() == records.turns.tolist() == [1] * 4
    assert records.selected == 1.0
    whole = make_language_records([Document(one) for one in texts], tokenizer(), Cut(context=64))
    assert records.tokens.tolist() == whole.tokens.tolist()
    ours, twin = small_model(settings={"context": 64}), small_model(settings={"context": 64})
    begun(records, model=ours).take(first_turns(records))
    step = make_private(
        twin.network,
        torch.optim.SGD(twin.network.parameters(), lr=RATE),
        clipper=Flat(NORM),
        noise_multiplier=0.0,
        expected_batch_size=BATCH,
        randomness=Randomness.reproducible(8),
    )
    for (rows,) in physical_batches(whole, range(4), most_tokens=4096):
        losses = row_losses(twin.network, rows.inputs(), rows.labels, rows.weights)
        step.backward(losses, rows.owner)
    step.step()
    for name, one in weights(twin).items():
        torch.testing.assert_close(weights(ours)[name], one, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("sabotaged", [False, True])
def test_a_long_private_stretch_is_clipped_as_one(
    sabotaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twin that clips piece by piece moves the weights further than the bound."""
    records = cut(["about all of the text that is here " * 3, "about"], "everything")
    if sabotaged:
        monkeypatch.setattr(PrivateStep, "one_record", lambda _: nullcontext())
    model = small_model(settings={"context": 6})
    before, run = weights(model), begun(records, model=model)
    run.take(Step(0, np.array([0]), np.array([0])))
    moved = sum(float((before[name] - one).square().sum()) for name, one in weights(model).items())
    bound = NORM * RATE / run.plan.batch_size * (1 + 1e-5)
    assert (math.sqrt(moved) > bound) == sabotaged


def test_padding_and_grouping_change_nothing() -> None:
    """Many small batches, or one: the same states go on and the same updates are made."""
    records, found = cut(TEXTS), []
    for at_once in (64, 4096):
        model = small_model(settings={"context": 64})
        run = begun(records, model=model)
        run.course = replace(run.course, tokens_at_once=at_once)
        run.take(first_turns(records))
        found.append((weights(model), run.waiting))
    for name, one in found[0][0].items():
        torch.testing.assert_close(one, found[1][0][name], atol=1e-6, rtol=1e-5)
    assert found[0][1].keys() == found[1][1].keys() == {0, 2}
    for document, state in found[0][1].items():
        torch.testing.assert_close(state, found[1][1][document], atol=1e-6, rtol=1e-5)
        assert float(state.norm()) <= 0.1


def test_states_go_on_only_as_they_were_released() -> None:
    """The state of a document that goes on is the one after its private stretch, clipped."""
    records = cut(TEXTS)
    model = small_model(settings={"context": 64})
    network = model.network
    assert isinstance(network, LstmForCausalLM)
    turn = records.turn(0, 0)
    tokens = torch.from_numpy(records.tokens.astype(np.int64))[None, turn.begin : turn.end]
    with torch.no_grad():
        _, (hidden, cell) = network.step(tokens)
    state = torch.stack([hidden[0, 0], cell[0, 0]])
    run = begun(records, model=model)
    # Private stretches are read after the public update; here that changes nothing.
    run.plan = replace(run.plan, interleaving=still(0.1))
    run.take(first_turns(records))
    wanted = state * min(1.0, 0.1 / float(state.norm()))
    torch.testing.assert_close(run.waiting[0], wanted, atol=1e-6, rtol=1e-3)
    resetting = begun(records, state="reset")
    resetting.take(first_turns(records))
    assert resetting.waiting == {}


def after_an_epoch(texts: list[str], state: str) -> dict[str, Tensor]:
    """The weights when only public updates move them, from the same start."""
    records = cut(texts)
    model = small_model(settings={"context": 64})
    run = begun(records, model=model, state=state)
    run.course = replace(run.course, learning_rate=1e-30)
    interleaving = Interleaved(state=state, state_clip_norm=0.1, public_learning_rate=RATE)
    run.plan = replace(run.plan, interleaving=interleaving)
    for step in all_steps(records.turns, BATCH, 1, key=1):
        run.take(step)
    return weights(model)


def test_secrets_reach_public_updates_through_states_alone() -> None:
    """With states reset public updates are bitwise the same, whatever the secrets are."""
    changed = [text.replace("12345", "9").replace("42", "777777") for text in TEXTS]
    assert same(after_an_epoch(TEXTS, "reset"), after_an_epoch(changed, "reset"))
    # States that go on without noise are the twin that the check must reject.
    assert not same(after_an_epoch(TEXTS, "noise"), after_an_epoch(changed, "noise"))


def test_no_document_is_used_more_often_than_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted where it happens: rows that are clipped, states that are released."""
    records = cut(TEXTS)
    sums, states = Counter[int](), 0
    clip, release = InterleavedRun._clip, StateRelease.release
    now: list[Step] = []

    def clipping(self: InterleavedRun, rows: Any, *given: Any) -> float:
        sums.update(now[-1].documents[rows.members.numpy()].tolist())
        return clip(self, rows, *given)

    def releasing(self: StateRelease, given: Any, randomness: Randomness) -> Any:
        nonlocal states
        states += len(given[0])
        return release(self, given, randomness)

    monkeypatch.setattr(InterleavedRun, "_clip", clipping)
    monkeypatch.setattr(StateRelease, "release", releasing)
    run = begun(records, 1.0)
    for step in all_steps(records.turns, BATCH, run.plan.epochs, key=1):
        now.append(step)
        run.take(step)
    paid = run.plan.visits()
    assert len(now) == run.plan.steps
    assert max(sums.values()) == paid.epochs * paid.stretches == 4
    assert [sums[document] for document in range(len(records))] == (2 * records.private).tolist()
    # The last state of a document that ends in private goes nowhere, and is paid for all the same.
    assert states == 2 * int((records.turns - 1).sum()) <= sum(sums.values())


def test_tied_weights_and_dropout_train() -> None:
    records = cut(TEXTS)
    model = small_model(settings={"context": 64, "tied": True, "dropout": 0.2})
    before = weights(model)
    run = begun(records, 1.0, model=model)
    for step in all_steps(records.turns, BATCH, 1, key=1):
        run.take(step)
    assert all(not torch.equal(before[name], one) for name, one in weights(model).items())


# --- rows that influence each other -----------------------------------------------------------


def whole_run(records: StretchRecords, model: LoadedModel) -> None:
    run = begun(records, noise=1.0, model=model)
    for step in all_steps(records.turns, BATCH, 2, key=1):
        run.take(step)
    run.step.close()


@pytest.mark.usefixtures("compared_rows")
def test_states_that_go_from_row_to_row_stop_the_run() -> None:
    model = small_model(settings={"context": 64, "dropout": 0.1})
    network = model.network
    assert isinstance(network, LstmForCausalLM)
    network.lstm.register_forward_hook(
        lambda _, __, seen: (seen[0] - seen[0].detach().mean(0), seen[1])
    )
    with pytest.raises(CoupledRows, match="the loss of a row"):
        whole_run(cut(TEXTS), model)


@pytest.mark.parametrize("context", [3, 64])
def test_comparing_every_batch_changes_nothing(
    context: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for often in (0.0, 1.0):
        monkeypatch.setattr(row_checks, "RARELY", often)
        monkeypatch.setattr(row_checks, "FIRST", round(often))
        model = small_model(settings={"context": context, "dropout": 0.1})
        whole_run(cut(TEXTS), model)
        found.append(weights(model))
    assert same(*found)
