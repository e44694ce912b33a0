"""``sfumato privatize`` with one worker and with two, starting of processes included."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.commands import privatize, write_dialogues
from benchmarks.timing import Row, Work, by_turns

SETTINGS: dict[str, tuple[int, int | None]] = {
    "1 worker": (1, None),
    "1 worker, OPENBLAS_NUM_THREADS=1": (1, 1),
    "2 workers": (2, None),
}


def run(quick: bool) -> list[Row]:
    """A policy that reads much and selects little, and one that selects every word."""
    rows: list[Row] = []
    for policy, count in (("pii", 4_000), ("everything", 1_000)):
        with TemporaryDirectory() as folder:
            size = 200 if quick else count
            source = write_dialogues(Path(folder) / "in.jsonl", size)
            work = {name: _work(source, policy, *setting) for name, setting in SETTINGS.items()}
            timings = by_turns(work, 1 if quick else 3, warm=False)
        rows += [
            {
                "policy": policy,
                "dialogues": size,
                "setting": name,
                "dialogues/s": timing.rate(size),
                "times as fast as 1 worker": timing.ratio(timings["1 worker"]),
            }
            for name, timing in timings.items()
        ]
    return rows


def _work(source: Path, policy: str, workers: int, threads: int | None) -> Work:
    return lambda: privatize(source, ["--policy", policy, "--workers", str(workers)], threads)
