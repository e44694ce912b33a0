"""The Selective-DPSGD paper's table 2 and figures 3b, 3c and 6, on parts of its corpora.

Trains one-layer LSTMs without privacy, with DP-SGD, and with interleaved and decoupled
Selective-DPSGD at the same proven epsilon, over several seeds, on dialogues of CustomerSim and on
paragraphs of WikiText-2 with planted canaries; measures perplexity, top-1 accuracy, exposure and
membership of the planted secrets, and prints a table beside the published figures. A second table
is about an imperfect policy: what becomes of planted secrets that it misses, in text with masks and
in Selective-DPSGD.

A finished cell is never computed again, and a stopped one goes on: run the same command once more.
The same command in a second window takes the cells that the first one is not at.
With ``--finished`` nothing is computed, and what there is so far is printed.

    python studies/selective_dp.py RESOURCES --output selective-dp

RESOURCES holds ``data/customersim`` and ``data/wikitext-2`` (see the files' own licences).
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

from selective_dp_cells import POLICIES, Cell, Setting, cells_of
from selective_dp_report import commit, report
from sfumato.cli.main import main as sfumato
from sfumato.core.files import write_whole
from sfumato.studies.locks import hold_lock

# How often each canary is planted: five for exposure, the rest for membership.
REPETITIONS = (10,) * 5 + (1,) * 100


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
    with hold_lock(setting.output / "locks" / cell.corpus, wait=True):
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
        "commit": commit(),
    }


def train_command(setting: Setting, cell: Cell, planted: Path, folder: Path) -> list[str | Path]:
    """The command that trains the model of a cell."""
    method = cell.method.removesuffix("-missing")
    # Text with masks costs no privacy, so it is read twice as often, and before what costs some.
    epochs = 2 * setting.epochs if method == "redacted" else setting.epochs
    command: list[str | Path] = ["train", planted, "-o", folder, "--model", "lstm", "--json"]
    command += ["--epochs", str(epochs), "--batch-size", "32", "--learning-rate", "0.003"]
    command += ["--method", method, "--seed", str(cell.seed), "--clip-norm", "0.1", *cell.policy]
    if method not in ("plain", "redacted"):
        command += ["--epsilon", str(setting.epsilon)]
    if method == "selective":
        command += ["--lead", "1", "--public-epochs", str(2 * setting.epochs)]
    if folder.exists():
        command.append("--resume")
    return command


def main() -> None:
    """Compute what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("resources", type=Path, help="the folder with data/customersim and so on")
    parser.add_argument("--output", type=Path, default=Path("selective-dp"))
    parser.add_argument("--dialogues", type=int, default=2000)
    parser.add_argument("--paragraphs", type=int, default=1500)
    parser.add_argument("--tested", type=int, default=300, help="documents to measure on")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--missing-seeds", type=int, default=1, help="seeds of the second table")
    parser.add_argument("--finished", action="store_true", help="compute nothing, print")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file, too")
    given = parser.parse_args()
    sizes = {"customersim": given.dialogues, "wikitext-2": given.paragraphs}
    setting = Setting(
        given.resources, given.output, sizes, given.tested, given.epochs, given.epsilon
    )
    (given.output / "cells").mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, Any]] = {}
    cells = cells_of(given.seeds, given.missing_seeds)
    for number, cell in enumerate(cells, start=1):
        path = given.output / "cells" / f"{cell.name}.json"
        if not path.exists():
            if given.finished:
                continue
            with hold_lock(given.output / "locks" / cell.name) as mine:
                if mine and not path.exists():
                    print(f"{number} of {len(cells)}: {cell.name}", file=sys.stderr, flush=True)
                    write_whole(path, json.dumps(compute(setting, cell), indent=2).encode())
        if path.exists():
            found[cell.name] = json.loads(path.read_bytes())
    said = report(setting, found, (given.seeds, given.missing_seeds))
    print(said, end="")
    if given.markdown is not None:
        write_whole(given.markdown, said.encode())


if __name__ == "__main__":
    main()
