"""Time per word as a text grows: it should not depend on how much text there is."""

from __future__ import annotations

from functools import partial
from statistics import median

from benchmarks.inputs import words_of_the_space
from benchmarks.timing import Row, by_turns, spread
from sfumato.releases.privatizer import Privatizer


def run(quick: bool) -> list[Row]:
    """Every word of texts of three sizes through the embedded space."""
    sizes = (1_000, 10_000) if quick else (10_000, 100_000, 1_000_000)
    privatizer = Privatizer(policy="everything", mechanism="laplace", epsilon=8)
    privatizer.privatize(words_of_the_space(1000))  # loads the space
    rows: list[Row] = []
    smallest = 0.0
    for size in sizes:
        texts = words_of_the_space(size)
        repetitions = max(1, min(5, 200_000 // size))
        work = {"all": partial(privatizer.privatize, texts)}
        timing = by_turns(work, repetitions, warm=False)["all"]
        microseconds = [1e6 * seconds / size for seconds in timing.wall]
        # Processor time: the sizes are not run by turns, and wall time would show the weather.
        processor = [1e6 * seconds / size for seconds in timing.cpu]
        smallest = smallest or median(processor)
        rows.append(
            {
                "words": f"{size:,}",
                "µs per word, wall": spread(microseconds),
                "µs per word, processor": spread(processor),
                "processor time, ratio to the smallest": f"{median(processor) / smallest:.2f}",
                "repetitions": repetitions,
            }
        )
    return rows
