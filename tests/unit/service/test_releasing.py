"""Releases: charged once under a key, and never sent before they are charged."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from running_service import TEXT, Running, new_budget, running
from sfumato.accounting.budget import Budget
from sfumato.accounting.budget.sqlite import SqliteStore
from sfumato.service import releasing
from sfumato.service.queue import GivenUp, Turn, WorkQueue
from sfumato.service.settings import ServiceSettings

FOR_EVER = 3600.0
AUTHOR = {"kind": "author", "id": "u-17"}
BODY = {"text": TEXT, "mechanism": "laplace", "epsilon": 5, "account": AUTHOR}


def charges(service: Running, name: str = "author:u-17") -> tuple[int, float]:
    assert service.budget is not None
    account = service.budget.show(name)
    return account.charges, account.spent.level


def test_a_key_is_charged_once_and_gives_the_same_text(charged: Running) -> None:
    before = charges(charged)
    first = charged.ask("/v1/privatize", BODY, key="once")
    again = charged.ask("/v1/privatize", dict(reversed(BODY.items())), key="once")
    assert (first.status_code, again.status_code) == (200, 200)
    told, told_again = first.json(), again.json()
    assert told["text"] == told_again["text"] != TEXT
    assert (told["repeated"], told_again["repeated"]) == (False, True)
    assert told["guarantee"] == told_again["guarantee"]
    assert told["budget"]["charged"] == told_again["budget"]["charged"] == 25.0
    assert first.headers["idempotency-key"] == "once"
    assert charges(charged) == (before[0] + 1, before[1] + 25.0)
    another = charged.ask("/v1/privatize", BODY, key="twice")
    assert another.json()["repeated"] is False
    assert charges(charged)[0] == before[0] + 2


def test_without_a_key_every_request_is_a_release(charged: Running) -> None:
    before = charges(charged)[0]
    made = [charged.ask("/v1/privatize", BODY) for _ in range(2)]
    assert charges(charged)[0] == before + 2
    keys = {one.headers["idempotency-key"] for one in made}
    assert len(keys) == 2
    again = charged.ask("/v1/privatize", BODY, key=made[0].headers["idempotency-key"])
    assert again.json()["text"] == made[0].json()["text"]


@pytest.mark.parametrize(
    "change",
    [{"text": "Ask Bob."}, {"epsilon": 6}, {"policy": "digits"}, {"lexicon": ["ask"]},
     {"case": "restore"}],
)  # fmt: skip
def test_a_key_that_was_used_for_something_else_is_refused(
    charged: Running, change: dict[str, Any]
) -> None:
    charged.ask("/v1/privatize", BODY, key="mine")
    before = charges(charged)
    asked = charged.ask("/v1/privatize", BODY | change, key="mine")
    assert (asked.status_code, asked.json()["type"]) == (422, "InvalidArgument")
    assert "another request" in asked.json()["detail"]
    assert charges(charged) == before


def test_what_is_no_longer_kept_is_not_drawn_again(charged: Running) -> None:
    first = charged.ask("/v1/privatize", BODY, key="long ago")
    assert first.status_code == 200
    before = charges(charged)
    assert charged.budget is not None
    charged.budget.forget_outcomes(timedelta(seconds=-60))
    gone = charged.ask("/v1/privatize", BODY, key="long ago")
    assert (gone.status_code, gone.json()["type"]) == (410, "OutcomeForgotten")
    other = charged.ask("/v1/privatize", BODY | {"epsilon": 6}, key="long ago")
    assert other.status_code == 422
    assert charges(charged) == before


def test_one_key_at_the_same_time_from_many_is_one_release(charged: Running) -> None:
    before, many = charges(charged)[0], 8
    ready, answers = threading.Barrier(many), []

    def send() -> None:
        ready.wait()
        answers.append(charged.ask("/v1/privatize", BODY, key="all at once").json())

    senders = [threading.Thread(target=send) for _ in range(many)]
    for one in senders:
        one.start()
    for one in senders:
        one.join()
    assert len({one["text"] for one in answers}) == 1
    assert sum(not one["repeated"] for one in answers) == 1
    assert charges(charged)[0] == before + 1


def test_two_who_both_drew_under_one_key_send_what_was_charged(
    charged: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither finds the key when it looks, so both draw; the second charge finds the first."""
    before = charges(charged)[0]
    monkeypatch.setattr(releasing, "recall", lambda *_: None)
    first = charged.ask("/v1/privatize", BODY, key="a race").json()
    second = charged.ask("/v1/privatize", BODY, key="a race").json()
    assert first["text"] == second["text"]
    assert second["repeated"]
    assert charges(charged)[0] == before + 1


