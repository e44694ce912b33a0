"""Counts for Prometheus. Labels are paths, methods and statuses of the service: no text, no id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from sfumato.service.queue import WorkQueue

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_METHODS = ("GET", "POST", "PUT")


class Metrics:
    """What this process has done since it began."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        known: dict[str, Any] = {"registry": self._registry, "namespace": "sfumato"}
        self._requests = Counter(
            "requests", "Requests by path and status.", ("path", "method", "status"), **known
        )
        self._seconds = Histogram(
            "request_seconds", "Time to answer.", ("path",), buckets=_SECONDS, **known
        )
        self.releases = Counter("releases", "Releases, charged or not.", **known)
        self.refused = Counter("refused", "Releases that a budget did not allow.", **known)
        self._waiting = Gauge("waiting_requests", "Requests that wait for their turn.", **known)
        self._computing = Gauge("computing_requests", "Requests that compute.", **known)

    def count(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request; ``path`` is a route of the service, or other."""
        named = method if method in _METHODS else OTHER
        self._requests.labels(path, named, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def watch(self, queue: WorkQueue) -> None:
        """Ask the queue how long it is whenever somebody wants to know."""
        self._waiting.set_function(lambda: queue.waiting)
        self._computing.set_function(lambda: queue.computing)

    def exposed(self) -> bytes:
        """All of it in the format that Prometheus reads."""
        return generate_latest(self._registry)
