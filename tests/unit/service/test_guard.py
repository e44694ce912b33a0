"""What is refused before a body is read: hosts, tokens, rates, sizes, slow callers."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from running_service import EVERY, TEXT, Running
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.service.guard import HEADERS, OPEN, RIGHTS, STRANGERS_PER_MINUTE, Guard, Message, Scope
from sfumato.service.settings import Limits, ServiceSettings
from sfumato.service.tokens import Right, Tokens, make_token

JSON = (b"content-type", b"application/json")


class Inside:
    """What lies behind the guard: it notes what gets there."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, _: Scope, receive: Any, send: Any) -> None:
        message = await receive()
        self.bodies.append(message["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})


class Door:
    """A guard with a token for everything, and what is behind it."""

    def __init__(self, **limits: Any) -> None:
        self.spelled, kept = make_token("", EVERY)
        self.inside = Inside()
        self.settings = ServiceSettings(hosts=("privacy.example.org",), limits=Limits(**limits))
        self.guard = Guard(self.inside, self.settings, Tokens(own=[kept]))

    def knock(
        self,
        *messages: Message | None,
        path: str = "/v1/analyze",
        method: str = "POST",
        headers: list[tuple[bytes, bytes]] | None = None,
    ) -> tuple[int, dict[str, Any], dict[bytes, bytes]]:
        """The status, the content and the headers of an answer; None waits for ever."""
        usual = [
            (b"host", b"localhost"),
            (b"authorization", f"Bearer {self.spelled}".encode()),
            JSON,
        ]
        pending = list(messages or [body(b"{}")])
        sent: list[Message] = []

        async def receive() -> Message:
            message = pending.pop(0)
            return await asyncio.Event().wait() if message is None else message  # type: ignore[return-value]

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": method, "path": path,
            "headers": usual if headers is None else headers,
        }  # fmt: skip
        asyncio.run(self.guard(scope, receive, send))
        content = b"".join(one.get("body", b"") for one in sent[1:])
        return sent[0]["status"], json.loads(content), dict(sent[0]["headers"])


def body(content: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": content, "more_body": more}


def test_a_body_gets_through_whole_and_every_answer_has_the_headers() -> None:
    door = Door()
    status, _, headers = door.knock(body(b'{"text"', more=True), body(b': ""}'))
    assert status == 200
    assert door.inside.bodies == [b'{"text": ""}']
    assert set(HEADERS) <= set(headers.items())
    refused = door.knock(headers=[])[2]
    assert set(HEADERS) <= set(refused.items())


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"localhost", 200), (b"LOCALHOST:8470", 200), (b"127.0.0.1:1", 200), (b"[::1]:80", 200),
        (b"privacy.example.org", 200), (b"evil.example.org", 421), (b"localhost.evil.org", 421),
        (b"", 421), (b"localhost@evil.org", 421), (b"[::1].evil.org", 421), (b"\xff", 421),
        (b"localhost:80.evil.org", 421), (b":80", 421),
    ],
)  # fmt: skip
def test_only_names_of_the_service_are_answered(host: bytes, status: int) -> None:
    door = Door()
    usual = (b"authorization", f"Bearer {door.spelled}".encode())
    assert door.knock(headers=[(b"host", host), usual, JSON])[0] == status
    for path in OPEN:
        assert door.knock(path=path, method="GET", headers=[(b"host", host)])[0] == status


def test_a_header_that_decides_is_taken_once() -> None:
    for name in (b"authorization", b"content-length", b"content-type", b"host", b"idempotency-key"):
        door = Door()
        token = (b"authorization", f"Bearer {door.spelled}".encode())
        twice = [(b"host", b"localhost"), token, JSON, (name.title(), b"1"), (name, b"1")]
        status, told, _ = door.knock(headers=twice)
        assert (status, told["type"], door.inside.bodies) == (400, "DoubledHeader", [])


@pytest.mark.parametrize(
    "header",
    [
        b"", b"Bearer", b"Bearer ", b"Basic {token}", b"{token}", b"Bearer {token}x",
        b"Bearer sfumato_00000000_nothing", b"Bearer sfumato__", b"Bearer \xff", b"Bearer a_b_c",
    ],
)  # fmt: skip
def test_without_a_known_token_nothing_is_read(header: bytes) -> None:
    door = Door()
    sent = header.replace(b"{token}", door.spelled.encode())
    status, told, headers = door.knock(
        None, headers=[(b"host", b"localhost"), (b"authorization", sent), JSON]
    )
    assert (status, told["type"]) == (401, "MissingToken")
    assert headers[b"www-authenticate"] == b"Bearer"
    assert headers[b"connection"] == b"close"


