"""How a service is run: where it listens, under which names, and how much it takes on.

Care
    A limit that is counted in requests is counted in this process. Several services that share one
    budget each have their own queue and their own rate, and all of them have that one budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sfumato.core.checks import at_least, positive
from sfumato.core.errors import InvalidArgument
from sfumato.service.hosts import Host, Names, is_everywhere, is_loopback

PORT = 8470
MEGABYTE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much is taken on at once, and how long it may take.

    ``body`` counts bytes of a request, ``texts`` the texts of a batch and ``letters`` all of theirs
    together (for what computes cannot be stopped), ``at_once`` and ``waiting``
    requests that compute and that wait for their turn, ``seconds`` the time from the first byte to
    the answer, and ``per_minute`` the requests of one token.
    """

    body: int = 4 * MEGABYTE
    texts: int = 1000
    letters: int = MEGABYTE
    at_once: int = 2
    waiting: int = 32
    seconds: float = 60.0
    per_minute: int = 6000

    def __post_init__(self) -> None:
        at_least("body", self.body, 1024)
        at_least("texts", self.texts, 1)
        at_least("letters", self.letters, 1)
        at_least("at_once", self.at_once, 1, 256)
        at_least("waiting", self.waiting, 0, 100_000)
        positive("seconds", self.seconds)
        at_least("per_minute", self.per_minute, 1)


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """A service; ``hosts`` are further names by which it may be called.

    With a ``budget`` every release that costs something names an account, unless ``uncharged``
    releases are allowed. ``budget_key`` is the file of its key.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()
    budget: str | None = None
    budget_key: Path | None = field(default=None, repr=False)
    uncharged: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        at_least("port", self.port, 0, 65535)
        for name in (self.host, *self.hosts):
            Host.given(name)  # what is no name is said before anything listens
        if self.budget is None and self.budget_key is not None:
            raise InvalidArgument("`budget_key=...` is the key of a budget: name one, `budget=...`")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def names(self) -> Names:
        """What may stand in the header ``Host``."""
        return Names.of((*(() if is_everywhere(self.host) else (self.host,)), *self.hosts))
