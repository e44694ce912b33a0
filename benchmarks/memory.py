"""Peak memory of ``sfumato privatize``: it should not grow with the corpus.

A single line cannot be read in pieces, so a very long one does take memory.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.commands import privatize, write_dialogues
from benchmarks.timing import Row

# Some numbers, but not so many that the benchmark measures the search.
PARAGRAPH = (
    20 * "The boat left the harbour and came back in the evening. " + "It carried 77120 crates. "
)


def run(quick: bool) -> list[Row]:
    """A corpus, one ten times as long, and one line; one process each."""
    count, length = (100, 200_000) if quick else (2_000, 20_000_000)
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        place = Path(folder)
        line = place / "line.txt"
        line.write_text(PARAGRAPH * (length // len(PARAGRAPH)) + "\n")
        corpora = {
            "two dialogues": write_dialogues(place / "two.jsonl", 2),
            f"{count:,} dialogues": write_dialogues(place / "some.jsonl", count),
            f"{10 * count:,} dialogues": write_dialogues(place / "many.jsonl", 10 * count),
            f"one line of {length / 1e6:g} MB": line,
        }
        for policy in ("digits", "pii"):
            reference = 0.0
            for name, source in corpora.items():
                peak = privatize(source, ["--policy", policy])
                if source.name == "some.jsonl":
                    reference = peak
                rows.append(
                    {
                        "policy": policy,
                        "corpus": name,
                        "input MB": f"{source.stat().st_size / 1e6:.2f}",
                        "peak MB": f"{peak:.0f}",
                        f"ratio to {count:,}": f"{peak / reference:.2f}" if reference else "",
                    }
                )
    return rows