def test_a_budget_that_is_empty_refuses_and_answers_old_keys(charged: Running) -> None:
    body = BODY | {"account": {"kind": "text", "id": "small"}}
    first = charged.ask("/v1/privatize", body, key="first")
    assert first.status_code == 200
    second = charged.ask("/v1/privatize", body, key="second")
    assert (second.status_code, second.json()["type"]) == (409, "BudgetExceeded")
    assert "costs 5 and 2 is left" in second.json()["detail"]
    again = charged.ask("/v1/privatize", body, key="first")
    assert again.json()["text"] == first.json()["text"]
    assert charges(charged, "text:small") == (1, 5.0)


@pytest.mark.parametrize(
    ("path", "body", "status", "kind"),
    [
        ("/v1/privatize", BODY | {"account": None}, 422, "MissingAccount"),
        ("/v1/privatize", BODY | {"account": {"kind": "text", "id": "no"}}, 404, "MissingAccount"),
        ("/v1/privatize", BODY | {"account": {"kind": "corpus", "id": "u"}}, 404, "MissingAccount"),
        ("/v1/privatize", BODY | {"policy": "nothing"}, 409, "IncomparableGuarantees"),
        ("/v1/privatize", BODY | {"mechanism": "surrogate", "epsilon": None}, 409,
         "IncomparableGuarantees"),
        ("/v1/anonymize", {"text": TEXT, "analyzer_results": [],
                           "anonymizers": {"DEFAULT": {"type": "laplace", "epsilon": 5}}}, 422,
         "MissingAccount"),
    ],
)  # fmt: skip
def test_what_nobody_can_pay_for_is_not_released(
    charged: Running, path: str, body: dict[str, Any], status: int, kind: str
) -> None:
    before = charges(charged)
    asked = charged.ask(path, body, key="unpaid")
    assert (asked.status_code, asked.json()["type"]) == (status, kind), asked.json()
    assert "text" not in asked.json()
    assert charges(charged) == before


def test_what_costs_nothing_needs_no_account(charged: Running) -> None:
    masked = charged.ask("/v1/privatize", {"text": TEXT, "mechanism": "redact"})
    assert (masked.status_code, masked.json()["budget"]) == (200, None)
    found = [{"start": 4, "end": 16, "entity_type": "PERSON"}]
    redacted = charged.ask("/v1/anonymize", {"text": TEXT, "analyzer_results": found})
    assert redacted.json()["text"] == "Ask <PERSON> at 515 555 0146."


def test_anonymizing_by_a_mechanism_is_charged_and_repeated(charged: Running) -> None:
    body = {
        "text": TEXT,
        "analyzer_results": [{"start": 4, "end": 16, "entity_type": "PERSON"}],
        "anonymizers": {"PERSON": {"type": "laplace", "epsilon": 4}},
        "account": {"kind": "text", "id": "t"},
    }
    before = charges(charged, "text:t")
    first, again = (charged.ask("/v1/anonymize", body, key="by type") for _ in range(2))
    assert first.json()["items"] == again.json()["items"]
    assert {one["operator"] for one in first.json()["items"]} == {"laplace"}
    assert (first.json()["repeated"], again.json()["repeated"]) == (False, True)
    assert charges(charged, "text:t") == (before[0] + 1, before[1] + 4.0)


def test_a_service_without_a_budget_has_no_accounts(free: Running) -> None:
    for path, body in (
        ("/v1/privatize", BODY),
        ("/v1/budget", AUTHOR),
        ("/v1/report", AUTHOR),
        ("/v1/accounts/close", AUTHOR),
    ):
        asked = free.ask(path, body)
        assert (asked.status_code, asked.json()["type"]) == (422, "NoBudget")
    released = free.ask("/v1/privatize", {"text": TEXT, "mechanism": "laplace", "epsilon": 5})
    assert (released.status_code, released.json()["budget"]) == (200, None)


