"""One training step with clipping against the same step without, and against Opacus.

Every way has a model of its own; all take steps by turns. Plain training is torch's, with torch's
loss and, for the LSTM, torch's layer. A ratio above 1 is what privacy costs. Noise is drawn once
for a logical batch; here that is one physical batch of a few rows, the dearest case there is.
Memory is the peak of a process that takes three steps one way, once in all and once beyond what the
process had before the model was built.
"""

from __future__ import annotations

import json
import subprocess
import sys

import torch

from benchmarks.timing import Row, by_turns
from benchmarks.training_ways import Shape, shapes, ways

THREADS = 2


def run(quick: bool) -> list[Row]:
    """All shapes, all ways."""
    torch.set_num_threads(THREADS)
    rows: list[Row] = []
    for shape in shapes(quick):
        every = ways(shape.name)
        timings = by_turns({way: make(shape) for way, make in every.items()}, 2 if quick else 9)
        memory = {way: _memory(shape, way) for way in every}
        for way, timing in timings.items():
            peak, beyond = memory[way]
            rows.append(
                {
                    "model": f"{shape.name}, {shape.rows} × {shape.places}",
                    "way": way,
                    "processor time / plain": timings["plain"].cpu_ratio(timing),
                    "wall time / plain": timings["plain"].ratio(timing),
                    "steps/s": timing.rate(1),
                    "peak MB": f"{peak:.0f}",
                    "peak / plain": f"{peak / memory['plain'][0]:.2f}",
                    "beyond the start / plain": f"{beyond / memory['plain'][1]:.2f}",
                }
            )
    return rows


def _memory(shape: Shape, way: str) -> tuple[float, float]:
    """Peak memory in MB of a process that trains one way, in all and beyond its start."""
    command = [
        sys.executable,
        "-m",
        __name__,
        json.dumps([shape.name, shape.rows, shape.places, way]),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{way} failed: {done.stderr.strip()}")
    start, peak = (int(value) / 1024 for value in done.stdout.split()[-2:])
    return peak, peak - start


def status(field: str) -> str:
    """A line of what the kernel says about this process."""
    with open("/proc/self/status", encoding="ascii") as stream:  # noqa: PTH123  # not a real file
        return next(line.split()[1] for line in stream if line.startswith(field))


def _alone(name: str, rows: int, places: int, way: str) -> None:
    import transformers  # noqa: F401  # before the start is measured

    torch.set_num_threads(THREADS)
    start = status("VmRSS")
    step = ways(name)[way](Shape(name, rows, places))
    for _ in range(3):
        step()
    print(start, status("VmHWM"))


if __name__ == "__main__":
    _alone(*json.loads(sys.argv[1]))
