"""Nothing of a request is repeated: not in an error, a log, the metrics or the database."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import canaries
from running_service import Running, new_budget, running
from sfumato.accounting.budget import Limit
from sfumato.core.errors import UnknownName
from sfumato.service import problems
from sfumato.service.problems import PLAIN, of_error
from sfumato.service.settings import ServiceSettings


@contextmanager
def logs() -> Iterator[io.StringIO]:
    """All that any logger says, with every level."""
    said, root = io.StringIO(), logging.getLogger()
    handler, before = logging.StreamHandler(said), root.level
    handler.addFilter(lambda one: not one.name.startswith("httpx"))  # whoever asks, not the service
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield said
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def asking(service: Running) -> canaries.Ask:
    def ask(method: str, path: str, body: bytes, headers: dict[str, Any]) -> Any:
        usual = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
        sent = [(name, value.encode("latin-1")) for name, value in (usual | headers).items()]
        return service.http.request(
            method,
            path,
            content=body or None,
            headers=sent,
            follow_redirects=False,
        )

    return ask


def on_the_disk(folder: Path) -> list[str]:
    """The files whose bytes hold a canary."""
    return [one.name for one in folder.iterdir() if canaries.holds(one.read_bytes())]


@pytest.mark.usefixtures("small_vectors")
def test_a_canary_is_repeated_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place, key = new_budget(tmp_path)
    with logs() as said, running(ServiceSettings(budget=place, budget_key=key)) as service:
        assert service.budget is not None
        service.budget.open(f"text:{canaries.WORD}", Limit.of("level", 1e6))
        document = service.http.get("/openapi.json").json()
        sent = canaries.send_everywhere(asking(service), document)
        statuses = {one.status for one in sent}
        assert {200, 201, 400, 401, 404, 405, 409, 413, 415, 421, 422} <= statuses
        assert not statuses & {500, 502, 503, 504}
        assert canaries.repeated(sent) == []
        kept = {"idempotency-key"}  # what a caller named himself, on his own answer
        told = [(name, value) for one in sent for name, value in one.headers if name not in kept]
        assert not [one for one in told if canaries.holds(" ".join(one).encode())]
        assert not canaries.holds(service.ask("/metrics", method="GET").content)
        # Outputs are kept for a while, for whoever asks again; then they are gone to the last byte.
        assert on_the_disk(tmp_path)
        service.budget.forget_outcomes(timedelta(seconds=-60))
        assert on_the_disk(tmp_path) == []
        assert service.budget.show(f"text:{canaries.WORD}").charges > 0
    assert on_the_disk(tmp_path) == []
    spoken = capfd.readouterr()
    assert not canaries.holds((said.getvalue() + spoken.out + spoken.err).encode())


@pytest.mark.parametrize("asked_for", [False, True])
def test_bodies_are_handed_to_no_collector_of_traces(
    free: Running, monkeypatch: pytest.MonkeyPatch, asked_for: bool
) -> None:
    """The twin has FastAPI's own telemetry as it is unless told otherwise."""
    asgi = pytest.importorskip("fastapi.telemetry._asgi")
    from fastapi.telemetry._api import get_telemetry_data
    from opentelemetry import trace

    class Provider:
        def get_tracer(self, *_: object, **__: object) -> trace.Tracer:
            return trace.NoOpTracer()

    monkeypatch.setattr(asgi.trace, "get_tracer_provider", Provider)
    app: Any = free.http.app
    handed: list[object] = []

    async def note(*_: object) -> list[object]:
        handed.append(get_telemetry_data())
        return [[]]

    monkeypatch.setattr(app.state.service, "compute", note)
    if asked_for:
        wanted = app._telemetry | {"tracing": True}
        monkeypatch.setattr(app, "_native_telemetry", asgi.NativeTelemetry(wanted))
    assert free.ask("/v1/analyze", {"text": canaries.WORD}).status_code == 200
    assert canaries.holds(repr(handed).encode()) == asked_for


# --- twins ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_vectors")
def test_twin_what_fastapi_says_of_a_body_by_itself_is_seen() -> None:
    from fastapi.exception_handlers import request_validation_exception_handler
    from fastapi.exceptions import RequestValidationError

    with running(ServiceSettings()) as service:
        document = service.http.get("/openapi.json").json()
        handlers = service.http.app.exception_handlers  # type: ignore[attr-defined]
        handlers[RequestValidationError] = request_validation_exception_handler
        service.http.app.middleware_stack = service.http.app.build_middleware_stack()  # type: ignore[attr-defined]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(canaries, "WORKING", {"/v1/guarantee": canaries.WORKING["/v1/guarantee"]})
            assert canaries.repeated(canaries.send_everywhere(asking(service), document, few=True))


def test_twin_a_log_of_requests_is_seen(free: Running) -> None:
    def noting(path: str) -> Any:
        logging.getLogger("uvicorn.access").info('"GET %s" 404', path)
        return free.http.get(path)

    with logs() as said:
        noting(f"/v1/{canaries.WORD}")
    assert canaries.holds(said.getvalue().encode())


def test_twin_messages_as_they_are_would_repeat_names(
    free: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"mechanism": f"{canaries.WORD}\n"}
    assert free.ask("/v1/guarantee", body).json()["detail"] == PLAIN
    with monkeypatch.context() as patch:
        patch.setattr(problems, "without_body", lambda message, _: message)
        assert canaries.holds(free.ask("/v1/guarantee", body).content)


@pytest.mark.parametrize(
    ("given", "body", "quoted"),
    [
        ("laplase", b'{"mechanism": "laplase"}', True),
        ("ann", b'{"by_type": {"X": "ann:epsilon=5"}}', True),
        ("a'b\n", b'{"mechanism": "a\'b\\n"}', True),
        ("ANN", b'{"text": "Ann"}', True),
        ("redact", b'{"mechanism": "redact"}', False),
        ("laplase", b"", False),
        ("laplase", b'{"text": "hello"', False),
        ("laplase", b'{"text": "xy"}', False),
    ],
)  # fmt: skip
def test_a_message_is_told_unless_it_quotes_the_body(given: str, body: bytes, quoted: bool) -> None:
    error = UnknownName("mechanism", given, ["laplace"])
    assert (of_error(error, body).detail == PLAIN) == quoted