def test_accounts_are_opened_once_however_often_one_asks(charged: Running) -> None:
    new = {"kind": "author", "id": "u-18", "limit": 12}
    first = charged.ask("/v1/accounts", new, method="PUT")
    assert (first.status_code, first.json()["left"]) == (201, 12.0)
    assert charged.ask("/v1/accounts", new, method="PUT").json() == first.json()
    other = charged.ask("/v1/accounts", new | {"limit": 13}, method="PUT")
    assert (other.status_code, other.json()["type"]) == (422, "InvalidArgument")
    name = {"kind": "author", "id": "u-18"}
    closed = charged.ask("/v1/accounts/close", name).json()
    assert closed["closed"] == charged.ask("/v1/accounts/close", name).json()["closed"]
    assert charged.ask("/v1/accounts", new, method="PUT").status_code == 422
    refused = charged.ask("/v1/privatize", BODY | {"account": name})
    assert (refused.status_code, refused.json()["type"]) == (409, "BudgetExceeded")
    unlimited = {"kind": "author", "id": "u-19"}
    assert charged.ask("/v1/accounts", unlimited, method="PUT").json()["limit"] is None
    assert (
        charged.ask("/v1/accounts", unlimited | {"measure": "rho"}, method="PUT").status_code == 422
    )


def test_an_account_and_its_page_do_not_name_it(charged: Running) -> None:
    shown = charged.ask("/v1/budget", AUTHOR | {"delta": 1e-6}).json()
    assert shown["spent"] == charges(charged)[1]
    page = charged.ask("/v1/report", AUTHOR)
    assert "| used |" in page.json()["markdown"]
    assert "u-17" not in page.text
    markdown = charged.ask("/v1/report", AUTHOR, headers={"Accept": "text/markdown"})
    assert markdown.text == page.json()["markdown"]
    assert charged.ask("/v1/budget", {"kind": "text", "id": "none"}).status_code == 404


def test_an_explanation_is_stamped_and_charges_nothing(charged: Running) -> None:
    before = charges(charged)
    body = {"text": TEXT, "mechanism": "laplace", "epsilon": 5, "draws": 5}
    told = charged.ask("/v1/explain", body).json()
    assert "NOT FOR RELEASE" in told["stamp"]
    assert told["for_release"] is False
    assert [one["original"] for one in told["words"]] == ["Ada", "Lovelace", "515", "555", "0146"]
    assert charges(charged) == before


# --- sending before paying ------------------------------------------------------------------------


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_at_the_charge(monkeypatch: pytest.MonkeyPatch, *, after: bool) -> Iterator[None]:
    """A service that dies right before, or right after, the transaction that charges."""
    honest = Budget.charge

    def dying(self: Budget, *arguments: Any) -> Any:
        if after:
            honest(self, *arguments)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Budget, "charge", dying)
        yield


def work(paid: releasing.Paid, budget: Budget, sent: list[str], *, first: str) -> None:
    """A release as the service makes it; ``first`` is "charge", or in the twin "send"."""
    from sfumato.service.offers import choose_privatizer
    from sfumato.service.requests import Choices

    privatizer = choose_privatizer(Choices(mechanism="laplace", epsilon=5.0, policy="digits"))
    if first == "send":
        sent.append(privatizer.privatize([TEXT])[0])
    made = releasing.privatize(privatizer, TEXT, releasing.Cashier(budget), paid, Turn())
    if first == "charge":
        sent.append(made["text"])


@pytest.mark.parametrize("first", ["charge", "send"])
@pytest.mark.parametrize("after", [False, True])
def test_nothing_is_sent_that_is_not_charged(
    first: str, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_vectors: None
) -> None:
    place, key = new_budget(tmp_path, author_a=100.0)
    from sfumato.service.requests import AccountName

    paid = releasing.Paid.of(
        AccountName(kind="author", id="a"), "k", json.dumps({"text": TEXT}).encode()
    )
    sent: list[str] = []
    with Budget.at(place, key) as budget:
        with killed_at_the_charge(monkeypatch, after=after), pytest.raises(Killed):
            work(paid, budget, sent, first=first)
        uncharged = bool(sent) and budget.show("author:a").charges == 0
        assert uncharged == (first == "send" and not after)
        if first == "charge":
            assert sent == []
            # Asked again after the crash: what was charged is had, and paid for once.
            work(paid, budget, sent, first="charge")
            assert budget.show("author:a").charges == 1
            stored = budget.recall("author:a", paid.request(budget))
            assert stored is not None
            assert sent == [json.loads(stored.outcome or "")["text"]]


