"""Training that a budget pays for: before the first noise, once, and for all that is covered."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from paid_work import ACCOUNT, Watch, account_of, new_payment, used
from sfumato.accounting.budget import Amount, Budget, Limit
from sfumato.accounting.budget.payment import Payment
from sfumato.core.errors import (
    BudgetExceeded,
    CannotResume,
    IncomparableGuarantees,
    InvalidArgument,
)
from sfumato.histograms.counts import Tally
from sfumato.policies.patterns import Digits
from sfumato.text.document import Document
from sfumato.training.clipping import release
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.loop import Progress
from sfumato.training.methods.directional import Directional
from sfumato.training.methods.interleaved import Interleaved
from sfumato.training.methods.plain import Plain
from sfumato.training.methods.private import Private
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.methods.selective import SelectiveTraining
from sfumato.training.payment import Bill
from sfumato.training.request import Request
from sfumato.training.settings import Course, Privacy
from unit.training.runs import SETTINGS, Killed, charged_in, some_documents, tokenizer
from unit.training.test_vocabulary import DOCUMENTS as MANY
from unit.training.test_vocabulary import REQUEST as WITH_VOCABULARY

PRIVACY = Privacy(epsilon=2.0, delta=1e-3, epochs=1, batch_sizes=(3,), accountant="rdp")
REQUEST = Request(
    model="lstm",
    privacy=PRIVACY,
    course=Course(checkpoint_every=1),
    tokenizer=tokenizer(),
    settings=SETTINGS["lstm"],
)
DOCUMENTS = some_documents()
NUMBERS = [Document(f"room {n} is at {n} o'clock", author=f"a{n}") for n in range(6)]


@pytest.fixture
def payment(tmp_path: Path) -> Payment:
    return new_payment(tmp_path, Limit.of("approximate", 5.0, delta=0.01))


def stopping(step: int) -> Callable[..., Callable[[Progress], None]]:
    def watch(now: Progress) -> None:
        if now.step >= step:
            raise Killed

    return lambda *_: watch


def test_a_run_is_held_before_it_begins_and_settled_at_its_end(
    payment: Payment, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(Killed):
        train_model(REQUEST, DOCUMENTS, folder, announce=stopping(1), payment=payment)
    level, held, charges = used(payment)
    assert (1.9 < level <= 2.0, held, charges) == (True, level, 1)
    done = train_model(REQUEST, DOCUMENTS, folder, resume=True, payment=payment)
    assert used(payment) == (level, 0.0, 1)
    assert account_of(payment).spent == Amount.charged(done.guarantee.epsilon, 1e-3)
    train_model(REQUEST, DOCUMENTS, folder, resume=True, payment=payment)  # finished already
    train_model(REQUEST, DOCUMENTS, RunFolder(tmp_path / "again"), payment=payment)
    assert used(payment)[2] == 2
    with pytest.raises(BudgetExceeded, match=r"costs .* and .* is left"):
        train_model(REQUEST, DOCUMENTS, RunFolder(tmp_path / "more"), payment=payment)
    assert not (tmp_path / "more").exists()  # so the folder can be used, once there is an account
    assert "tickets" not in "".join(one.read_text() for one in folder.path.glob("*.json*"))


def test_what_is_resumed_is_what_was_paid_for(payment: Payment, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(Killed):
        train_model(REQUEST, DOCUMENTS, folder, announce=stopping(1), payment=payment)
    with pytest.raises(CannotResume, match="another budget"):
        train_model(REQUEST, DOCUMENTS, folder, resume=True)
    other = [*DOCUMENTS[:-1], Document("another text")]
    with pytest.raises(InvalidArgument, match="another request"):
        train_model(REQUEST, other, folder, resume=True, payment=payment)
    with Budget.at(payment.budget, payment.key) as budget:
        budget.open("corpus:b", Limit.of("approximate", 5.0, delta=0.01))
    elsewhere = replace(payment, account="corpus:b")
    with pytest.raises(CannotResume, match="another account"):
        train_model(REQUEST, DOCUMENTS, folder, resume=True, payment=elsewhere)
    copy = RunFolder(tmp_path / "copy")
    copy.path.mkdir()
    for one in folder.path.iterdir():
        (copy.path / one.name).write_bytes(one.read_bytes())
    with pytest.raises(InvalidArgument, match="another request"):
        train_model(REQUEST, DOCUMENTS, copy, resume=True, payment=payment)
    unpaid = RunFolder(tmp_path / "unpaid")
    with pytest.raises(Killed):
        train_model(REQUEST, DOCUMENTS, unpaid, announce=stopping(1))
    with pytest.raises(CannotResume, match="begun without a budget"):
        train_model(REQUEST, DOCUMENTS, unpaid, resume=True, payment=payment)
    assert used(payment)[2] == 1


def test_seeds_and_runs_without_a_level_are_not_paid_for(payment: Payment, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(InvalidArgument, match="with a seed"):
        train_model(replace(REQUEST, seed=1), DOCUMENTS, folder, payment=payment)
    plain = replace(REQUEST, method=Plain(), privacy=replace(PRIVACY, epsilon=float("inf")))
    with pytest.raises(IncomparableGuarantees, match="no proven level"):
        train_model(plain, DOCUMENTS, folder, payment=payment)
    assert used(payment)[2] == 0
    assert not folder.path.exists()


# --- killed, by os._exit in a process of its own ------------------------------------------------


def dies(folder: RunFolder, payment: Payment, announce: Callable[..., Any]) -> None:
    """A run in a child that ends without a word."""
    child = os.fork()
    if child == 0:
        try:
            torch.set_num_threads(1)  # a child has none of the threads of its parent
            train_model(REQUEST, DOCUMENTS, folder, announce=announce, payment=payment)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def die(*_: object) -> None:
    os._exit(9)


def test_a_killed_run_stays_charged_and_goes_on_without_a_second_charge(
    payment: Payment, tmp_path: Path
) -> None:
    before, after = RunFolder(tmp_path / "before"), RunFolder(tmp_path / "after")
    dies(before, payment, die)
    dies(after, payment, lambda *_: lambda now: die() if now.step == 1 else None)
    level, held, charges = used(payment)
    assert (held, charges) == (level, 2)
    assert not before.ledger.exists()
    assert charged_in(after) == 1
    for folder in (before, after):
        done = train_model(REQUEST, DOCUMENTS, folder, resume=True, payment=payment)
        assert charged_in(folder) == done.plan.steps
    assert used(payment) == (level, 0.0, 2)


# --- drawn before it is paid --------------------------------------------------------------------


def watched(monkeypatch: pytest.MonkeyPatch, payment: Payment) -> Watch:
    watch = Watch(payment)
    monkeypatch.setattr(release, "add_noise", watch.over(release.add_noise))
    monkeypatch.setattr(Tally, "release", watch.over(Tally.release))
    return watch


@pytest.fixture
def rich(tmp_path: Path) -> Payment:
    return new_payment(tmp_path, Limit.of("approximate", 60.0, delta=0.01))


def with_vocabulary() -> dict[str, Any]:
    return {"request": WITH_VOCABULARY, "documents": MANY}


def test_nothing_is_drawn_before_all_of_it_is_paid(
    rich: Payment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = watched(monkeypatch, rich)
    done = train_model(**with_vocabulary(), folder=RunFolder(tmp_path / "run"), payment=rich)
    assert (watch.unpaid, watch.draws > done.plan.steps) == (0, True)  # the tokenizer, too
    assert account_of(rich).spent == Amount.charged(done.guarantee.epsilon, done.guarantee.delta)


def test_the_watch_sees_a_twin_that_draws_first(
    rich: Payment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = watched(monkeypatch, rich)
    monkeypatch.setattr(Bill, "pay_first", lambda _: None)  # pays when it knows the plan
    train_model(**with_vocabulary(), folder=RunFolder(tmp_path / "run"), payment=rich)
    assert used(rich)[2] == 1  # in the end it is paid all the same
    assert watch.unpaid == 1


# --- what is charged ----------------------------------------------------------------------------


def claimed(request: Request, documents: list[Document], folder: Path, limit: Limit) -> Amount:
    """What a run of this kind is charged; it ends before its first step."""
    (folder / "money").mkdir()
    payment = new_payment(folder / "money", limit)
    with pytest.raises(Killed):
        train_model(request, documents, RunFolder(folder / "run"), announce=kill, payment=payment)
    return account_of(payment).spent


def kill(*_: object) -> None:
    raise Killed


CONCENTRATED = {
    "directional": replace(REQUEST, method=Directional()),
    "shuffled": replace(REQUEST, privacy=replace(PRIVACY, sampling="shuffled")),
    "full batches": replace(REQUEST, privacy=replace(PRIVACY, batch_sizes=(6,))),
    "interleaved": replace(
        REQUEST,
        method=Interleaved(),
        protection=PolicyPromise(Digits()),
        privacy=replace(PRIVACY, accountant="pld"),
    ),
}


@pytest.mark.parametrize("name", CONCENTRATED)
def test_a_run_without_sampling_pays_in_every_measure(name: str, tmp_path: Path) -> None:
    request = CONCENTRATED[name]
    found = {}
    for measure, order in (("rho", None), ("renyi", 3.0)):
        place = tmp_path / measure
        place.mkdir()
        limit = Limit.of(measure, 5.0, order=order)
        found[measure] = claimed(request, NUMBERS, place, limit).level
    assert found["renyi"] == pytest.approx(3.0 * found["rho"], rel=1e-6)
    assert Limit.of("rho", found["rho"]).epsilon(1e-3) >= 2.0 * (1 - 1e-3)


def test_secret_batches_pay_in_divergences_and_not_in_concentration(tmp_path: Path) -> None:
    limit = Limit.of("renyi", 5.0, order=3.0)
    paid = claimed(REQUEST, DOCUMENTS, tmp_path, limit).level
    plan = PRIVACY.plan(6)
    assert paid == pytest.approx(plan.costs().divergence(3.0), abs=2e-9)
    with pytest.raises(IncomparableGuarantees, match="random batches"):
        plan.costs().rho()
    assert plan.costs(1).divergence(3.0) < paid
    adaptive = replace(PRIVACY, clipping=Clipping(kind="adaptive", count_noise=2.0), epsilon=9.0)
    released = adaptive.plan(6).costs().divergence(3.0)
    fixed = replace(adaptive.plan(6), clipping=Clipping()).costs().divergence(3.0)
    assert released > fixed  # the count of short gradients is in the charge


def test_selective_runs_have_an_account_of_their_own(payment: Payment, tmp_path: Path) -> None:
    selective = replace(REQUEST, method=SelectiveTraining(), protection=PolicyPromise(Digits()))
    with pytest.raises(Killed):
        train_model(selective, NUMBERS, RunFolder(tmp_path / "a"), announce=kill, payment=payment)
    with pytest.raises(IncomparableGuarantees, match="another neighbors and another notion"):
        train_model(REQUEST, NUMBERS, RunFolder(tmp_path / "b"), payment=payment)


class Own(Private):
    """DP-SGD, as far as we know."""

    name = "own"


def test_a_tokenizer_with_a_threshold_and_a_method_of_ones_own_have_no_divergence(
    tmp_path: Path,
) -> None:
    limit = Limit.of("renyi", 50.0, order=3.0)
    cases = (
        (WITH_VOCABULARY, MANY, "no divergence is finite"),
        (replace(REQUEST, method=Own()), DOCUMENTS, "no plan says it"),
    )
    for number, (request, documents, said) in enumerate(cases):
        place = tmp_path / str(number)
        place.mkdir()
        with pytest.raises(IncomparableGuarantees, match=said):
            claimed(request, documents, place, limit)
        assert not (place / "run").exists()


def test_the_charge_is_in_the_settings_of_the_run_by_a_code(
    payment: Payment, tmp_path: Path
) -> None:
    done = train_model(REQUEST, DOCUMENTS, RunFolder(tmp_path / "run"), payment=payment)
    told = json.loads(done.files.budget.read_text())
    assert done.files.settings()["budget"] == told["run"]
    with Budget.at(payment.budget, payment.key) as budget:
        assert told["payer"] == budget.mark(ACCOUNT, told["run"])
        assert budget.code(ACCOUNT) not in done.files.budget.read_text()
