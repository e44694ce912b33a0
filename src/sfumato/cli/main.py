"""The ``sfumato`` command.

Exit codes: 0 done, 1 a finding (a claim was refuted), 2 usage, 3 bad input, 4 input or output
failed, 5 an extra is missing, 70 our own mistake, 130 interrupted.
"""

from __future__ import annotations

import io
import os
import select
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from typing import Annotated, NoReturn

import typer

from sfumato.cli import (
    attack,
    audit,
    budget,
    calibrate,
    compare,
    components,
    data,
    deniability,
    embed,
    evaluate_synthetic,
    explain,
    federate,
    footprint,
    init,
    measure,
    model,
    ngrams,
    plan,
    policy,
    privatize,
    report,
    restore,
    serve,
    study,
    synthesize,
    tokenizer,
    topics,
    train,
    tune,
    verify,
    write,
)
from sfumato.cli.configured import Configured
from sfumato.cli.interrupts import INTERRUPTED, end_at_once, raise_first
from sfumato.cli.output import TYPED, follows, in_options, texts_among, without_texts
from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    IncomparableGuarantees,
    InvalidArgument,
    MissingExtra,
    ProcessesDisagree,
    ProcessLost,
    ServiceFailed,
    SfumatoError,
    StorageFailed,
)
from sfumato.core.own_code import blame
from sfumato.core.progress import QUIET

# What a command returns for an error; one that is not named here has the code of its kind.
EXIT_CODES: dict[type[SfumatoError], int] = {
    InvalidArgument: 2,
    BudgetExceeded: 2,
    IncomparableGuarantees: 2,
    BadInput: 3,
    StorageFailed: 4,
    ServiceFailed: 4,
    ProcessLost: 4,
    ProcessesDisagree: 4,
    MissingExtra: 5,
    SfumatoError: 70,
}

