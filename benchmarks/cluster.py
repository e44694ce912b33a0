"""A simulated cluster: how much of its time is work when machines are slow and actors are killed.

Events in the order of their times, no clock: a driver cuts the chunks of a file one after the
other and hands out their numbers. An actor passes over the lines before its chunk, or, in a table,
cuts all chunks up to its own; one that is new begins at the beginning of the file. Then it takes
its time for the chunk. Some machines are slow, and every actor is killed at a rate and replaced
after a while. A chunk whose actor died before its part was there is drawn by another one, so
nothing is lost but the time spent on it. How long chunks, cutting and passing over take is measured
in this run; how often machines fail and how many are slow is assumed and stated.

``failures`` kills real actors on this machine; there both can be compared.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.commands import write_dialogues
from benchmarks.timing import Row, spread
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.releases.drawn import draw_chunk, finish_chunk
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.workers import Shared

SEED = 1
REPEATED = 5  # runs of each case


@dataclass(frozen=True)
class Cluster:
    """What is assumed of machines, all of which work on one file; times in seconds."""

    actors: int
    kills_per_minute: float = 0.01
    slow_share: float = 0.05
    slow_factor: float = 3.0
    restart: float = 10.0


@dataclass(frozen=True)
class Chunks:
    """What was measured of the job: seconds of a core for each chunk, to cut and to pass over one.

    ``reading`` is what it takes an actor to get past a chunk that is not its own.
    """

    seconds: NDArray[np.float64]
    cutting: float
    reading: float


@dataclass
class Course:
    """What became of a run."""

    wall: float = 0.0
    worked: float = 0.0  # on chunks whose parts were kept
    read: float = 0.0  # to get to them
    lost: float = 0.0  # on chunks whose actor died
    kills: int = 0
    draws: int = 0
    parts: set[int] = field(default_factory=set)


def simulate(chunks: Chunks, cluster: Cluster, randomness: Randomness) -> Course:
    """One run of all chunks on a cluster."""
    course = Course()
    slow = randomness.stream(0).uniform(cluster.actors) < cluster.slow_share
    pace = np.where(slow, cluster.slow_factor, 1.0)
    deaths = _Deaths(cluster, randomness.stream(1))
    free = [(0.0, actor) for actor in range(cluster.actors)]
    heapq.heapify(free)
    again: list[int] = []
    running: list[tuple[float, int]] = []  # when a chunk fails, and which
    reached = np.zeros(cluster.actors)  # how far each actor has read in the file
    given, cut = 0, 0.0
    while given < len(chunks.seconds) or again or running:
        if not again and given == len(chunks.seconds):
            failed, chunk = heapq.heappop(running)
            again.append(chunk)
            _wait_until(free, failed)
        start, actor = heapq.heappop(free)
        if again:
            chunk = again.pop()
        else:
            chunk, given = given, given + 1
            # The driver cuts one chunk after the other, and is never far ahead.
            cut = max(cut, start) + chunks.cutting
            start = cut
        behind = chunk + 1 - reached[actor]
        reading = chunks.reading * (behind if behind > 0 else chunk + 1)
        needed = (reading + chunks.seconds[chunk]) * pace[actor]
        death = deaths.after(actor, start)
        if death < start + needed:
            course.kills += 1
            reached[actor] = 0
            course.lost += death - start
            heapq.heappush(running, (death, chunk))
            heapq.heappush(free, (death + cluster.restart, actor))
        else:
            reached[actor] = chunk + 1
            course.worked += chunks.seconds[chunk] * pace[actor]
            course.read += reading * pace[actor]
            course.draws += 1
            course.parts.add(chunk)
            course.wall = max(course.wall, start + needed)
            heapq.heappush(free, (start + needed, actor))
        while running and given < len(chunks.seconds) and running[0][0] <= free[0][0]:
            again.append(heapq.heappop(running)[1])
    return course


def _wait_until(free: list[tuple[float, int]], moment: float) -> None:
    """Whoever is free before a chunk comes back waits for it."""
    free[:] = [(max(at, moment), actor) for at, actor in free]
    heapq.heapify(free)


class _Deaths:
    """When each actor is killed next: at random, at the same rate at all times."""

    def __init__(self, cluster: Cluster, randomness: Randomness) -> None:
        self.mean = 60 / cluster.kills_per_minute if cluster.kills_per_minute else np.inf
        self.restart, self.randomness = cluster.restart, randomness
        self.next = np.array([self._drawn() for _ in range(cluster.actors)])

    def after(self, actor: int, moment: float) -> float:
        """Its first death after a moment at which it lives."""
        while self.next[actor] < moment:  # it died idle, and is back
            self.next[actor] += self.restart + self._drawn()
        return float(self.next[actor])

    def _drawn(self) -> float:
        return float(-self.mean * np.log1p(-self.randomness.uniform(1)[0]))


def measure_chunks(privatizer: Privatizer, dialogues: int) -> Chunks:
    """Privatize a generated corpus chunk by chunk in this process, with one BLAS thread."""
    shared = Shared.of(privatizer)
    seconds = []
    with threadpool_limits(1), TemporaryDirectory() as folder:
        path = write_dialogues(Path(folder) / "records.jsonl", dialogues)
        source = Source.of(path, Layout(field="text"))
        began = time.process_time()
        with source.opened() as (chunks, _):
            cut = list(enumerate(chunks))
        cutting = (time.process_time() - began) / len(cut)
        began = time.process_time()
        with path.open("rb") as stream:
            deque(stream, maxlen=0)
        passing = (time.process_time() - began) / len(cut)
        for item in [cut[0], *cut]:  # the first one loads what is needed
            began = time.process_time()
            finish_chunk(shared, draw_chunk(shared, item))
            seconds.append(time.process_time() - began)
    return Chunks(np.array(seconds[1:]), cutting, passing)


def run(quick: bool) -> list[Row]:
    """Clusters of several sizes, without trouble, with slow machines, and with kills."""
    jobs = {
        "pii, auto": (Privatizer(policy="pii", seed=SEED), 1_000 if quick else 8_000),
        "everything, laplace": (
            Privatizer(policy="everything", mechanism="laplace", epsilon=8, seed=SEED),
            500 if quick else 2_000,
        ),
    }
    rows: list[Row] = []
    for name, (privatizer, dialogues) in jobs.items():
        measured = measure_chunks(privatizer, dialogues)
        along = replace(measured, reading=measured.cutting)
        for actors in (2, 10) if quick else (2, 10, 30, 100):
            count = 400 if quick else 4_000
            rows.extend(_clusters(f"{name}, JSON lines", measured, actors, count))
            rows.extend(_clusters(f"{name}, a table", along, actors, count))
    return rows


def _clusters(name: str, measured: Chunks, actors: int, count: int) -> list[Row]:
    randomness = Randomness.reproducible(SEED)
    picked = randomness.integers(len(measured.seconds), count)
    chunks = replace(measured, seconds=measured.seconds[picked])
    ideal = float(chunks.seconds.sum()) / actors
    cases: Sequence[tuple[str, Cluster]] = (
        ("no trouble", Cluster(actors, 0.0, 0.0)),
        ("5 % of machines three times as slow", Cluster(actors, 0.0)),
        ("kills at 1 % a minute as well", Cluster(actors)),
        ("kills at 20 % a minute", Cluster(actors, 0.2)),
    )
    rows: list[Row] = []
    for case, cluster in cases:
        courses = [simulate(chunks, cluster, randomness.stream(one)) for one in range(REPEATED)]
        busy = [one.read + one.worked + one.lost for one in courses]
        rows.append(
            {
                "job": name,
                "actors on one file": actors,
                "case": case,
                "chunks": f"{count:,}",
                "seconds a chunk": f"{chunks.seconds.mean():.3f}",
                "to cut one": f"{chunks.cutting:.4f}",
                "to get past one": f"{chunks.reading:.4f}",
                "wall against the ideal": spread([one.wall / ideal for one in courses]),
                "kills": spread([one.kills for one in courses]),
                "reading along": spread(
                    [one.read / of for one, of in zip(courses, busy, strict=True)]
                ),
                "work lost": spread([one.lost / of for one, of in zip(courses, busy, strict=True)]),
            }
        )
    return rows
