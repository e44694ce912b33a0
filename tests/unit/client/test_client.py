"""The client against a server that misbehaves as it is told: retries, errors, tokens."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sfumato import Client
from sfumato.client import Released, transport
from sfumato.core import errors
from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    IncomparableGuarantees,
    InvalidArgument,
    MissingAccount,
    MissingExtra,
    MissingRight,
    MissingToken,
    OutcomeForgotten,
    ServiceFailed,
    ServiceUnavailable,
    SfumatoError,
    StorageFailed,
)
from sfumato.core.quoting import repeats
from sfumato.guarantees.guarantee import metric_dp
from sfumato.text.span import Span

TEXT = "Ask Ada Lovelace at 515 555 0146."
HEALTH = {"status": "ok", "version": "1"}
ACCOUNT = {
    "kind": "author", "measure": "level", "order": None, "limit": 9.0, "spent": 5.0, "held": 0.0,
    "left": 4.0, "limit_delta": 0.0, "spent_delta": 0.0, "charges": 1, "opened": "now",
    "closed": None, "sentence": "All of it.",
}  # fmt: skip
STATED = metric_dp(epsilon=5.0, metric="euclidean")
RELEASE = {
    "text": "Ask emmitt", "counts": {"words": 3}, "budget": {**ACCOUNT, "charged": 5.0},
    "guarantee": STATED.as_dict() | {"sentence": "…", "summary": []}, "repeated": False,
}  # fmt: skip
HANG_UP = "hang up"


def problem(
    kind: str, status: int, detail: str = "no", **headers: str
) -> tuple[int, Any, dict[str, str]]:
    content = {"type": kind, "title": "", "status": status, "detail": detail}
    return status, content, {"Content-Type": "application/problem+json", **headers}


@dataclass
class Service:
    """A server that answers as it is told, one answer after the other, and notes what it got."""

    url: str
    script: list[Any] = field(default_factory=list)
    got: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)

    def keys_sent(self) -> list[str | None]:
        return [headers.get("idempotency-key") for _, _, headers, _ in self.got]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            made.got.append((self.command, self.path, headers, json.loads(body) if body else None))
            told = made.script.pop(0)
            if told == HANG_UP:
                self.close_connection = True
                return
            status, content, more = told if isinstance(told, tuple) else (200, told, {})
            written = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in ({"Content-Type": "application/json"} | more).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        do_GET = do_POST = do_PUT = answer  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made = Service(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield made
        server.shutdown()
        thread.join()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody waits; how long it would have been is noted."""
    seen: list[float] = []
    monkeypatch.setattr(transport, "pause", seen.append)
    return seen


def release(client: Client, **more: Any) -> Released:
    return client.privatize(TEXT, mechanism="laplace", epsilon=5, **more)


# --- retries --------------------------------------------------------------------------------------


def test_a_release_has_one_key_however_often_it_is_sent(
    service: Service, pauses: list[float]
) -> None:
    busy = problem("Busy", 503, **{"Retry-After": "3"})
    service.script = [HANG_UP, busy, problem("TookTooLong", 504), HANG_UP, (200, RELEASE, {})]
    with Client(service.url, "t") as client:
        made = release(client, account="author:u-17")
        assert (made.text, made.bill and made.bill.charged) == ("Ask emmitt", 5.0)
        assert made.guarantee == STATED
        assert service.keys_sent() == [made.key] * 5
        assert len({json.dumps(body) for *_, body in service.got}) == 1
        service.script = [RELEASE]
        assert release(client).key != made.key
    assert len(pauses) == 4
    assert pauses[1] >= 3.0  # as the service asked
    assert 0.125 <= pauses[0] <= 0.25
    assert pauses[3] > pauses[0]


