"""The Selective-DPSGD paper's table 2 and figures 3b and 3c, on parts of its corpora.

Trains one-layer LSTMs without privacy, with DP-SGD, and with interleaved and decoupled
Selective-DPSGD at the same proven epsilon, over several seeds, on dialogues of CustomerSim and on
paragraphs of WikiText-2 with planted canaries; measures perplexity, top-1 accuracy, exposure and
membership of the planted secrets, and prints a table beside the published figures.

A finished cell is never computed again, and a stopped one goes on: run the same command once more.

    python studies/selective_dp.py RESOURCES --output selective-dp

RESOURCES holds ``data/customersim`` and ``data/wikitext-2`` (see the files' own licences).
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import platform
import sys
import time
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

from sfumato.cli.main import main as sfumato
from sfumato.core.files import write_whole

POLICIES = {"customersim": "pii", "wikitext-2": "digits"}
METHODS = ("plain", "private", "interleaved", "selective")
# How often each canary is planted: five for exposure, the rest for membership.
REPETITIONS = (10,) * 5 + (1,) * 100
PUBLISHED = {
    ("customersim", "plain"): (3.06, 0.75, None),
    ("customersim", "private"): (11.82, 0.70, 2.51),
    ("customersim", "interleaved"): (10.42, 0.69, 2.74),
    ("wikitext-2", "plain"): (60.98, 0.36, None),
    ("wikitext-2", "private"): (305.86, 0.27, 4.89),
    ("wikitext-2", "interleaved"): (160.04, 0.31, 4.91),
}


@dataclass(frozen=True)
class Setting:
    """What all cells share."""

    resources: Path
    output: Path
    sizes: dict[str, int]
    tested: int
    epochs: int
    epsilon: float


@dataclass(frozen=True)
class Cell:
    """One model."""

    corpus: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        """For files."""
        return f"{self.corpus}-{self.method}-{self.seed}"


def run(*arguments: str | Path) -> Any:
    """Run a command that prints JSON, and read it."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = sfumato([str(one) for one in arguments])
    if code:
        sys.exit(code)
    return json.loads(said.getvalue()) if said.getvalue() else None


def prepare(setting: Setting, corpus: str) -> tuple[Path, Path]:
    """The training text with canaries, and the text to measure on."""
    folder = setting.output / "data"
    folder.mkdir(parents=True, exist_ok=True)
    whole, test = folder / f"{corpus}.jsonl", folder / f"{corpus}-test.jsonl"
    planted = folder / f"{corpus}-planted.jsonl"
    if planted.exists():
        return planted, test
    source = setting.resources / "data" / corpus
    for target, part, count in (
        (whole, "train", setting.sizes[corpus]),
        (test, "test", setting.tested),
    ):
        if corpus == "wikitext-2":
            path = source / f"{part}.raw.gz"
            run("data", "wikitext", path, "-n", str(count), "-o", target, "--overwrite", "--json")
            continue
        with gzip.open(source / f"{part}.jsonl.gz", "rb") as lines:
            write_whole(target, b"".join(islice(lines, count)))
    times = ",".join(map(str, REPETITIONS))
    run(
        *("data", "canaries", whole, "-o", planted, "-k", times, "--seed", "1"),
        *("--overwrite", "--json"),
    )
    return planted, test


def compute(setting: Setting, cell: Cell) -> dict[str, Any]:
    """Train a model, measure it, attack it."""
    planted, test = prepare(setting, cell.corpus)
    folder = setting.output / "runs" / cell.name
    began = time.perf_counter()
    trained = run(*train_command(setting, cell, planted, folder))
    policy = ("--policy", POLICIES[cell.corpus])
    measured = run("evaluate", folder, "--corpus", test, *policy, "--json")
    canaries = ("--canaries", f"{planted}.canaries.json", "--seed", "1", "--json")
    exposure = run("attack", "exposure", folder, *canaries)
    membership = run("attack", "membership", folder, *canaries, "--set", "signals=secrets")
    stated = json.loads((folder / "guarantee.json").read_bytes())
    return {
        "cell": cell.name,
        "guarantee": trained["guarantee"],
        "as_in_the_paper": stated.get("as_in_the_paper", {}).get("epsilon"),
        "measured": measured,
        "exposure": {one["metric"]: one for one in exposure["figures"]},
        "membership": {one["metric"]: one for one in membership["figures"]},
        "seconds": time.perf_counter() - began,
    }


