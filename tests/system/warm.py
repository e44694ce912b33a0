"""Processes that start warm: each is forked from one that has loaded the libraries, and is real.

A process of Python that trains loads torch for seconds before it does anything. Tests that kill or
stop a process need one of its own, and seldom care how it came to have its libraries. Here one
process loads them and waits. For every request it forks a child, which gets standard streams, a
folder, an environment and arguments of its own, runs a program as ``python -c`` would, and ends as
any process of Python does. Whoever asked is told its number and, later, how it ended.

Nothing is computed before the fork, so children know nothing of each other. How a process starts
and loads is tested by processes that begin from nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from low_costs import lower_costs

TESTS = Path(__file__).parents[1]
# What commands on text load; and beside it, what training a small model does.
LIGHT = ("numpy", "numpy.random", "phonenumbers", "randomgen", "regex", "rich.progress", "stdnum",
         "typer", "multiprocessing.spawn", "sfumato.cli.main")  # fmt: skip
HEAVY = (*LIGHT, "torch", "transformers.modeling_utils", "peft", "tokenizers", "scipy.stats",
         "dp_accounting.pld.accountant", "dp_accounting.rdp", "torch._dynamo")  # fmt: skip
START = """
import sys
sys.path.insert(0, {tests!r})
from system import warm
exec(compile(warm.wait_for_work({door}, {modules!r}), "<string>", "exec"))
"""


class WarmProcess:
    """A process that was forked; it is used as a ``subprocess.Popen`` is."""

    def __init__(self, told: socket.socket, output: IO[bytes] | None, errors: IO[bytes] | None):
        self.stdout, self.stderr = output, errors
        self.returncode: int | None = None
        self._told = told.makefile("r")
        told.close()
        self.pid = int(self._told.readline())

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, negative if a signal ended it; ``TimeoutExpired`` if it goes on."""
        if self.returncode is None:
            with selectors.DefaultSelector() as ready:
                ready.register(self._told, selectors.EVENT_READ)
                if not ready.select(timeout):
                    raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = int(self._told.readline())
            self._told.close()
        return self.returncode

    def poll(self) -> int | None:
        """Its exit code if it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def send_signal(self, number: int) -> None:
        """Nothing is sent to a process that is known to have ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Everything it says from now on, after it has ended."""
        said: dict[Any, list[bytes]] = {s: [] for s in (self.stdout, self.stderr) if s is not None}
        with selectors.DefaultSelector() as ready:
            for stream in said:
                ready.register(stream, selectors.EVENT_READ)
            while ready.get_map():
                found = ready.select(timeout)
                if not found:
                    raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
                for key, _ in found:
                    part = key.fileobj.read1(1 << 16)  # type: ignore[union-attr]
                    said[key.fileobj].append(part)
                    if not part:
                        ready.unregister(key.fileobj)
        self.wait(timeout)
        for stream in said:
            stream.close()
        return b"".join(said.get(self.stdout, [])), b"".join(said.get(self.stderr, []))

    def __enter__(self) -> WarmProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


def start(
    program: str,
    arguments: Sequence[str],
    *,
    modules: tuple[str, ...] = LIGHT,
    cwd: Path | None = None,
    env: Mapping[str, str],
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    new_session: bool = False,
) -> WarmProcess:
    """Run a program with ``sys.argv[1:]`` in a process that has loaded these modules.

    It reads nothing; what it says goes to descriptors, or into pipes.
    """
    mine, theirs = socket.socketpair()
    pipes: list[IO[bytes] | None] = []
    given, opened = [], []
    for target in (stdout, stderr):
        if target == subprocess.PIPE:
            reading, writing = os.pipe()
            pipes.append(os.fdopen(reading, "rb"))
            opened.append(writing)
            given.append(writing)
        else:
            pipes.append(None)
            given.append(target)
    request = {
        "program": program,
        "arguments": list(arguments),
        "cwd": str(cwd or Path.cwd()),
        "env": dict(env),
        "new_session": new_session,
    }
    content = json.dumps(request).encode()
    door = _warmed(modules)
    socket.send_fds(door, [len(content).to_bytes(8)], [theirs.fileno(), *given])
    door.sendall(content)
    theirs.close()
    for number in opened:
        os.close(number)
    return WarmProcess(mine, *pipes)


@cache
def _warmed(modules: tuple[str, ...]) -> socket.socket:
    """The door of a process that has loaded them; it leaves when the door is shut."""
    mine, theirs = socket.socketpair()
    with theirs:
        code = START.format(tests=str(TESTS), door=theirs.fileno(), modules=modules)
        process = subprocess.Popen(
            [sys.executable, "-c", code], pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    atexit.register(process.wait)
    atexit.register(mine.close)  # first
    return mine


# --- in the process that is warm -----------------------------------------------------------------


def wait_for_work(door_number: int, modules: Sequence[str]) -> str:
    """Fork for every request; return in each child, with the program that it is to run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the children, if for anyone
    for module in modules:
        importlib.import_module(module)
    lower_costs()  # as in the process that asks: one goes on with what the other began
    gc.freeze()
    door = socket.socket(fileno=door_number)
    waking, woken = socket.socketpair()
    woken.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken.fileno())
    told: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as ready:
        ready.register(door, selectors.EVENT_READ)
        ready.register(waking, selectors.EVENT_READ)
        while True:
            found = [key.fileobj for key, _ in ready.select()]
            if waking in found:
                waking.recv(1 << 10)
                _tell_who_ended(told)
            if door not in found:
                continue
            head, numbers, _, _ = socket.recv_fds(door, 8, 3)
            if not head:
                os._exit(0)
            request = json.loads(_receive(door, int.from_bytes(head)))
            if len(list(Path("/proc/self/task").iterdir())) > 1:
                raise RuntimeError("threads would not survive a fork")
            pid = os.fork()
            if not pid:
                break
            told[pid] = socket.socket(fileno=numbers[0])
            told[pid].sendall(f"{pid}\n".encode())
            for number in numbers[1:]:
                os.close(number)
    signal.set_wakeup_fd(-1)
    for one in (door, waking, woken, *told.values()):
        one.close()
    os.close(numbers[0])
    return _become(request, numbers[1:])


def _tell_who_ended(told: dict[int, socket.socket]) -> None:
    while told:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with told.pop(pid) as listener, contextlib.suppress(BrokenPipeError):
            listener.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _receive(door: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        content += door.recv(size - len(content))
    return content


def _become(request: dict[str, Any], streams: Sequence[int]) -> str:
    """Have in this process all that a new one would have."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request["new_session"]:
        os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, stream in enumerate((nothing, *streams)):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path.remove(str(TESTS))
    sys.argv[1:] = request["arguments"]
    program: str = request["program"]
    return program