def test_a_key_of_ones_own_is_sent_as_it_is(service: Service) -> None:
    service.script = [RELEASE | {"repeated": True}]
    with Client(service.url, "t") as client:
        made = release(client, key="order 17")
        assert (made.key, made.repeated, service.keys_sent()) == ("order 17", True, ["order 17"])
        for wrong in ("", " a", "a\n", "é", "x" * 201):
            with pytest.raises(InvalidArgument, match="a key of a release"):
                release(client, key=wrong)


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_what_may_pass_is_tried_so_often_and_no_more(
    service: Service, pauses: list[float], status: int
) -> None:
    service.script = [(status, b"<html>", {"Content-Type": "text/html"})] * 3
    with Client(service.url, "t", retries=2) as client, pytest.raises(ServiceUnavailable) as caught:
        client.health()
    assert (len(service.got), len(pauses)) == (3, 2)
    assert str(status) in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("BudgetExceeded", 409, BudgetExceeded),
        ("IncomparableGuarantees", 409, IncomparableGuarantees),
        ("OutcomeForgotten", 410, OutcomeForgotten),
        ("MissingAccount", 404, MissingAccount),
        ("MissingAccount", 422, MissingAccount),
        ("InvalidArgument", 422, InvalidArgument),
        ("UnknownName", 422, InvalidArgument),
        ("BadRequest", 422, InvalidArgument),
        ("UnreadableJson", 400, InvalidArgument),
        ("UndecodableText", 422, BadInput),
        ("TooLarge", 413, BadInput),
        ("TooMany", 413, BadInput),
        ("MissingToken", 401, MissingToken),
        ("MissingRight", 403, MissingRight),
        ("InternalError", 500, ServiceFailed),
        ("MissingExtra", 501, ServiceFailed),
        ("UnknownHost", 421, ServiceFailed),
        ("SomethingNew", 418, ServiceFailed),
        ("TookTooLong", 422, BadInput),
        ("SomethingNew", 422, InvalidArgument),
    ],
)
def test_an_error_is_one_of_the_package_and_is_not_asked_for_again(
    service: Service, pauses: list[float], kind: str, status: int, error: type[SfumatoError]
) -> None:
    service.script = [problem(kind, status, "this release costs 5 and 2 is left")]
    with Client(service.url, "t") as client, pytest.raises(error, match="costs 5") as caught:
        release(client)
    assert isinstance(caught.value, error)
    assert (len(service.got), pauses) == (1, [])


def test_a_budget_that_is_away_for_a_moment_is_asked_again(
    service: Service, pauses: list[float]
) -> None:
    service.script = [problem("StorageFailed", 503)] * 2
    with Client(service.url, "t", retries=1) as client, pytest.raises(StorageFailed):
        release(client)
    assert len(pauses) == 1


def test_who_asks_to_wait_for_hours_is_not_waited_for(
    service: Service, pauses: list[float]
) -> None:
    service.script = [problem("TooManyRequests", 429, **{"Retry-After": "7200"})]
    with Client(service.url, "t") as client, pytest.raises(ServiceUnavailable):
        client.health()
    assert pauses == []


def test_time_that_is_over_there_is_no_mistake_of_the_text(
    service: Service, pauses: list[float]
) -> None:
    service.script = [problem("TookTooLong", 504)]
    with Client(service.url, "t", retries=0) as client, pytest.raises(ServiceUnavailable):
        release(client)


def test_nobody_there(pauses: list[float]) -> None:
    with (
        Client("http://127.0.0.1:1", "t", retries=2) as client,
        pytest.raises(ServiceUnavailable, match="cannot be reached") as caught,
    ):
        release(client)
    assert len(pauses) == 2
    assert caught.value.__context__ is None  # an error of httpx holds the request


def test_reads_are_asked_again(service: Service, pauses: list[float]) -> None:
    service.script = [HANG_UP, HEALTH]
    with Client(service.url, "t") as client:
        assert client.health().version == "1"
    assert len(service.got) == 2


