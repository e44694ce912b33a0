"""The service over HTTP against direct calls, in processor time of the processes that do the work.

Both are warm, and take turns; the caller's own time does not count. ``--load MINUTES`` keeps a
service at the limit of its queue with all kinds of requests, and says how its memory grows.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count, cycle
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.inputs import dialogues
from benchmarks.timing import Row, spread
from sfumato import Budget, Client, Document, Privatizer
from sfumato.accounting.budget import Limit
from sfumato.client import Choices
from sfumato.core.errors import ServiceUnavailable
from sfumato.policies.parsing import combine_policies
from sfumato.service.tokens import Tokens, make_token

SENTENCE = "Please call Ann Hale at +1 617-555-0154 about the invoice of 3 May 2021."
CHOICES: Choices = {"policy": "pii", "mechanism": "laplace", "epsilon": 5.0}
ACCOUNT = "author:bench"
EVERY = ("analyze", "release", "explain", "budget", "admin")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Served:
    """A service that runs in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, token: str) -> None:
        self.process, self.url, self.token = process, url, token

    def cpu(self) -> float:
        """Processor seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def megabytes(self) -> float:
        """Resident memory."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE / 1e6


@contextmanager
def served(*more: str) -> Iterator[Served]:
    """A new service with a budget, over a socket of this machine."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "key").write_text(secrets.token_hex(32))
        with Budget.at(folder / "budget.db", folder / "key", new=True) as budget:
            budget.open(ACCOUNT, Limit.of("level", 4e9))
        spelled, kept = make_token("bench", EVERY)
        Tokens(folder / "tokens.json").add(kept)
        command = [
            sys.executable, "-m", "sfumato", "serve", "--port", "0", "--per-minute", "1000000",
            "--tokens", str(folder / "tokens.json"), "--budget", str(folder / "budget.db"),
            "--budget-key", str(folder / "key"), "--uncharged", *more,
        ]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            url = process.stdout.readline().decode().split()[-1]
            yield Served(process, url, spelled)
            process.send_signal(signal.SIGTERM)


def directly(wire: Connection) -> None:
    """In a process of its own: do what is asked so often, and say what it took."""
    privatizer = Privatizer(policy="pii", mechanism="laplace", epsilon=5.0)
    policy = combine_policies(["pii"], [], {})
    texts = [one.text for one in dialogues(50)][:50]
    work: dict[str, Callable[[], object]] = {
        "one sentence": lambda: privatizer.privatize([SENTENCE]),
        "50 texts": lambda: privatizer.privatize(texts),
        "analysis": lambda: policy.find(Document(SENTENCE)),
    }
    while True:
        name, times = wire.recv()
        if not name:
            return
        began = time.process_time()
        for _ in range(times):
            work[name]()
        wire.send(time.process_time() - began)


def run(quick: bool) -> list[Row]:
    """Ratios of processor time, and resident memory."""
    repetitions, scale, few = (2, 10, 1) if quick else (7, 100, 5)
    context = get_context("spawn")
    wire, theirs = context.Pipe()
    direct = context.Process(target=directly, args=(theirs,))
    direct.start()
    texts = [one.text for one in dialogues(50)][:50]
    with served() as service, Client(service.url, service.token) as client:
        asked: Mapping[str, tuple[str, int, Callable[[], object]]] = {
            "one sentence": ("one sentence", scale, lambda: client.privatize(SENTENCE, **CHOICES)),
            "one sentence, charged": (
                "one sentence", scale,
                lambda: client.privatize(SENTENCE, account=ACCOUNT, **CHOICES),
            ),
            "50 texts": ("50 texts", few, lambda: client.privatize(texts, **CHOICES)),
            "50 texts, charged": (
                "50 texts", few,
                lambda: client.privatize(texts, account=ACCOUNT, **CHOICES),
            ),
            "analysis": ("analysis", scale, lambda: client.analyze(SENTENCE)),
        }  # fmt: skip
        taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in asked}
        for repetition in range(repetitions + 1):
            for name, (alone, times, ask) in asked.items():
                cpu, wall = service.cpu(), time.perf_counter()
                for _ in range(times):
                    ask()
                wall, cpu = time.perf_counter() - wall, service.cpu() - cpu
                wire.send((alone, times))
                if repetition:  # the first turn is for warming up
                    taken[name].append((cpu / times, wire.recv() / times, wall / times))
                else:
                    wire.recv()
        memory = service.megabytes()
    wire.send(("", 0))
    direct.join()
    rows: list[Row] = [
        {
            "request": name,
            "ms of the service": spread([1e3 * mine for mine, _, _ in found]),
            "ms of a direct call": spread([1e3 * theirs for _, theirs, _ in found]),
            "times a direct call": spread([mine / theirs for mine, theirs, _ in found]),
            "per second of processor": f"{1 / median(mine for mine, _, _ in found):.0f}",
            "ms until the answer": spread([1e3 * wall for _, _, wall in found]),
        }
        for name, found in taken.items()
    ]
    return [*rows, {"request": "resident memory, MB", "ms of the service": f"{memory:.0f}"}]


def load(minutes: float) -> list[Row]:
    """Mixed requests, more at once than the queue takes."""
    done: Counter[str] = Counter()
    lock, texts = threading.Lock(), [one.text for one in dialogues(200)]
    over = threading.Event()
    keys = count()

    def work(service: Served, place: int) -> None:
        with Client(service.url, service.token, retries=0) as client:
            mine = cycle(texts[place::7])
            kinds: list[tuple[str, Callable[[], object]]] = [
                ("analysis", lambda: client.analyze(next(mine))),
                ("release", lambda: client.privatize(next(mine), **CHOICES)),
                ("charged", lambda: client.privatize(
                    next(mine), account=ACCOUNT, key=f"k{next(keys)}", **CHOICES)),
                ("batch", lambda: client.privatize([next(mine) for _ in range(20)], epsilon=5.0)),
                ("explanation", lambda: client.explain(next(mine)[:300], draws=20, **CHOICES)),
                ("account", lambda: client.account(ACCOUNT)),
            ]  # fmt: skip
            for name, ask in cycle(kinds):
                if over.is_set():
                    return
                try:
                    ask()
                except ServiceUnavailable:
                    name = "sent away"  # noqa: PLW2901
                    over.wait(0.2)
                with lock:
                    done[name] += 1

    rows: list[Row] = []
    with served("--waiting", "8") as service:
        with Client(service.url, service.token) as client:
            client.privatize(texts[:20], epsilon=5.0)
        first, began, cpu = service.megabytes(), time.monotonic(), service.cpu()
        threads = [threading.Thread(target=work, args=(service, number)) for number in range(12)]
        for one in threads:
            one.start()
        steps = 10
        for step in range(1, steps + 1):
            over.wait(60 * minutes / steps)
            rows.append(
                {
                    "minutes": f"{(time.monotonic() - began) / 60:.1f}",
                    "MB": f"{service.megabytes():.0f}",
                    "MB more than at first": f"{service.megabytes() - first:.0f}",
                    "processor seconds": f"{service.cpu() - cpu:.0f}",
                    **{name: f"{number:,}" for name, number in sorted(done.items())},
                }
            )
            print(rows[-1], flush=True)
            if step == steps:
                over.set()
        for one in threads:
            one.join()
    return rows