def test_strangers_are_counted_together_and_do_not_keep_others_out() -> None:
    door = Door()
    stranger = [(b"host", b"localhost"), JSON]
    statuses = [door.knock(headers=stranger)[0] for _ in range(STRANGERS_PER_MINUTE + 5)]
    assert statuses[0] == 401
    assert 429 in statuses
    assert door.knock()[0] == 200


def test_a_token_is_over_taken_back_or_lacks_the_right(tmp_path: Any) -> None:
    door = Door()
    tokens = Tokens(tmp_path / "tokens.json")
    door.guard._tokens = tokens
    spelled, kept = make_token("", ["analyze"], days=1)
    tokens.add(kept)
    usual = [(b"host", b"localhost"), (b"authorization", f"Bearer {spelled}".encode()), JSON]
    assert door.knock(headers=usual)[0] == 200
    status, told, _ = door.knock(headers=usual, path="/v1/privatize")
    assert (status, told["type"]) == (403, "MissingRight")
    assert "'release'" in told["detail"]
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat(timespec="seconds")
    tokens.add(replace(kept, expires=past))
    assert door.knock(headers=usual)[0] == 401
    tokens.add(kept)
    assert door.knock(headers=usual)[0] == 200
    tokens.revoke(kept.id)
    assert door.knock(headers=usual)[0] == 401
    stored = (tmp_path / "tokens.json").read_text()
    assert spelled not in stored
    assert (tmp_path / "tokens.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("right", list(Right))
def test_each_path_wants_its_right_and_what_is_not_listed_wants_admin(right: Right) -> None:
    door = Door()
    spelled, kept = make_token("", [right.value])
    door.guard._tokens = Tokens(own=[kept])
    usual = [(b"host", b"localhost"), (b"authorization", f"Bearer {spelled}".encode()), JSON]
    for path, wanted in {**RIGHTS, "/v1/nowhere": Right.ADMIN, "/v1/analyze/": Right.ADMIN}.items():
        status = door.knock(headers=usual, path=path)[0]
        assert status == (200 if wanted in (right, None) else 403), path


def test_the_rate_of_one_token_is_not_that_of_another() -> None:
    door = Door(per_minute=3)
    other, kept = make_token("", EVERY)
    door.guard._tokens._own[kept.id] = kept
    statuses = [door.knock()[0] for _ in range(4)]
    status, told, headers = door.knock()
    assert statuses[:3] == [200, 200, 200]
    assert (status, told["type"]) == (429, "TooManyRequests")
    assert int(headers[b"retry-after"]) >= 1
    usual = [(b"host", b"localhost"), (b"authorization", f"Bearer {other}".encode()), JSON]
    assert door.knock(headers=usual)[0] == 200


def test_a_large_body_is_refused_by_what_it_announces_and_by_what_comes() -> None:
    door = Door(body=1024, seconds=0.01)
    announced = [
        (b"host", b"localhost"), (b"authorization", f"Bearer {door.spelled}".encode()), JSON,
    ]  # fmt: skip
    for length in (b"1025", b"9" * 400):
        status, told, headers = door.knock(None, headers=[*announced, (b"content-length", length)])
        assert (status, told["type"], headers[b"connection"]) == (413, "TooLarge", b"close")
    for lie in (b"7", b"-1", b"x", b"\xb2"):
        part = body(b" " * 700, more=True)
        status, *_ = door.knock(part, part, None, headers=[*announced, (b"content-length", lie)])
        assert status == 413
    part = body(b" " * 700, more=True)
    assert door.knock(part, part, None)[0] == 413
    whole = b'"' + b" " * 1022 + b'"'
    assert door.knock(body(whole))[0] == 200
    assert door.inside.bodies == [whole]


def test_a_caller_who_is_refused_can_send_to_the_end_and_read_the_answer() -> None:
    door = Door(body=1024)
    waiting = [body(b" " * 1000, more=True) for _ in range(40)]
    assert door.knock(*waiting, body(b""))[0] == 413
    # But not for ever: neither is more read than some bodies, nor is it waited for long.
    left = [body(b" " * 1000, more=True) for _ in range(9)]
    status, *_ = door.knock(*left, headers=[
        (b"host", b"localhost"), (b"authorization", f"Bearer {door.spelled}".encode()), JSON,
        (b"content-length", b"9999999"),
    ])  # fmt: skip
    assert status == 413


def test_a_slow_body_is_not_waited_for() -> None:
    door = Door(seconds=0.01)
    status, told, headers = door.knock(body(b"{", more=True), None)
    assert (status, told["type"], headers[b"connection"]) == (408, "TooSlow", b"close")
    assert door.inside.bodies == []


def test_a_caller_who_leaves_in_the_middle_of_a_body_reaches_nothing() -> None:
    door = Door()
    status, told, _ = door.knock(body(b"{", more=True), {"type": "http.disconnect"})
    assert (status, told["type"], door.inside.bodies) == (400, "CutOff", [])


@pytest.mark.parametrize(
    "kind", [b"", b"text/plain", b"multipart/form-data", b"application/x-www-form-urlencoded"]
)
def test_what_a_form_elsewhere_could_send_is_refused(kind: bytes) -> None:
    door = Door()
    token = (b"authorization", f"Bearer {door.spelled}".encode())
    status, told, _ = door.knock(headers=[(b"host", b"localhost"), token, (b"content-type", kind)])
    assert (status, told["type"]) == (415, "NotJson")
    for good in (b"application/json; charset=utf-8", b"Application/JSON"):
        sent = [(b"host", b"localhost"), token, (b"content-type", good)]
        assert door.knock(headers=sent)[0] == 200


def test_an_error_behind_the_guard_is_told_without_what_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    door = Door()

    async def broken(scope: Scope, receive: Any, send: Any) -> None:
        raise LookupError("Ada Lovelace")

    door.guard._app = broken
    status, told, _ = door.knock()
    assert (status, told["type"]) == (500, "InternalError")
    said = capsys.readouterr()
    assert "Lovelace" not in said.err + said.out + json.dumps(told)


def test_tokens_that_cannot_be_read_let_nobody_in(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    door = Door()
    place = tmp_path / "tokens.json"
    tokens = door.guard._tokens = Tokens(place)
    spelled, kept = make_token("Lovelace", ["analyze"], days=1)
    tokens.add(kept)
    usual = [(b"host", b"localhost"), (b"authorization", f"Bearer {spelled}".encode()), JSON]
    whole = place.read_text()
    zoneless = whole.replace("+00:00", "")
    for damaged in ("", whole[:-20], '{"tokens": [{"id": "Lovelace"}]}', zoneless):
        place.write_text(damaged)
        status, told, headers = door.knock(headers=usual)
        assert (status, told["type"]) == (503, "TokensUnreadable")
        assert headers[b"content-security-policy"]
    place.write_text(whole.replace(kept.digest, "é" * 64))
    assert door.knock(headers=usual)[0] == 401
    place.write_text(whole)
    assert door.knock(headers=usual)[0] == 200
    said = capsys.readouterr()
    assert "Lovelace" not in said.err + said.out
    assert "tokens.json" not in said.err + said.out


def test_a_socket_is_closed_before_it_is_open(free: Running) -> None:
    with (
        pytest.raises(WebSocketDisconnect),
        free.http.websocket_connect(
            "/v1/analyze", headers={"Authorization": f"Bearer {free.token}"}
        ),
    ):
        pass


def test_paths_that_are_not_there(free: Running) -> None:
    for path in ("/v1/nowhere", "/v1/analyze/", "/V1/analyze", "/v1//analyze"):
        asked = free.ask(path, {"text": TEXT}, follow_redirects=False)
        assert (asked.status_code, asked.json()["type"]) == (404, "HttpError")
        assert free.http.get(path).status_code == 401
    assert free.ask("/v1/analyze", method="GET").status_code == 405
    assert free.ask("/studio/../app.py", method="GET").status_code in (401, 404)
    assert free.http.get("/studio/%2e%2e%2fapp.py").status_code == 404


@pytest.mark.parametrize("days", [0.0, -1.0])
def test_a_token_lasts_for_some_time(days: float) -> None:
    with pytest.raises(InvalidArgument, match="days"):
        make_token("", ["analyze"], days)


def test_tokens_that_make_no_sense_are_refused(tmp_path: Any) -> None:
    with pytest.raises(InvalidArgument, match="did you mean 'release'"):
        make_token("", ["relase"])
    with pytest.raises(InvalidArgument, match="at least one right"):
        make_token("", [])
    with pytest.raises(InvalidArgument, match="one line"):
        make_token("a\nb", ["analyze"])
    with pytest.raises(BadInput, match="no token of this number"):
        Tokens(tmp_path / "tokens.json").revoke("1")
    with pytest.raises(InvalidArgument, match="in no file"):
        Tokens().add(make_token("", ["analyze"])[1])
    (tmp_path / "damaged.json").write_text("{}")
    with pytest.raises(BadInput):
        Tokens(tmp_path / "damaged.json").listed()