# --- what is said ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "told",
    [
        problem("InvalidArgument", 422, f"unknown policy {TEXT!r}"),
        problem("InvalidArgument", 422, "no policy 'Ada Lovelace'"),
        problem("InvalidArgument", 422, "no number 5155550146"),
        problem("InvalidArgument", 422, "x" * 5000),
        (422, {"detail": [{"input": TEXT}]}, {}),
        (500, f"<html>{TEXT}</html>".encode(), {"Content-Type": "text/html"}),
        (422, b"{", {"Content-Type": "application/problem+json"}),
        (422, ["list"], {"Content-Type": "application/problem+json"}),
    ],
)
def test_no_error_repeats_what_was_sent(service: Service, told: Any) -> None:
    service.script = [told]
    with Client(service.url, "t") as client, pytest.raises(SfumatoError) as caught:
        client.privatize([TEXT, "5155550146"], account="author:u-17")
    said = repr(caught.value) + str(caught.value)
    assert "Lovelace" not in said
    assert "5155550146" not in said
    assert len(said) < 300
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_twin_a_message_that_is_taken_over_is_seen() -> None:
    assert repeats(f"unknown policy {TEXT!r}", [TEXT])
    assert not repeats("unknown policy", [TEXT])


def test_places_that_do_not_fit_are_told(service: Service) -> None:
    status, content, headers = problem("BadRequest", 422, "see errors")
    content["errors"] = [{"where": ["body", "epsilon"], "kind": "greater_than"}, "odd"]
    service.script = [(status, content, headers)]
    said = r"see errors \(epsilon: greater_than\)"
    with Client(service.url, "t") as client, pytest.raises(InvalidArgument, match=said):
        release(client)


@pytest.mark.parametrize(
    "answer",
    [b"", b"<html>", b"[]", b"null", {}, RELEASE | {"text": 5}, RELEASE | {"text": [5]},
     RELEASE | {"guarantee": {"notion": "new"}}, RELEASE | {"budget": {}}],
    ids=range(9),
)  # fmt: skip
def test_what_is_no_answer_is_said_to_be_none(service: Service, answer: Any) -> None:
    service.script = [answer]
    with Client(service.url, "t") as client, pytest.raises(ServiceFailed) as caught:
        release(client)
    assert "Lovelace" not in str(caught.value)


def test_results_and_clients_show_neither_texts_nor_tokens(service: Service) -> None:
    service.script = [RELEASE, {**RELEASE, "text": ["Ask emmitt", "b"]}]
    with Client(service.url, "a-secret") as client:
        made = release(client, key="order-17")
        shown = repr(made) + repr(client)
        assert not any(one in shown for one in ("emmitt", "a-secret", "order-17"))
        several = client.privatize((TEXT, "b"))
        assert several.texts == ("Ask emmitt", "b")
        with pytest.raises(InvalidArgument, match="2 texts"):
            _ = several.text
        with pytest.raises(AttributeError):
            made.texts = ()  # type: ignore[misc]


# --- what is sent ---------------------------------------------------------------------------------


def test_what_was_chosen_is_sent_and_nothing_else(service: Service) -> None:
    service.script = [[], STATED.as_dict(), ACCOUNT, ACCOUNT, ACCOUNT, {"markdown": "# p"}]
    with Client(service.url, "t") as client:
        assert client.analyze("a", policy=("pii", "digits"), lexicon=["b"]) == ()
        client.guarantee(by_type={"PERSON": "redact"}, settings={"pii.regions": ("US",)})
        client.open_account("author:a:b", float("inf"))
        client.open_account("corpus:c", 8, measure="approximate", delta=1e-5)
        client.account("text:t", delta=1e-6)
        assert client.report("text:t") == "# p"
        with pytest.raises(InvalidArgument, match="'epsilon' cannot be chosen here"):
            client.analyze("a", epsilon=5)
        with pytest.raises(InvalidArgument, match="'polcy' cannot be chosen here"):
            client.privatize("a", polcy="pii")  # type: ignore[call-arg]
        with pytest.raises(InvalidArgument, match="KIND:ID"):
            client.account("nobody")
        with pytest.raises(InvalidArgument, match="finite"):
            client.privatize("a", epsilon=float("nan"))
    assert [body for *_, body in service.got] == [
        {"text": "a", "policy": ["pii", "digits"], "lexicon": ["b"]},
        {"by_type": {"PERSON": "redact"}, "settings": {"pii.regions": ["US"]}},
        {"kind": "author", "id": "a:b", "measure": "level", "limit": None, "delta": 0.0,
         "order": None},
        {"kind": "corpus", "id": "c", "measure": "approximate", "limit": 8, "delta": 1e-5,
         "order": None},
        {"kind": "text", "id": "t", "delta": 1e-6},
        {"kind": "text", "id": "t", "delta": 1e-5},
    ]  # fmt: skip
    assert [(method, path) for method, path, *_ in service.got][2] == ("PUT", "/v1/accounts")
    assert all(key is None for key in service.keys_sent())