def test_work_that_was_given_up_charges_nothing(tmp_path: Path, small_vectors: None) -> None:
    from sfumato.service.requests import AccountName

    place, key = new_budget(tmp_path, author_a=100.0)
    paid = releasing.Paid.of(AccountName(kind="author", id="a"), "k", b"{}")
    turn = Turn()
    assert turn.give_up()
    from sfumato.service.offers import choose_privatizer
    from sfumato.service.requests import Choices

    privatizer = choose_privatizer(Choices(mechanism="laplace", epsilon=5.0, policy="digits"))
    with Budget.at(place, key) as budget:
        with pytest.raises(GivenUp):
            releasing.privatize(privatizer, TEXT, releasing.Cashier(budget), paid, turn)
        assert budget.show("author:a").charges == 0


@contextmanager
def _kept_by_others(place: str) -> Iterator[None]:
    """Somebody holds the file and does not let go."""
    other = sqlite3.connect(place)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.rollback()
        other.close()


@pytest.mark.parametrize("path", ["/v1/privatize", "/v1/accounts", "/v1/accounts/close"])
def test_who_waits_for_a_budget_is_answered_in_time_and_never_charged_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_vectors: None, path: str
) -> None:
    place, key = new_budget(tmp_path, **{"author_u-17": 100.0})
    method = "PUT" if path == "/v1/accounts" else "POST"
    body = BODY if path == "/v1/privatize" else {"kind": "author", "id": "u-17"}
    body |= {"id": "new", "limit": 5.0} if method == "PUT" else {}
    waits, result = threading.Event(), WorkQueue._result

    def begun(self: Any, who: Any) -> Any:
        waits.set()  # a transaction is wanted, and the file is not free
        return begin(self, who)

    async def over(self: Any, future: Any, turn: Turn, gone: Any, _: float) -> Any:
        assert await asyncio.to_thread(waits.wait, FOR_EVER)
        while not turn.waits_at_budget:  # it is about to ask how long it may wait
            await asyncio.sleep(0.01)
        return await result(self, future, turn, gone, 0.0)  # the time of the request is over now

    with running(ServiceSettings(budget=place, budget_key=key)) as service:
        begin = SqliteStore._begun
        with monkeypatch.context() as patched, _kept_by_others(place):
            patched.setattr(SqliteStore, "_begun", begun)
            patched.setattr(WorkQueue, "_result", over)
            asked = service.ask(path, body, key="k", method=method)
            assert (asked.status_code, asked.json()["type"]) == (503, "BudgetBusy")
            assert int(asked.headers["retry-after"]) > 0
            assert "nothing was released or charged" in asked.json()["detail"]
            assert place not in asked.text
            # Who only reads is not kept from it by one who waits.
            shown = service.budget.show("author:u-17")  # type: ignore[union-attr]
            assert (shown.charges, shown.closed) == (0, None)
        queue = service.http.app.state.service.queue  # type: ignore[attr-defined]
        while queue.computing:  # until what was given up has really ended
            service.http.get("/health")
        assert charges(service) == (0, 0.0)
        again = service.ask(path, body, key="k", method=method)
        assert again.status_code == (201 if method == "PUT" else 200)
        assert again.json().get("repeated", False) is False


def test_a_level_that_is_missing_is_said_everywhere(free: Running) -> None:
    for path in ("/v1/privatize", "/v1/explain", "/v1/guarantee"):
        for mechanism in ("date", "laplace"):
            body = {"mechanism": mechanism} | ({} if path == "/v1/guarantee" else {"text": TEXT})
            asked = free.ask(path, body)
            assert (asked.status_code, asked.json()["type"]) == (422, "InvalidArgument")
            assert "epsilon" in asked.json()["detail"]
