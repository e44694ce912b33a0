"""Requests over HTTP, sent again where that is safe.

Guarantee
    Whatever happens on the way, a release is charged at most once: each one has a key, which is
    made once and sent with every try of it.

Why it holds
    The service charges a key once and answers it with the same output afterwards
    (``service.releasing``). All other requests read, or end the same however often they are sent.

Care
    Errors are raised outside of ``except``: those of httpx hold the request, and with it the text.
"""

from __future__ import annotations

import ipaddress
import json
import math
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sfumato.client.failures import failure
from sfumato.core.checks import at_least, extra, positive
from sfumato.core.errors import (
    InvalidArgument,
    MissingToken,
    ServiceFailed,
    ServiceUnavailable,
    StorageFailed,
)

if TYPE_CHECKING:
    import httpx

TOKEN_VARIABLE = "SFUMATO_TOKEN"  # noqa: S105  # its name
KEY_HEADER = "Idempotency-Key"
MOST_RETRIES = 100
FIRST_WAIT, LONGEST_WAIT = 0.25, 60.0  # seconds
_AGAIN = (408, 429, 502, 503, 504)
_LONGEST_TOKEN = 4096
_JITTER = secrets.SystemRandom()


class Transport:
    """One service, and the token with which it is asked."""

    def __init__(
        self,
        url: str,
        token: str | Path | None,
        *,
        timeout: float,
        retries: int,
        allow_http: bool,
    ) -> None:
        library = extra("httpx", needed_for="the client of the service", extra="client")
        self.url, loopback = checked(url, allow_http=allow_http)
        self._retries = at_least("retries", retries, 0, MOST_RETRIES)
        self._http: httpx.Client = library.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {read_token(token)}", "Accept": "application/json"},
            timeout=positive("timeout", timeout),
            follow_redirects=False,  # the token goes nowhere else
            trust_env=not loopback,  # nor by a proxy to this very machine
        )
        self._failed: type[Exception] = library.TransportError

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def read(self, path: str) -> Any:
        """What stands at a path."""
        return self._json(self._send("GET", path, b"", {}))

    def ask(self, path: str, body: Mapping[str, Any], method: str = "POST", key: str = "") -> Any:
        """The answer to a body; a release has a key."""
        content = _written(body)
        headers = {"Content-Type": "application/json"} | ({KEY_HEADER: key} if key else {})
        return self._json(self._send(method, path, content, headers))

    def _send(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str]
    ) -> httpx.Response:
        for attempt in range(self._retries + 1):
            wait = backoff(attempt)
            answer = self._try(method, path, content, headers)
            if answer is None:
                if attempt == self._retries:
                    break
            elif answer.status_code < 300:
                return answer
            else:
                asked = waited(answer.headers.get("Retry-After", ""))
                again = answer.status_code in _AGAIN and asked <= LONGEST_WAIT
                if not again or attempt == self._retries:
                    kind = answer.headers.get("Content-Type", "")
                    raise failure(answer.status_code, kind, answer.content, content)
                wait += asked
            pause(wait)
        raise ServiceUnavailable(
            f"the service at {self.url} cannot be reached, or did not answer in time"
        )

    def _try(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str]
    ) -> httpx.Response | None:
        try:
            return self._http.request(method, path, content=content or None, headers=dict(headers))
        except self._failed:
            return None

    def _json(self, answer: httpx.Response) -> Any:
        try:
            return answer.json()
        except ValueError:
            pass
        raise ServiceFailed(f"what answers at {self.url} is no service of sfumato: it sent no JSON")


def checked(url: str, *, allow_http: bool) -> tuple[str, bool]:
    """The address of a service, and whether it is on this machine.

    >>> checked("http://127.0.0.1:8470/", allow_http=False)
    ('http://127.0.0.1:8470/', True)
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        usable = parts.scheme in ("http", "https") and host and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username or parts.password or parts.query or parts.fragment:
        # It may hold a password, so it is not repeated.
        raise InvalidArgument(
            "an address of a service has the form https://HOST, without a name, a query or a token"
        )
    loopback = host == "localhost" or _is_loopback(host)
    if parts.scheme == "http" and not loopback and not allow_http:
        raise InvalidArgument(
            "over http:// everybody on the way reads the token and the texts: use https://, or "
            "allow it in a network of your own (allow_http)"
        )
    return url, loopback


def read_token(given: str | Path | None) -> str:
    """A token as it is, from a file, or from the environment."""
    if given is None:
        token = os.environ.get(TOKEN_VARIABLE, "")
        if not token:
            raise MissingToken(
                "a service wants a token: give it, or the path of a file that holds it, or set "
                f"{TOKEN_VARIABLE}"
            )
    elif isinstance(given, Path):
        try:
            with given.open("rb") as opened:
                token = opened.read(_LONGEST_TOKEN).decode("latin-1")
        except OSError as error:
            raise StorageFailed(f"cannot read the token from {given}: {error.strerror}") from None
    else:
        token = given
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidArgument("a token is one word of letters, digits and signs")
    return token


def backoff(attempt: int) -> float:
    """Seconds to wait after a try: twice as long each time, and not the same for everybody."""
    return _JITTER.uniform(0.5, 1.0) * min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempt, 30))


def waited(header: str) -> float:
    """How long a service asks to wait; 0 if it does not say.

    >>> waited("5"), waited(""), waited("Wed, 21 Oct 2015 07:28:00 GMT")
    (5.0, 0.0, 0.0)
    """
    if header.strip().isdecimal():
        return float(header)
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(header)
        return max(0.0, math.ceil(moment.timestamp() - time.time()))
    except (TypeError, ValueError, OverflowError):
        return 0.0


def pause(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _written(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError):
        pass
    raise InvalidArgument("only texts, finite numbers, lists and tables can be sent to a service")