app = typer.Typer(
    name="sfumato",
    help="Private language: find what is sensitive in text, soften it, and say what is guaranteed.",
    epilog="Exit codes: 0 done, 1 finding, 2 usage, 3 bad input, 4 input/output, "
    "5 missing extra, 70 internal error, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("privatize", cls=Configured)(privatize.privatize)
app.command("restore", cls=Configured)(restore.restore)
app.command("embed", cls=Configured)(embed.embed)
app.command("synthesize", cls=Configured)(synthesize.synthesize)
app.command("write", cls=Configured)(write.write)
app.command("scan", cls=Configured)(policy.scan)
app.command("plan", cls=Configured)(plan.plan)
app.command("footprint", cls=Configured)(footprint.footprint)
app.command("train", cls=Configured)(train.train)
app.command("federate", cls=Configured)(federate.federate)
app.command("tune", cls=Configured)(tune.tune)
app.command("evaluate", cls=Configured)(model.evaluate)
app.command("evaluate-synthetic", cls=Configured)(evaluate_synthetic.evaluate_synthetic)
app.command("generate", cls=Configured)(model.generate)
app.command("measure", cls=Configured)(measure.measure)
app.command("attack", cls=Configured)(attack.attack)
app.command("audit", cls=Configured)(audit.audit)
app.command("calibrate", cls=Configured)(calibrate.calibrate)
app.command("report", cls=Configured)(report.report)
app.command("explain", cls=Configured)(explain.explain)
app.command("deniability", cls=Configured)(deniability.deniability)
app.command("suggest", cls=Configured)(deniability.suggest)
app.command("compare", cls=Configured)(compare.compare)
app.command("ngrams", cls=Configured)(ngrams.ngrams)
app.command("topics", cls=Configured)(topics.topics)
app.command("list")(components.list_components)
app.command("show")(components.show)
app.command("verify", cls=Configured)(verify.verify)
app.command("init")(init.init)
app.command("studio")(serve.studio)
app.add_typer(budget.app, name="budget")
app.add_typer(data.app, name="data")
app.add_typer(policy.app, name="policy")
app.add_typer(serve.app, name="serve")
app.add_typer(study.app, name="study")
app.add_typer(tokenizer.app, name="tokenizer")


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(installed("sfumato"))
        raise typer.Exit


def run() -> NoReturn:
    """The command in a process of its own; it ends with the command's exit code."""
    try:
        raise_first()
        _open_standard_streams()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal may lack our letters
        code = main(sys.argv[1:])
        _settle_streams()
        end_at_once(code)
    except KeyboardInterrupt:
        # It came before or after the command itself. (The next one would end us here and now.)
        code = _say_once("interrupted", INTERRUPTED)
        _settle_streams()
    sys.exit(code)


def _open_standard_streams() -> None:
    """A stream that was closed gets its number back, so that no file of ours takes it.

    Reading and results fail when it comes to that, for they must not be missing unnoticed; what is
    said along the way may be lost.
    """
    for number, name, ways in (
        (0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY),
    ):  # fmt: skip
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, ways)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            mode = "w" if number else "r"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def main(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    # In a context of its own: whoever calls this again, or anything else, is not kept quiet by it.
    return copy_context().run(_main, arguments)


def _main(arguments: list[str]) -> int:
    QUIET.set(_follows())
    TYPED.set(tuple(texts_among(arguments)))
    try:
        result = _command()(arguments, prog_name="sfumato", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _say_once("interrupted", INTERRUPTED)
    except (BrokenPipeError, SystemExit) as error:
        # (Typer turns a broken pipe into SystemExit, and leaves with 0 after completing a word.)
        done = isinstance(error, SystemExit) and not error.code
        return 0 if done else _pipe_closed()
    except Exception as error:
        return _failed(error)
    code = result if isinstance(result, int) else 0
    return _say_once("interrupted", code) if code == INTERRUPTED else code


@cache
def _command() -> Callable[..., object]:
    """All commands with all their options. To gather them takes longer than many a command."""
    return typer.main.get_command(app)


def exit_code(kind: type[SfumatoError]) -> int:
    """What the command line returns for a kind of error.

    >>> from sfumato.core.errors import UnknownName
    >>> exit_code(UnknownName)
    2
    """
    return next(EXIT_CODES[one] for one in kind.__mro__ if one in EXIT_CODES)


def _failed(error: Exception) -> int:
    if isinstance(error, SfumatoError) and error.said_elsewhere:
        return exit_code(type(error))
    if isinstance(error, SfumatoError):
        return _say(in_options(str(error)), exit_code(type(error)))
    if isinstance(error, MemoryError):
        return _say("out of memory; a document or a setting may be too large", 4)
    return _not_done(error) if isinstance(error, OSError) else _unexpected(error)


def _pipe_closed() -> int:
    """Success if the reader of our results has left: there is nobody to tell.

    A command that has a file to write has written it before it shows results, so results are all
    that can be missing.
    """
    if not _reader_has_left():
        return _say("reading or writing failed: a pipe was closed at its other end", 4)
    _drop(1)
    return 0


def _not_done(error: OSError) -> int:
    if os.environ.get("SFUMATO_DEBUG"):
        traceback.print_exc()
    _drop(1)  # what stands in the buffer would fail once more on leaving
    where = f"{error.filename}: " if isinstance(error.filename, str) else ""
    reason = error.strerror or type(error).__name__
    return _say(f"reading or writing failed: {where}{reason}", 4)


def _reader_has_left() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    looking = select.poll()
    looking.register(1, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in looking.poll(0))


def _settle_streams() -> None:
    """What cannot be written now must not be tried again on leaving: that changes the exit code."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            _drop(number)


def _drop(number: int) -> None:
    """What is written to standard output or error from now on goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def _unexpected(error: Exception) -> int:
    show_message = getattr(error, "format_message", None)
    if type(error).__name__.startswith("NoArgsIsHelp") and show_message is not None:
        sys.stderr.write(show_message() + "\n")
        return 2
    if show_message is not None and "extra argument" in show_message():
        # They may be the words of a sentence that somebody forgot to quote.
        return _say_once("there are more arguments than expected; quote a text to make it one", 2)
    if show_message is not None:  # a complaint about the command line
        complaint = f"{show_message()} (see 'sfumato --help')"
        return _say_once(complaint, getattr(error, "exit_code", 2))
    if type(error).__name__ == "Abort":
        return _say_once("interrupted", INTERRUPTED)
    # The message of an unforeseen error may hold private text, so only its place is shown.
    if os.environ.get("SFUMATO_DEBUG"):
        traceback.print_exc()
    theirs = blame(error)
    if theirs is not None:
        return _say(in_options(str(theirs)), exit_code(type(theirs)))
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-4:]))
    return _say(
        f"internal error: {type(error).__name__} at {places}; set SFUMATO_DEBUG=1 to see all "
        "of it (that may print private text)",
        70,
    )


def _say_once(message: str, code: int) -> int:
    """Say what all processes of one command have to say; the first one does."""
    return code if _follows() else _say(message, code)


def _follows() -> bool:
    with suppress(SfumatoError):  # said when it comes to training
        return follows()
    return False


def _say(message: str, code: int) -> int:
    with suppress(OSError):  # the code says it, too
        sys.stderr.write("sfumato: " + " ".join(without_texts(message).split()) + "\n")
    return code
