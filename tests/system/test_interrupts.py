"""Interrupts: the first asks, the second ends; always exit code 130, one line, nobody left behind.

Signals are sent when files show that the work has begun, never after some time. The limits are
there so that a deadlock is a failure and not an endless test.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from sfumato.files import chunks
from system import warm
from system.conftest import EXECUTABLE, environment, write_jsonl
from system.warm import WarmProcess

FOREVER = 1200  # seconds: it hangs; a busy machine takes long, too
Send = Callable[[WarmProcess], None]


@pytest.fixture
def endless(small_chunks: None, tmp_path: Path) -> list[str]:
    """A command whose first part is soon finished, and whose other parts take very long."""
    quick = ["7"] * chunks.RECORDS
    source = write_jsonl(tmp_path / "in.jsonl", quick + ["x" * 80, *quick[1:]] * 3)
    return [
        "privatize", str(source), "-o", str(tmp_path / "out.jsonl"), "--mechanism", "redact",
        "--policy", "regex:7|(?:x|xx)+[0-9]",
    ]  # fmt: skip


def begun(output: Path, process: WarmProcess) -> None:
    """Wait until a part is finished."""
    until = time.monotonic() + FOREVER
    while not list(output.with_name(output.name + ".parts").glob("*.part")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "no part was ever finished"
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Interrupts reach the command even if whoever runs the tests ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def alive_in_group(group: int) -> list[int]:
    """The processes of a group that still run; those that only wait to be buried do not count."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, member = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # it has just ended
        if int(member) == group and state not in "ZX":
            found.append(int(path.parent.name))
    return found


def ended(
    arguments: Sequence[str], output: Path, send: Send, *, heard_by: int | None = None
) -> tuple[int, str]:
    """Start a run in a group of its own, send it signals in the middle: its code and last words.

    With ``heard_by`` all it says goes there.
    """
    with warm.start(
        f"from sfumato.files import chunks; chunks.RECORDS = {chunks.RECORDS}\n" + EXECUTABLE[-1],
        arguments,
        env=environment({"OPENBLAS_NUM_THREADS": "1"}),
        stdout=subprocess.PIPE if heard_by is None else heard_by,
        stderr=subprocess.PIPE if heard_by is None else heard_by,
        new_session=True,
    ) as process:
        try:
            begun(output, process)
            send(process)
            _, errors = process.communicate(timeout=FOREVER)
            until = time.monotonic() + FOREVER
            while left := alive_in_group(process.pid):
                assert time.monotonic() < until, f"still running: {left}"
                time.sleep(0.01)
        finally:
            if alive_in_group(process.pid):
                os.killpg(process.pid, signal.SIGKILL)
    return process.wait(), errors.decode()


def once(process: WarmProcess) -> None:
    process.send_signal(signal.SIGINT)


def twice(process: WarmProcess) -> None:
    once(process)
    once(process)


def twice_with_a_pause(process: WarmProcess) -> None:
    once(process)
    time.sleep(0.3)  # somewhere in the middle of leaving; where, must not matter
    if process.poll() is None:
        once(process)


def the_group(process: WarmProcess) -> None:
    os.killpg(process.pid, signal.SIGINT)


def the_group_again_and_again(process: WarmProcess) -> None:
    for _ in range(5):
        os.killpg(process.pid, signal.SIGINT)


def a_term_and_an_interrupt(process: WarmProcess) -> None:
    process.send_signal(signal.SIGTERM)
    once(process)


def interrupted(code: int, errors: str) -> bool:
    """Whether that is how an interrupted command leaves."""
    return (
        code == 130 and "Traceback" not in errors and errors.endswith("sfumato: interrupted\n")
    )  # fmt: skip


@pytest.mark.parametrize(
    ("workers", "send"),
    [
        ("1", twice_with_a_pause),
        ("2", twice),
        ("2", twice_with_a_pause),
        ("2", the_group),
        ("2", the_group_again_and_again),
        ("2", a_term_and_an_interrupt),
    ],
)
def test_interrupts_end_a_run(endless: list[str], tmp_path: Path, workers: str, send: Send) -> None:
    output = tmp_path / "out.jsonl"
    code, errors = ended([*endless, "--workers", workers], output, send)
    assert interrupted(code, errors), (code, errors)
    assert not output.exists()
    assert list(output.with_name("out.jsonl.parts").glob("*.part"))


