"""``python -m benchmarks [NAME …] [--quick]``: a table and a file of JSON rows per benchmark."""

from __future__ import annotations

import argparse
import json
import os
import platform
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.timing import Row

NAMES = (
    "search",
    "mechanisms",
    "stretches",
    "rows",
    "approximate",
    "growth",
    "rates",
    "cluster",
    "hostile",
    "workers",
    "engines",
    "failures",
    "segmentation",
    "policies",
    "main_job",
    "memory",
    "training_step",
    "training_processes",
    "cost",
    "text_to_text",
    "sliced_losses",
    "carriers",
    "directional",
    "gradients",
    "rebuilding",
    "interleaved",
    "exposure",
    "rewriting",
    "models_that_rewrite",
    "documents",
    "large_pools",
    "tokenizers",
    "synthesis",
    "service",
    "budget",
)
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run the benchmarks that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="small inputs, few repetitions")
    parser.add_argument(
        "--load", type=float, metavar="MINUTES", help="keep a service at its limit for so long"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    print(machine())
    if arguments.load is not None:
        from benchmarks import service

        rows = service.load(arguments.load)
        show("load", "A service at the limit of its queue.", rows)
        keep("load", rows, quick=arguments.quick)
        return
    for name in arguments.names or NAMES:
        module = import_module(f"benchmarks.{name}")
        rows = module.run(arguments.quick)
        show(name, (module.__doc__ or "").partition("\n")[0], rows)
        keep(name, rows, quick=arguments.quick)


def machine() -> str:
    """What the figures hang on; others may use the machine too, hence the load."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "not set")
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"OPENBLAS_NUM_THREADS {threads}, load {load:.1f} before the start. "
        "Medians, with the smallest and the largest of all repetitions in parentheses; "
        "other work on the machine widens them."
    )


def show(name: str, title: str, rows: list[Row]) -> None:
    """One table; a value that is missing in a row is left blank."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(title=f"{name}: {title}", title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in columns))
    Console(width=120).print(table)


def keep(name: str, rows: list[Row], *, quick: bool) -> None:
    """The rows as JSON lines, replacing those of an earlier run."""
    RESULTS.mkdir(exist_ok=True)
    lines = [json.dumps(row | {"benchmark": name, "quick": quick}) for row in rows]
    (RESULTS / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":  # worker processes import this module again
    main()