def test_places_are_sent_in_presidios_way(service: Service) -> None:
    item = {"start": 4, "end": 5, "entity_type": "PERSON", "text": "X", "operator": "replace"}
    service.script = [{**RELEASE, "items": [item]}]
    with Client(service.url, "t") as client:
        operators = {"DEFAULT": {"type": "replace", "new_value": "X"}}
        made = client.anonymize(TEXT, [Span(4, 16, "PERSON")], operators)
    assert made.items[0].operator == "replace"
    assert service.got[0][3]["analyzer_results"] == [
        {"start": 4, "end": 16, "entity_type": "PERSON", "score": 1.0}
    ]


def test_a_redirection_is_not_followed_and_no_proxy_is_asked(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    service.script = [(307, {}, {"Location": "http://127.0.0.1:1/elsewhere"})]
    with Client(service.url, "t") as client, pytest.raises(ServiceFailed, match="307"):
        client.health()
    assert len(service.got) == 1
    assert not client._transport._http.trust_env
    assert Client("https://privacy.example.org", "t")._transport._http.trust_env


# --- the token and the address --------------------------------------------------------------------


def test_a_token_comes_from_the_call_a_file_or_the_environment(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    monkeypatch.setenv("SFUMATO_TOKEN", "from-the-environment")
    service.script = [HEALTH] * 3
    for given in ("from-the-call", tmp_path / "token", None):
        with Client(service.url, given) as client:
            client.health()
    assert [headers["authorization"] for _, _, headers, _ in service.got] == [
        "Bearer from-the-call", "Bearer from-a-file", "Bearer from-the-environment",
    ]  # fmt: skip
    monkeypatch.delenv("SFUMATO_TOKEN")
    with pytest.raises(MissingToken, match="SFUMATO_TOKEN"):
        Client(service.url)
    with pytest.raises(StorageFailed, match="cannot read the token"):
        Client(service.url, tmp_path / "none")
    for wrong in ("", "a b", "a\nb", "é"):
        with pytest.raises(InvalidArgument, match="one word"):
            Client(service.url, wrong)


@pytest.mark.parametrize(
    "url", ["", "localhost:8470", "ftp://localhost", "https://me:secret@host", "https://h/?a=secret",
            "https://h/#token=secret", "http://[::1", "http://localhost:99999", "https://"],
)  # fmt: skip
def test_an_address_is_an_address_and_no_place_for_secrets(url: str) -> None:
    with pytest.raises(InvalidArgument, match="https://HOST") as caught:
        Client(url, "t")
    assert "secret" not in str(caught.value)


def test_plain_http_is_for_this_machine_unless_allowed() -> None:
    for url in ("http://localhost:1", "http://127.0.0.1", "http://[::1]:8470/", "https://a.org"):
        Client(url, "t").close()
    with pytest.raises(InvalidArgument, match="allow_http"):
        Client("http://10.0.0.7", "t")
    Client("http://10.0.0.7", "t", allow_http=True).close()


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[client\]"):
        Client("http://localhost", "t")


@pytest.mark.parametrize("retries", [-1, 101])
def test_retries_are_bounded(retries: int) -> None:
    with pytest.raises(InvalidArgument, match="retries"):
        Client("http://localhost", "t", retries=retries)


def test_waits_grow_are_bounded_and_differ() -> None:
    assert max(transport.backoff(0) for _ in range(50)) <= transport.FIRST_WAIT
    assert all(30 <= transport.backoff(60) <= transport.LONGEST_WAIT for _ in range(50))
    assert len({transport.backoff(3) for _ in range(20)}) == 20


def test_every_error_of_the_client_is_in_the_tree() -> None:
    for one in (ServiceUnavailable, MissingToken, MissingRight, OutcomeForgotten):
        assert issubclass(one, errors.ServiceFailed)