def run_with(before: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    """The command with some lines of Python in front of it."""
    return subprocess.run(
        [*EXECUTABLE[:-1], before + "\n" + EXECUTABLE[-1], *arguments],
        capture_output=True, env=environment(), timeout=FOREVER, check=False,
    )  # fmt: skip


# Interrupted just when a module is about to be imported, be it before our own code or in it.
ON_IMPORT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("name", ["typer", "numpy", "sfumato.releases.job", "rich.console"])
def test_an_interrupt_while_loading_leaves_without_a_traceback(name: str, tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ["Room 12"])
    arguments = ["privatize", str(source), "-o", str(tmp_path / "out.jsonl"), "--epsilon", "5"]
    command = ["list"] if name == "rich.console" else arguments
    result = run_with(ON_IMPORT.format(name=name), command)
    assert (result.returncode, result.stderr) == (130, b"sfumato: interrupted\n")
    assert list(tmp_path.iterdir()) == [source]


def test_the_check_of_loading_notices_commands_that_leave_it_to_python() -> None:
    """Without our handlers the same interrupt is a traceback."""
    program = ON_IMPORT.format(name="typer") + "from sfumato.cli.main import run; run()"
    result = subprocess.run(
        [*EXECUTABLE[:-1], program, "list"], capture_output=True, env=environment(), check=False
    )
    assert b"Traceback" in result.stderr


@pytest.mark.parametrize("place", ["main", "_settle_streams", "_say"])
def test_an_interrupt_just_before_and_after_the_command_is_one_too(place: str) -> None:
    """Once before the function runs, and once more after it: the moments that are hard to hit."""
    before = f"""
import os, signal
from sfumato.cli import main
inner = main.{place}
def interrupted(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    try:
        return inner(*arguments)
    finally:
        os.kill(os.getpid(), signal.SIGINT)
main.{place} = interrupted
"""
    result = run_with(before, ["list", "--wrong"])
    assert result.returncode == 130
    assert b"Traceback" not in result.stderr


def test_a_background_job_that_is_told_to_ignore_interrupts_ignores_them(tmp_path: Path) -> None:
    before = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # children inherit that; the fixture undoes it
    result = run_with(before, ["--version"])
    assert (result.returncode, result.stderr) == (0, b"")


def test_an_interrupted_run_is_none_that_succeeded_even_if_nobody_listens(
    endless: list[str], tmp_path: Path
) -> None:
    """As in ``sfumato ... 2>&1 | head``: there is no output, so it must not look like success."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        output = tmp_path / "out.jsonl"
        code, _ = ended(endless, output, once, heard_by=writing)
    finally:
        os.close(writing)
    assert code == 130
    assert not output.exists()


@pytest.mark.parametrize(
    ("target", "code"), [("-", 0), ("/dev/stdout", 0), ("out", 0), ("fifo", 4)]
)
def test_a_reader_that_leaves_is_success_only_where_nothing_else_was_asked_for(
    tmp_path: Path, target: str, code: int
) -> None:
    """What goes to standard output may be cut short by its reader; a file may not, nor a pipe."""
    source = write_jsonl(tmp_path / "in.jsonl", ["words 7 " + "-" * 1500] * 200)
    os.mkfifo(tmp_path / "fifo")
    command = ["privatize", str(source), "-o", target, "-m", "redact", "-p", "digits"]
    reading, writing = os.pipe()
    with warm.start(
        EXECUTABLE[-1], [*command, "--format", "jsonl"], env=environment(), cwd=tmp_path,
        stdout=writing,
    ) as process:  # fmt: skip
        os.close(writing)
        os.close(reading)  # nobody reads what is said
        if target == "fifo":
            os.close(os.open(tmp_path / "fifo", os.O_RDONLY))
        _, errors = process.communicate(timeout=FOREVER)
    assert process.returncode == code, errors
    assert b"Traceback" not in errors
    assert (tmp_path / "out").exists() is (target == "out")
    assert (b"cannot write fifo" in errors) is (target == "fifo")


def test_a_broken_pipe_elsewhere_is_no_success() -> None:
    """The twin of a reader that has left: the same exception, but standard output is whole."""
    before = """
from sfumato.cli import components, main
def broken(*arguments): raise BrokenPipeError(32, "Broken pipe")
components.print_json = broken
"""
    result = run_with(before, ["list", "--json"])
    assert result.returncode == 4
    assert b"Traceback" not in result.stderr
