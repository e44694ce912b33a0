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
    from sfumato.studies.compare import StudyComparison
    from sfumato.studies.study import Study
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
        help="A file or folder outside the study's own that it may use, or a file of code that it "
        "may run (named itself, wherever it stands); repeat for several.",
    ),
]
OnlyOption = Annotated[
    list[str],
    typer.Option(
        "--only",
        metavar="TITLE",
        help="Cells with such a title, as 'study status' prints them, and what they need; * stands "
        "for anything, and what follows the colon may be left out; repeat for several.",
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
    from sfumato.studies.study import Study

    Study.init(path, overwrite=overwrite)
    note(f"{path} is written; sfumato study run {path} computes it")


@app.command("run")
def run(  # noqa: PLR0913  # a command's options are its parameters
    file: FileArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="STUDY", help="Its folder. [default: FILE without .toml]"
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes to use, or actors of Ray.")
    ] = 1,
    engine: options.EngineOption = "local",
    address: options.AddressOption = None,
    allow: AllowOption = [],  # noqa: B006
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on: finished cells are not computed again.")
    ] = False,
    budget: options.BudgetOption = None,
    account: options.AccountOption = None,
    budget_key: options.BudgetKeyOption = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            help="Begin no cell after it: 22:30, 2h30m, or 2026-01-31T06:00.",
        ),
    ] = None,
    only: OnlyOption = [],  # noqa: B006
    json: options.JsonOption = False,
) -> None:
    """Compute every cell of a study that is not computed yet.

    A cell that fails is recorded with its error, and the rest goes on; --resume tries it again.
    Several commands may work on one study at once. The figures are in STUDY/results.jsonl.
    With --until no cell is begun that is expected to end later; --resume goes on another day.
    With --only other cells are left for later, or for another machine.
    With --budget every private text and every model with noise is a release and is charged; without
    it they are drawn from the seeds of the study, and not for release.
    A study keeps to the folder that its file stands in; --allow-path opens another place to it.

    Example: sfumato study run names.toml --workers 2
    """
    from dataclasses import asdict

    from sfumato.studies.study import Study

    asked = Study.read(file)
    _say_what_is_weak(asked)
    _say_how_long(asked, output, workers, (allow, only))
    with _watching(workers) as watch:
        study = asked.run(
            output,
            workers=workers,
            engine=engine,
            address=address,
            resume=resume,
            allow_path=allow,
            watch=watch,
            budget=budget,
            account=account,
            budget_key=budget_key,
            until=until,
            only=only,
        )
    found, folder = study.outcome, study.folder
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
    from sfumato.studies.doors import CODE, OUTSIDE
    from sfumato.studies.study import Study

    asked = Study.read(file)
    found = asked.check(allow_path=allow)
    _say_what_is_weak(asked)
    if json:
        print_json([one.as_dict() for one in found], indent=2)
    else:
        for one in found:
            stdout().print(
                f"{one.purpose} {visible(str(one.path))} ({one.where})",
                markup=False,
                soft_wrap=True,
            )
    if any(one.where == CODE for one in found):
        note(
            "the study runs code of its own, and nothing was looked at beyond it: read that file, "
            "then check again with --allow-path and the file itself"
        )
        raise typer.Exit(SOME_FAILED)
    if any(one.where == OUTSIDE for one in found):
        note("the study runs with --allow-path for what is outside, if you want it to")
        raise typer.Exit(SOME_FAILED)


@app.command("estimate")
def estimate(
    file: FileArgument,
    like: Annotated[
        list[Path],
        typer.Option(
            "--like", metavar="STUDY", help="The folder of an earlier study; repeat for several."
        ),
    ] = [],  # noqa: B006
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes to use.")] = 1,
    allow: AllowOption = [],  # noqa: B006
    only: OnlyOption = [],  # noqa: B006
    json: options.JsonOption = False,
) -> None:
    """Say how long the missing cells of a study will take; nothing is computed.

    Cells are judged by finished ones of the same kind, in the folder of the study and in those of
    --like: there they took so long, on that machine and that much text.

    Example: sfumato study estimate names.toml --like small --workers 2
    """
    from dataclasses import asdict

    from sfumato.studies.study import Study

    asked = Study.read(file)
    found = asked.estimate(like=like, workers=workers, allow_path=allow, only=only)
    if json:
        print_json(asdict(found))
    else:
        stdout().print(visible(found.sentence()), markup=False)


@app.command("letter")
def letter(folder: FolderArgument) -> None:
    """Print what a study found as plain text that can be sent by mail.

    How far it is, what it took, what failed, and its figures as means over seeds.

    Example: sfumato study letter names | mail -s names ada@example.org
    """
    from sfumato.studies.study import Study

    for line in Study.open(folder).letter().splitlines():
        stdout().print(visible(in_options(line)), markup=False, soft_wrap=True)


@app.command("status")
def status(folder: FolderArgument, json: options.JsonOption = False) -> None:
    """Say how far a study is, and what failed.

    Example: sfumato study status names
    """
    from sfumato.studies.study import Study

    found = Study.open(folder).status()
    if json:
        print_json({"study": str(folder), **_visible(found.as_dict())}, indent=2)
        return
    console = stdout()
    console.print(found.sentence(), markup=False)
    for cell in found.running:
        console.print(f"running: {visible(cell.title)}", markup=False)
    for cell in found.failed:
        console.print(f"failed: {visible(cell.title)}: {in_options(cell.why)}", markup=False)


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
    from sfumato.studies.study import Study

    found = Study.open(first).compare(second)
    if json:
        print_json([one.as_dict() for one in found], indent=2)
    else:
        _print(found)


def _say_how_long(
    study: Study, output: Path | None, workers: int, given: tuple[list[Path], list[str]]
) -> None:
    """Before anything is computed, if earlier cells of this study tell."""
    from sfumato.studies.study import Study

    allow, only = given

    there = Study(study.spec, folder=study.folder if output is None else output)
    found = there.estimate(workers=workers, allow_path=allow, only=only)
    if found.seconds:
        note(visible(found.sentence()))


def _say_what_is_weak(study: Study) -> None:
    """Before anything is computed: figures that will say little."""
    for sentence in study.weaknesses():
        note(visible(sentence))


def _visible(status: dict[str, Any]) -> dict[str, Any]:
    """Titles of cells hold names of methods, and those may hold anything."""
    errors = [one | {"what": visible(one["what"])} for one in status["errors"]]
    return status | {"errors": errors, "running_now": [*map(visible, status["running_now"])]}


def _print(found: StudyComparison) -> None:
    from rich.table import Table

    several = any(one.figure.corpus for one in found)
    first = ("corpus",) if several else ()
    table = Table(*first, "method", "level", "by", "figure", "group", box=None)
    for title in (found.first, found.second, "clear"):
        table.add_column(shown(title), justify="right", no_wrap=True)
    for one in found:
        figure = one.figure
        table.add_row(
            *((shown(figure.corpus or ""),) if several else ()),
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
    from sfumato.studies.expected import spoken
    from sfumato.studies.watch import Board

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
