"""Checkpoints of a run, when they are written, and how a killed run is resumed.

Guarantee
    A checkpoint holds only what the guarantee of the run covers: weights, the state of the
    optimizer and the clipping norm, all computed from noisy gradients, and the number of the step.
    It is written after its steps were charged, and atomically. A checkpoint that is loaded is
    exactly what was written; a damaged one is refused. A run resumes with the step after the last
    one charged, from weights that no later private step has changed.

Why it holds
    A file begins with the length and the digest of its content, and nothing is used before both are
    checked, because damaged weights look like any others. The digest is one of released content, in
    the same file, so it reveals nothing more. Steps are charged before their results are saved, so
    a checkpoint is never ahead of its ledger unless somebody put it there; then it is refused, as
    is a run whose ledger is missing. Steps that were charged and lost stay charged, because nobody
    knows whether their results were seen.

Care
    A digest detects damage, not forgery: whoever can write the file can write a digest. Weights
    that are not trained are saved as well: randomly initialized ones cannot be reproduced, and
    trained low-rank factors are useless beside other weights.
    How long a step takes depends on the lengths of private documents, so the times at which a run
    is saved, every few minutes, reveal something about them. They are not written anywhere: the
    ledger has one line for every step, whichever steps were saved together, and each checkpoint
    replaces the one before. Which steps are saved does not affect the guarantee, because the plan
    covers the state after every step.
    A signal that would end the process waits for the current step, private or public, which is then
    saved. A second signal does not wait.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from io import BufferedReader
from pathlib import Path
from threading import current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any, BinaryIO, cast

import torch

from sfumato.accounting.ledger import Ledger
from sfumato.core.checks import at_least, between
from sfumato.core.errors import ENDED_BY_RECORDS, CannotResume, StorageFailed
from sfumato.core.files import replace_file
from sfumato.core.randomness import Randomness
from sfumato.training.folder import RunFolder
from sfumato.training.optimizers import put_back
from sfumato.training.plan import TrainingPlan

SCHEMA = 3

# Name and version of the format, length of the content in bytes, digest of the content.
_HEAD = "sfumato checkpoint {schema} {length:020d} {digest}\n"

# A killed process loses at most the work of this many minutes.
MINUTES = 5.0

# In a team of processes, signals within so many seconds are one request.
ONE_REQUEST = 5.0

# The signals that ask a process to end: Ctrl-C, and that of kill, a shutdown or a job queue.
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Checkpoint:
    """The state after ``steps`` steps; ``kind`` is the name of the optimizer's class.

    ``between`` is the state of public training between the private steps, if there is any.
    """

    steps: int
    weights: Mapping[str, torch.Tensor]
    optimizer: Mapping[str, Any]
    kind: str
    clip_norm: float
    between: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, steps: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer, clip_norm: float
    ) -> Checkpoint:
        """The state of a run in progress."""
        state = optimizer.state_dict()
        return cls(steps, model.state_dict(), state, type(optimizer).__name__, clip_norm)

    def save(self, path: Path) -> None:
        """Write it atomically: a reader sees the old file or the new one."""
        content = {
            "schema": SCHEMA,
            "steps": self.steps,
            "weights": dict(self.weights),
            "optimizer": dict(self.optimizer),
            "kind": self.kind,
            "clip_norm": self.clip_norm,
            "between": dict(self.between),
        }
        try:
            with replace_file(path) as stream:
                write_sealed(content, stream)
        except (OSError, RuntimeError) as error:  # torch raises RuntimeError if the disk is full
            problem = getattr(error, "strerror", None) or "writing failed"
        else:
            return
        raise StorageFailed(f"cannot write {path}: {problem}; the one before is kept")

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read a complete file; it can hold tensors and plain values, never code."""
        try:
            with path.open("rb") as stream:
                problem = _damage(stream)
                if not problem:
                    content = torch.load(stream, map_location="cpu", weights_only=True)
                    return cls(
                        at_least("steps", int(content["steps"]), 0),
                        dict(content["weights"]),
                        dict(content["optimizer"]),
                        str(content["kind"]),
                        between("clip_norm", float(content["clip_norm"]), 0.0, sys.float_info.max),
                        dict(content["between"]),
                    )
        except Exception as error:  # other content fails in many ways
            problem = type(error).__name__
        raise CannotResume(
            f"{path} cannot be read ({problem}); put a whole copy of it in its place, or start a "
            "new run in another folder"
        )

    def restore_weights(self, model: torch.nn.Module) -> None:
        """Restore the weights, frozen ones included, if they belong to the same model."""
        self._refuse_another(model)
        model.load_state_dict(self.weights)

    def restore(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Restore weights and optimizer, if they belong to the same model."""
        self._refuse_another(model)
        if type(optimizer).__name__ != self.kind or not put_back(optimizer, self.optimizer):
            raise CannotResume("the checkpoint belongs to another optimizer; start a new run")
        model.load_state_dict(self.weights)

    def _refuse_another(self, model: torch.nn.Module) -> None:
        if _shapes(model.state_dict()) != _shapes(self.weights):
            raise CannotResume("the checkpoint belongs to another model; start a new run")


class _Digesting:
    """A stream that computes the digest of what is written to it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.digest, self.length = stream, sha256(), 0

    def write(self, piece: bytes) -> int:
        self.digest.update(piece)
        self.length += len(piece)
        return self.stream.write(piece)

    def flush(self) -> None:
        self.stream.flush()


def _head(length: int, digest: str) -> bytes:
    return _HEAD.format(schema=SCHEMA, length=length, digest=digest).encode()


def write_sealed(content: Any, stream: BinaryIO) -> None:
    """Write the content after its length and digest."""
    stream.write(_head(0, "0" * 64))
    through = _Digesting(stream)
    torch.save(content, cast("BinaryIO", through))  # it is only written to
    stream.seek(0)
    stream.write(_head(through.length, through.digest.hexdigest()))


def _damage(stream: BufferedReader) -> str:
    """What is wrong with a file, or ""; afterwards the stream is at the start of the content."""
    length = os.fstat(stream.fileno()).st_size
    found = stream.read(len(_head(0, "0" * 64)))
    named = found.split(b" ")
    if named[:2] != [b"sfumato", b"checkpoint"]:
        return "it is no checkpoint"
    if named[2:3] != [b"%d" % SCHEMA]:
        return "another version of sfumato wrote it"
    whole = _head(length - len(found), file_digest(stream, "sha256").hexdigest())
    stream.seek(len(found))
    return "" if found == whole else "it is damaged"


def _shapes(weights: Mapping[str, Any]) -> dict[str, tuple[torch.Size, torch.dtype] | None]:
    return {
        name: (value.shape, value.dtype) if isinstance(value, torch.Tensor) else None
        for name, value in weights.items()
    }


class StepsLost(UserWarning):
    """Steps that were charged but whose results were not saved."""


@contextmanager
def ledger_of(
    folder: RunFolder | None, plan: TrainingPlan, randomness: Randomness
) -> Iterator[Ledger | None]:
    """The ledger of a run, new or resumed; without a folder there is none."""
    if folder is None:
        yield None
        return
    begun = folder.ledger.exists()
    if not begun and (folder.checkpoint.exists() or folder.model.exists()):
        raise CannotResume(
            f"there is no {folder.ledger}, so what was spent is unknown; start a new run"
        )
    with Ledger.opened(
        folder.ledger,
        allowed=plan.steps,
        # A run that was begun with a seed must not be finished without one: it would count as
        # private.
        record=plan.as_dict() | {"seed": randomness.seed} | _tokenizer_release(folder),
        saved=plan.start(randomness),
        resume=begun,
    ) as ledger:
        if folder.model.exists() and ledger.left:
            raise CannotResume(
                f"{folder.model} is there, but {folder.ledger} has lost steps; start a new run"
            )
        yield ledger


def _tokenizer_release(folder: RunFolder) -> dict[str, Any]:
    """The noise of the run's own tokenizer: it is charged with the steps."""
    if not folder.tokenizer.is_dir():
        return {}
    from sfumato.models.private_tokenizer import load_private

    return {"tokenizer": load_private(folder.tokenizer).noise.as_dict()}


def last_checkpoint(folder: RunFolder | None, ledger: Ledger | None) -> Checkpoint | None:
    """The last checkpoint of a stopped run; a warning reports steps that were charged and lost."""
    if folder is None or ledger is None:
        return None
    found = Checkpoint.load(folder.checkpoint) if folder.checkpoint.exists() else None
    kept = found.steps if found else 0
    if kept > ledger.charged:
        raise CannotResume(
            f"{folder.checkpoint} is ahead of the ledger, which has lost steps; start a new run"
        )
    if kept == 0 and ledger.left == 0:
        raise CannotResume(
            f"all {ledger.allowed:,} steps are charged, and none of their results was saved; "
            "start a new run"
        )
    if kept < ledger.charged:
        warnings.warn(
            f"{ledger.charged - kept:,} of {ledger.allowed:,} steps are charged, but the run was "
            "stopped before their results were saved; it goes on without them",
            StepsLost,
            stacklevel=3,
        )
    return found


@contextmanager
def paid_if_undefined(ledger: Ledger | None, steps: int) -> Iterator[None]:
    """Charge steps that end in ``UndefinedGradient``, ``CoupledRows`` or ``UnsteadyGradient``.

    The decision to stop depends on their data. If they were free, a run could be resumed until they
    came out differently, and the result would depend on what was seen. So are steps before public
    training that ends so, for its weights depend on them; there may be none.
    """
    try:
        yield
    except ENDED_BY_RECORDS:
        if ledger and steps:
            ledger.charge(steps)
        raise


@dataclass
class Saving:
    """Counts the unsaved steps and decides when to save; made by ``saving``."""

    every: int
    steps: int
    unsaved: int = 0
    asked: int | None = None
    team: bool = False
    _asked_at: float = 0.0
    _last: float = 0.0
    _handlers: dict[int, Any] = field(default_factory=dict)

    def due(self, step: int) -> bool:
        """Whether to save now, after step ``step`` (from 0)."""
        return step + 1 == self.steps or self.unsaved >= self.every or self.late()

    def late(self) -> bool:
        """Whether to save as soon as possible: somebody has asked, or the last time is long ago."""
        return self.asked is not None or monotonic() - self._last >= 60 * MINUTES

    def saved(self) -> None:
        """Note that everything so far was saved."""
        self.unsaved, self._last = 0, monotonic()

    def stop_if_asked(self) -> None:
        """Raise a signal that was held back, unless there are unsaved steps."""
        if self.asked is not None and not self.unsaved:
            number, self.asked = self.asked, None
            self.release()
            signal.raise_signal(number)

    def ask(self, number: int) -> None:
        """Stop after this step, because of a signal to this process or to another of its team."""
        self.asked, self._asked_at = number, monotonic()

    def hold(self) -> None:
        """Hold back the first signal from now on; not ignored ones, and only in the main thread."""
        if current_thread() is not main_thread():
            return
        for number in SIGNALS:
            before = signal.getsignal(number)
            if before is not None and before != signal.SIG_IGN:
                self._handlers[number] = before
                signal.signal(number, self._wait)

    def release(self) -> None:
        """Restore the previous signal handlers."""
        while self._handlers:
            signal.signal(*self._handlers.popitem())

    def _wait(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        again = self.asked is not None
        if not again:
            self.ask(number)
        if self.team and monotonic() - self._asked_at < ONE_REQUEST:
            return  # the terminal sends it, and so does whoever started the processes
        self.release()  # a second one does not wait
        if again:
            signal.raise_signal(number)


@contextmanager
def saving(every: int, steps: int, *, kept: bool, team: bool = False) -> Iterator[Saving]:
    """Decide when to save a run of so many steps; hold back signals if results are ``kept``.

    In a ``team`` of processes a signal often comes twice.
    """
    course = Saving(every, steps, team=team)
    course.saved()  # nothing is unsaved yet, and the clock starts
    if kept:
        course.hold()
    try:
        yield course
    finally:
        course.release()
    course.stop_if_asked()
