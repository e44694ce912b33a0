"""``sfumato study``: a grid of methods, attacks and measures from one file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.output import cell as shown
from sfumato.cli.output import in_options, note, print_json, stdout, visible

if TYPE_CHECKING:
    from sfumato.studies.compare import Difference
    from sfumato.studies.folder import CellRecord
    from sfumato.studies.worker import Work

app = typer.Typer(
    help="Methods over a grid, attacked and measured, from one file.", no_args_is_help=True
)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The study, a TOML file.")]
FolderArgument = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder of a study.")]
AllowOption = Annotated[
    list[Path],
    typer.Option(
        "--allow-path",
        metavar="PATH",
        help="A file or folder outside the study's own that it may use; repeat for several.",
    ),
]
SOME_FAILED = 1


@app.command("init")
def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")],
    overwrite: options.OverwriteOption = False,
) -> None:
    """Write a commented study to begin with; it runs as it is.

    Example: sfumato study init names.toml; sfumato study run names.toml
    """
    from sfumato.studies.spec import write_template

    write_template(path, overwrite=overwrite)
    note(f"{path} is written; sfumato study run {path} computes it")


@app.command("run")
def run(
    file: FileArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="STUDY", help="Its folder. [default: FILE without .toml]"
        ),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes to use.")] = 1,
    allow: AllowOption = [],  # noqa: B006
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on: finished cells are not computed again.")
    ] = False,
    json: options.JsonOption = False,
) -> None:
    """Compute every cell of a study that is not computed yet.

    A cell that fails is recorded with its error, and the rest goes on; --resume tries it again.
    Several commands may work on one study at once. The figures are in STUDY/results.jsonl.
    A study keeps to the folder that its file stands in; --allow-path opens another place to it.

    Example: sfumato study run names.toml --workers 2
    """
    from dataclasses import asdict

    from sfumato.studies.doors import Doors
    from sfumato.studies.runner import run_study
    from sfumato.studies.spec import read_study

    study = read_study(file, Doors(tuple(allow)))
    folder = _default_folder(file) if output is None else output
    with _watching(workers) as watch:
        found = run_study(
            study,
            folder,
            workers=workers,
            resume=resume,
            command=["sfumato", "study", "run", file.name, "--workers", str(workers)],
            watch=watch,
        )
    missing = found.cells - found.done - found.failed
    if json:
        print_json({"study": str(folder), **asdict(found), "missing": missing})
    else:
        stdout().print(
            f"{found.done:,} of {found.cells:,} cells done, {found.failed:,} failed, "
            f"{missing:,} not computed; the figures are in {folder / 'results.jsonl'}",
            markup=False,
        )
    if found.lost:
        what = "--resume computes what is missing" if missing else "the others did their work"
        note(f"workers that were killed: {found.lost}; {what}")
    if found.failed:
        note(f"sfumato study status {folder} says why cells failed; --resume tries them again")
    if not found.complete:
        raise typer.Exit(SOME_FAILED)


@app.command("check")
def check(
    file: FileArgument,
    allow: AllowOption = [],  # noqa: B006
    json: options.JsonOption = False,
) -> None:
    """List what a study will read and write, before it does; nothing is computed.

    What lies outside the folder of the file is said to be outside, and ends in exit code 1 unless
    --allow-path allows it. Look at this before you run a study that somebody else wrote.

    Example: sfumato study check names.toml
    """
    from sfumato.studies.doors import OUTSIDE, Doors
    from sfumato.studies.runner import passages
    from sfumato.studies.spec import read_study

    found = passages(read_study(file, Doors(tuple(allow), listing=True)), _default_folder(file))
    if json:
        print_json([one.as_dict() for one in found], indent=2)
    else:
        for one in found:
            stdout().print(
                f"{one.purpose} {visible(str(one.path))} ({one.where})",
                markup=False,
                soft_wrap=True,
            )
    if any(one.where == OUTSIDE for one in found):
        note("the study runs with --allow-path for what is outside, if you want it to")
        raise typer.Exit(SOME_FAILED)


@app.command("status")
def status(folder: FolderArgument, json: options.JsonOption = False) -> None:
    """Say how far a study is, and what failed.

    Example: sfumato study status names
    """
    from sfumato.studies.folder import StudyFolder
    from sfumato.studies.locks import holder_since

    opened = StudyFolder(folder)
    cells = list({cell.key: cell for cell in opened.cells()}.values())
    running = {cell.key for cell in cells if holder_since(opened.lock(cell.key)) is not None}
    states = {cell.key: _state(cell, running) for cell in cells}
    counts = {name: list(states.values()).count(name) for name in _STATES}
    failed = [cell for cell in cells if cell.error is not None]
    if json:
        print_json(
            {
                "study": str(folder),
                "cells": len(cells),
                **counts,
                "errors": [
                    {"cell": cell.key, "what": _title(cell), **dict(cell.error or {})}
                    for cell in failed
                ],
                "running_now": [_title(cell) for cell in cells if cell.key in running],
            },
            indent=2,
        )
        return
    console = stdout()
    said = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    console.print(f"{len(cells):,} cells: {said}", markup=False)
    for cell in cells:
        if states[cell.key] == "running":
            console.print(f"running: {_title(cell)}", markup=False)
    for cell in failed:
        error = cell.error or {}
        why = in_options(f"{error.get('type')}: {error.get('message')}")
        console.print(f"failed: {_title(cell)}: {why}", markup=False)


@app.command("compare")
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="The folder of a study.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The folder of another.")],
    json: options.JsonOption = False,
) -> None:
    """Set the figures of two studies side by side.

    Figures belong together that have the same method, level, attack or measure and group; of
    several seeds the mean is shown. A difference is clear if the 95 % intervals do not meet.

    Example: sfumato study compare before after
    """
    from sfumato.studies.compare import compare as compared
    from sfumato.studies.folder import StudyFolder

    found = compared(StudyFolder(first).rows(), StudyFolder(second).rows())
    if json:
        print_json([one.as_dict() for one in found], indent=2)
    else:
        _print(found, first.name, second.name)


def _default_folder(file: Path) -> Path:
    from sfumato.core.errors import InvalidArgument

    if file.suffix != ".toml" or not file.stem:
        raise InvalidArgument(
            f"the folder of the study is called like its file, without .toml, and {file} does not "
            "end in that: name a folder with -o"
        )
    folder = file.with_suffix("")
    if folder.is_symlink():
        raise InvalidArgument(f"{folder} is a link to another place: name a folder with -o")
    return folder


_STATES = ("done", "failed", "running", "left")


def _state(cell: CellRecord, running: set[str]) -> str:
    if cell.state != "missing":
        return cell.state
    return "running" if cell.key in running else "left"


def _title(cell: CellRecord) -> str:
    from sfumato.studies.cell import Cell

    found = Cell(
        kind=cell.kind,
        method=cell.method,
        parameter=cell.parameter,
        level=cell.level,
        seed=cell.seed,
        name=cell.name,
    )
    return visible(found.title)


def _print(found: list[Difference], first: str, second: str) -> None:
    from rich.table import Table

    table = Table("method", "level", "by", "figure", "group", box=None)
    for title in (first, second, "clear"):
        table.add_column(shown(title), justify="right", no_wrap=True)
    for one in found:
        figure = one.figure
        table.add_row(
            shown(figure.method),
            "" if figure.level is None else f"{figure.level:g}",
            shown(figure.by),
            shown(figure.metric),
            shown(figure.group or ""),
            *("–" if value is None else f"{value.value:.4g}" for value in (one.first, one.second)),
            {True: "yes", False: "no", None: "–"}[one.clear],
        )
    stdout().print(table)


@contextmanager
def _watching(workers: int) -> Iterator[Callable[[Work], None]]:
    """A bar for a person, or a line for each finished cell."""
    from sfumato.studies.watch import Board, spoken

    boards: list[Board] = []

    def board(work: Work) -> Board:
        if not boards:
            boards.append(Board(work))
        return boards[0]

    if not sys.stderr.isatty():
        last: list[Any] = [None]

        def say(work: Work) -> None:
            reached = board(work).look(workers)
            now = (reached.done, reached.failed)
            if now != last[0]:
                last[0] = now
                left = reached.seconds_left
                togo = "" if left is None or not reached.left else f", about {spoken(left)} to go"
                failed = f", {reached.failed:,} failed" if reached.failed else ""
                note(f"{reached.done:,} of {reached.total:,} cells done{failed}{togo}")

        yield say
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("cells"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)

        def show(work: Work) -> None:
            reached = board(work).look(workers)
            now = "; ".join(cell.title for cell in reached.running) or "starting"
            left = "" if reached.seconds_left is None else f"{spoken(reached.seconds_left)} to go"
            failed = f"{reached.failed} failed, " if reached.failed else ""
            said = f"{failed}{len(reached.running)} running, {reached.left} left, {left}  {now}"
            # A method's name may hold what the bar would take for markup.
            bars.update(
                task,
                total=reached.total,
                completed=reached.done + reached.failed,
                description=said.replace("[", "\\["),
            )

        yield show
