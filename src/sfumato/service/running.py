"""Running a service: a socket, a server, and what it says when it is there."""

from __future__ import annotations

import os
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

from sfumato.accounting.budget.shared import Budget
from sfumato.core.checks import extra
from sfumato.core.errors import StorageFailed
from sfumato.core.files import write_first
from sfumato.service.hosts import is_everywhere
from sfumato.service.settings import ServiceSettings
from sfumato.service.tokens import Tokens

GRACE = 10  # seconds beyond the longest request that a stop waits for
ROW_MEMORY = "SFUMATO_ROW_MEMORY"
MEGABYTES_OF_ROWS = "64"
_ARENAS, _LEFT_AT_THE_END = -8, -1  # of mallopt in glibc: M_ARENA_MAX, M_TRIM_THRESHOLD
KEPT_ALIVE = 30  # seconds that an idle connection stays open


def run_service(settings: ServiceSettings, tokens: Tokens, ready: Callable[[str], None]) -> None:
    """Serve until a signal asks to stop; ``ready`` is called with the address."""
    extra("fastapi", needed_for="the service", extra="service")
    import uvicorn

    from sfumato.service.app import make_app
    from sfumato.service.connections import PromptProtocol

    # Each request has rows of its own, which are gone with it; many at once must not fill memory.
    os.environ.setdefault(ROW_MEMORY, MEGABYTES_OF_ROWS)
    give_memory_back()
    if settings.budget is not None:
        # A wrong key or a missing file is said here, and not by the server in its own way.
        Budget.at(settings.budget, settings.budget_key).close()
    listening = bind(settings)
    config = uvicorn.Config(
        make_app(settings, tokens),
        http=PromptProtocol,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=KEPT_ALIVE,
        timeout_graceful_shutdown=int(settings.limits.seconds) + GRACE,
    )
    server = uvicorn.Server(config)
    with listening:
        ready(address_of(settings, listening))
        # The server hands the signal on when it has stopped: that is how it ends.
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])


def give_memory_back() -> None:
    """Let all threads share one heap whose end goes back to the system, where there is glibc.

    Otherwise each thread has a heap of its own, and what a large request needed stays there.
    """
    import ctypes

    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.mallopt(_ARENAS, 1)
        library.mallopt(_LEFT_AT_THE_END, 1 << 20)


def bind(settings: ServiceSettings) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # With the zone of an address, if it has one.
        made.bind(socket.getaddrinfo(host, settings.port, family, socket.SOCK_STREAM)[0][4])
        made.listen(1024)
    except OSError as error:
        made.close()
        said = error.strerror or "it is not possible"
        raise StorageFailed(
            f"cannot listen at {settings.host}:{settings.port}: {said}; `port=0` takes a free port"
        ) from None
    return made


def address_of(settings: ServiceSettings, listening: socket.socket) -> str:
    """Where a browser on this machine finds it."""
    port = listening.getsockname()[1]
    host = settings.host
    if is_everywhere(host):
        host = "[::1]" if ":" in host else "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{port}/"


@contextmanager
def open_page(address: str, token: str) -> Iterator[None]:
    """Open the studio in a browser, which is told the token by a file that only we can read.

    An address that is handed to a browser can be seen by everybody on the machine. The token stands
    in the part of the address that is never sent.
    """
    with tempfile.TemporaryDirectory(prefix="sfumato-studio-") as folder:
        target = escape(f"{address}#token={token}", quote=True)
        page = Path(folder) / "studio.html"
        content = (
            "<!doctype html><meta charset='utf-8'><title>sfumato</title>"
            f"<meta http-equiv='refresh' content='0;url={target}'>"
            f"<p><a href='{target}'>Open the studio</a></p>"
        )
        write_first(page, content.encode(), private=True)
        webbrowser.open(page.as_uri())
        yield
