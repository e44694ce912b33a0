"""Where a run stands, so that it can go on after it was killed.

Guarantee
    A checkpoint holds only what the guarantee of the run covers: weights, the state of the
    optimizer and the clipping norm, all computed from private gradients, and the number of the
    step. It is written after its steps were charged, whole or not at all. It comes back as it was
    written, or not at all.

Why it holds
    A file begins with the length and the digest of what follows, and nothing of it is used before
    both are checked: weights with other bits look like any weights. The digest is one of released
    content, in the same file; it tells nothing that the content does not.

Care
    A digest finds damage, not forgery: whoever can write the file can write a digest.
    Weights that are not trained are in it as well. Fresh ones cannot be made again, and factors
    that were trained beside some mean nothing beside others.

A run and its ledger: what was paid for, what is left of it, what must be paid for.

Guarantee
    A run goes on with the step after the last one charged, from weights that are not newer than
    that. What is not known to be paid for is not used.

Why it holds
    Steps are charged before their results are saved, so a checkpoint is never ahead of its ledger
    unless somebody put it there; then it is refused, as is a run whose ledger is gone. Steps that
    were charged and lost stay charged: whether their results were seen cannot be known.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast

import torch

from sfumato.accounting.ledger import Ledger
from sfumato.core.checks import at_least, between
from sfumato.core.errors import CannotResume, CoupledRows, StorageFailed, UndefinedGradient
from sfumato.core.files import replace_file
from sfumato.core.randomness import Randomness
from sfumato.training.folder import RunFolder
from sfumato.training.optimizers import put_back
from sfumato.training.plan import TrainingPlan

SCHEMA = 3

# Name and version of the format, the length of the rest in bytes, its digest.
_HEAD = "sfumato checkpoint {schema} {length:020d} {digest}\n"


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
        """What has to be kept of a run under way."""
        state = optimizer.state_dict()
        return cls(steps, model.state_dict(), state, type(optimizer).__name__, clip_norm)

    def save(self, path: Path) -> None:
        """Write it; whoever looks sees the old one or the new one."""
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
        except (OSError, RuntimeError) as error:  # torch has a name of its own for a full disk
            problem = getattr(error, "strerror", None) or "writing failed"
        else:
            return
        raise StorageFailed(f"cannot write {path}: {problem}; the one before is kept")

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read one, if it is whole; only tensors and plain values, never code."""
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
        except Exception as error:  # an archive of something else fails in many ways
            problem = type(error).__name__
        raise CannotResume(
            f"{path} cannot be read ({problem}); put a whole copy of it in its place, or start a "
            "new run in another folder"
        )

    def restore(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Put weights and optimizer back, if they are those of the same model."""
        if _shapes(model.state_dict()) != _shapes(self.weights):
            raise CannotResume("the checkpoint belongs to another model; start a new run")
        if type(optimizer).__name__ != self.kind or not put_back(optimizer, self.optimizer):
            raise CannotResume("the checkpoint belongs to another optimizer; start a new run")
        model.load_state_dict(self.weights)


class _Digesting:
    """A stream that knows the digest of what went through it."""

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
    """Write it behind its length and digest."""
    stream.write(_head(0, "0" * 64))
    through = _Digesting(stream)
    torch.save(content, cast("BinaryIO", through))  # it writes, and does nothing else
    stream.seek(0)
    stream.write(_head(through.length, through.digest.hexdigest()))


def _damage(stream: BufferedReader) -> str:
    """What is wrong with a file, if anything is; the stream then stands at its content."""
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
    """Steps that were paid for and whose results were never saved."""


@contextmanager
def ledger_of(
    folder: RunFolder | None, plan: TrainingPlan, randomness: Randomness
) -> Iterator[Ledger | None]:
    """The ledger of a run, begun or gone on with; without a folder there is none."""
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
        # A run that was begun with a seed and finished without one would be taken for private.
        record=plan.as_dict() | {"seed": randomness.seed},
        saved=plan.start(randomness),
        resume=begun,
    ) as ledger:
        if folder.model.exists() and ledger.left:
            raise CannotResume(
                f"{folder.model} is there, but {folder.ledger} has lost steps; start a new run"
            )
        yield ledger


def last_checkpoint(folder: RunFolder | None, ledger: Ledger | None) -> Checkpoint | None:
    """Where a stopped run stands; steps that are paid for and lost are reported by a warning."""
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
    """Charge steps that end in ``UndefinedGradient`` or ``CoupledRows``.

    To stop was decided by looking at them. Were they free, a run could be resumed until they come
    out differently, and what comes out in the end would hang on what was seen.
    """
    try:
        yield
    except (CoupledRows, UndefinedGradient):
        if ledger:
            ledger.charge(steps)
        raise
