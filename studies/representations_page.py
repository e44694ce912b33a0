"""Print the tables of docs/results/representations.md from the folder of the study.

python studies/representations_page.py FOLDER
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.accounting.guessing import Level, most_guessed, most_separated

# Columns: what measured it, the figure, and what the column is called.
COLUMNS = (
    ("vectors", "task accuracy", "label learned"),
    ("vectors", "similarity", "similarity"),
    ("vector-reidentification", "re-identified", "found again"),
    ("vector-membership", "auc", "membership"),
    ("vector-keywords", "auc", "keywords"),
    ("vector-inversion", "words learned", "words"),
    ("vector-attributes", "adaptive", "attribute"),
)
CORPORA = {
    "minilm": "SST-2 by MiniLM (384 numbers)",
    "words": "SST-2 by means of word vectors (50 numbers)",
    "dialogues": "CustomerSim by means of word vectors (50 numbers)",
}
DOCUMENTS = 300


def main(folder: Path) -> None:
    """Print a table for each corpus, and what the levels prove."""
    rows = [json.loads(line) for line in (folder / "results.jsonl").open(encoding="utf-8")]
    for corpus, title in CORPORA.items():
        print(f"\n**{title}**\n")
        print("\n".join(table([row for row in rows if row["corpus"] == corpus])))
    print("\n" + "\n".join(bounds()))


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each method and level."""
    yield "| noise, ε | " + " | ".join(name for *_, name in COLUMNS) + " |"
    yield "|---" * (len(COLUMNS) + 1) + "|"
    places = list(dict.fromkeys((row["method"], row["level"]) for row in rows))
    for method, level in places:
        own = {
            (row["by"], row["metric"]): row
            for row in rows
            if (row["method"], row["level"]) == (method, level)
        }
        told = method.removesuffix(", MiniLM") + ("" if level is None else f", {level:g}")
        cells = (cell(own.get((by, metric))) for by, metric, _ in COLUMNS)
        yield f"| {told} | " + " | ".join(cells) + " |"
    chances = {(row["by"], row["metric"]): row["chance"] for row in rows}
    told = (chances.get((by, metric)) for by, metric, _ in COLUMNS)
    yield "| *by chance* | " + " | ".join("–" if one is None else short(one) for one in told) + " |"


def cell(row: dict[str, Any] | None) -> str:
    """A figure with its interval."""
    if row is None or row["value"] is None:
        return "–"
    return f"{short(row['value'])} ({short(row['low'])}–{short(row['high'])})"


def short(value: float) -> str:
    """Two digits, without the zero before the point."""
    text = f"{value:.2f}" if value >= 0.01 or value <= 0 else f"{value:.3f}"
    text = "0.00" if text == "-0.00" else text
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def bounds() -> Iterator[str]:
    """What a pure level proves, whatever is tried."""
    yield f"| pure ε | found again, of {DOCUMENTS} | membership, keywords |"
    yield "|---|---|---|"
    for epsilon in (0.5, 1.0, 2.0, 5.0, 10.0):
        level = Level(epsilon)
        found = most_guessed(level, [1 / DOCUMENTS] * DOCUMENTS)
        yield f"| {epsilon:g} | {found:.3f} | {most_separated(level):.3f} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
