"""Connections on which no request arrives are closed; those with a request are not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sfumato.service.connections import PromptProtocol

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
ANSWERED = b"wait for an answer"
FOR_EVER = 3600.0


class Hasty(PromptProtocol):
    """The same with no time at all."""

    seconds = 0.01


async def slow_answer(scope: Any, receive: Any, send: Any) -> None:
    """Takes longer than a request may take to arrive."""
    await receive()
    await asyncio.sleep(5 * Hasty.seconds)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


async def conversation(protocol: type[H11Protocol], *sent: bytes) -> bytes:
    """All that is answered until the other side closes the connection."""
    config = uvicorn.Config(slow_answer, lifespan="off", log_level="critical", loop="asyncio")
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: protocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    async with server:
        reading, writing = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            for part in sent:
                if part == ANSWERED:
                    await reading.readuntil(b"0\r\n\r\n")
                    continue
                writing.write(part)
                await asyncio.sleep(0)
            return await asyncio.wait_for(reading.read(), FOR_EVER)
        except ConnectionError:  # it was closed while something was still being sent
            return b""
        finally:
            writing.close()


@pytest.mark.parametrize(
    "sent",
    [(), (b"GET / HTTP/1.1\r\n",), (b"G", b"ET / HT", b"TP/1.1\r\nHost: local"), (REQUEST[:-2],)],
)
def test_a_request_that_does_not_come_is_not_waited_for(sent: tuple[bytes, ...]) -> None:
    assert asyncio.run(conversation(Hasty, *sent)) == b""


def test_a_request_that_came_is_answered_however_long_that_takes() -> None:
    # A second one on the same connection has a clock of its own.
    assert asyncio.run(conversation(Hasty, REQUEST, ANSWERED, b"GET / HT")) == b""
    closing = REQUEST[:-2] + b"Connection: close\r\n\r\n"
    assert b"done" in asyncio.run(conversation(Hasty, closing))


def test_a_byte_does_not_set_the_clock_back_and_the_twin_is_never_done() -> None:
    """The server's own protocol has no clock before the first request."""
    clocks = []

    class Noting(Hasty):
        def _expect(self) -> None:
            super()._expect()
            clocks.append(self._clock)

    asyncio.run(conversation(Noting, b"G", b"E", b"T"))
    assert len(set(map(id, clocks))) == 1

    async def twin() -> None:
        asked = asyncio.ensure_future(conversation(H11Protocol, b"GET / HTTP/1.1\r\n"))
        done, _ = await asyncio.wait([asked], timeout=10 * Hasty.seconds)
        assert not done
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)

    asyncio.run(twin())
