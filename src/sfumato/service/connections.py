"""Connections that do not come to the point: whoever sends no request in time is cut off.

Guarantee
    A connection on which no request has arrived whole, up to its empty line, within ``SECONDS`` is
    closed, however many bytes of it come how slowly: nobody fills the service with connections that
    are always about to ask something.

Why it holds
    A clock runs from the moment a request could begin until its first lines are complete. It is not
    set back by a byte (the server's own clock for idle connections is). Bodies have a clock of
    their own (``guard``).
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 20.0


class PromptProtocol(H11Protocol):
    """HTTP/1.1 as the server speaks it, for callers who come to the point."""

    seconds = SECONDS
    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Somebody has come."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Bytes of a request, or of its body."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """He has gone."""
        self._stop()
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(self.seconds, self._cut_off)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _cut_off(self) -> None:
        self._clock = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()