def train_command(setting: Setting, cell: Cell, planted: Path, folder: Path) -> list[str | Path]:
    """The command that trains the model of a cell."""
    command: list[str | Path] = ["train", planted, "-o", folder, "--model", "lstm", "--json"]
    command += ["--epochs", str(setting.epochs), "--batch-size", "32", "--learning-rate", "0.003"]
    command += ["--method", cell.method, "--seed", str(cell.seed), "--clip-norm", "0.1"]
    if cell.method != "plain":
        command += ["--epsilon", str(setting.epsilon)]
    if cell.method in ("interleaved", "selective"):
        command += ["--policy", POLICIES[cell.corpus]]
    if folder.exists():
        command.append("--resume")
    return command


def table(setting: Setting, found: dict[str, dict[str, Any]], seeds: int) -> str:
    """What was found, in Markdown, with the mean and the range over seeds."""
    lines = [
        f"ε = {setting.epsilon:g}, {setting.epochs} epochs, {seeds} seeds; mean (ends).",
        "",
        "| corpus | method | perplexity | top-1 | ε proven | ε as in the paper | exposure, 10 × | "
        "AUC of planted secrets | perplexity, top-1, ε published |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for corpus, method in product(POLICIES, METHODS):
        cells = [found.get(Cell(corpus, method, seed).name) for seed in range(1, seeds + 1)]
        done = [cell for cell in cells if cell is not None]
        if not done:
            continue
        columns = [
            spread([_measured(cell, "perplexity") for cell in done]),
            spread([_measured(cell, "accuracy") for cell in done]),
            level(done[0]["guarantee"]["epsilon"]),
            level(done[0]["as_in_the_paper"]),
            spread([cell["exposure"]["exposure at 10 repetitions"]["value"] for cell in done]),
            spread([cell["membership"]["auc secrets"]["value"] for cell in done]),
            published(corpus, method),
        ]
        lines.append(f"| {corpus} | {method} | " + " | ".join(columns) + " |")
    return "\n".join(lines) + "\n"


def _measured(cell: dict[str, Any], metric: str) -> float:
    return next(
        float(row["value"])
        for row in cell["measured"]
        if row["metric"] == metric and row["tokens"] == "all"
    )


def spread(values: list[float]) -> str:
    """The mean, and the ends if they differ."""
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.3g}"
    return f"{mean:.3g} ({min(values):.3g}–{max(values):.3g})"


def level(value: Any) -> str:
    """An epsilon, if there is one."""
    return "–" if value in (None, "inf") else f"{float(value):.3g}"


def published(corpus: str, method: str) -> str:
    """The paper's figures, if it has any."""
    figures = PUBLISHED.get((corpus, method))
    return (
        "–" if figures is None else ", ".join("–" if one is None else str(one) for one in figures)
    )


def main() -> None:
    """Compute what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("resources", type=Path, help="the folder with data/customersim and so on")
    parser.add_argument("--output", type=Path, default=Path("selective-dp"))
    parser.add_argument("--dialogues", type=int, default=2000)
    parser.add_argument("--paragraphs", type=int, default=1500)
    parser.add_argument("--tested", type=int, default=300, help="documents to measure on")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    sizes = {"customersim": given.dialogues, "wikitext-2": given.paragraphs}
    setting = Setting(
        given.resources, given.output, sizes, given.tested, given.epochs, given.epsilon
    )
    (given.output / "cells").mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, Any]] = {}
    cells = [
        Cell(corpus, method, seed)
        for seed, corpus, method in product(range(1, given.seeds + 1), POLICIES, METHODS)
    ]
    for number, cell in enumerate(cells, start=1):
        path = given.output / "cells" / f"{cell.name}.json"
        if not path.exists():
            print(f"{number} of {len(cells)}: {cell.name}", file=sys.stderr, flush=True)
            write_whole(path, json.dumps(compute(setting, cell), indent=2).encode())
        found[cell.name] = json.loads(path.read_bytes())
    total = sum(cell["seconds"] for cell in found.values())
    print(table(setting, found, given.seeds))
    print(f"{total / 60:.0f} minutes on {platform.machine()}, Python {platform.python_version()}")


if __name__ == "__main__":
    main()
