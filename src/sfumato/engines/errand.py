"""What travels to a worker elsewhere and back: a place, a key, numbers, counts and our own errors.

Guarantee
    Through the engine goes no text, no setting and no secret of a run: only the path of a sealed
    file, the key that opens it, the name of the working folder, version numbers, numbers of items,
    and back come counts under short names, or an error of ours, whose message quotes no text.

Why it holds
    What workers have in common (policies with their patterns and lists, mechanisms, paths) is
    pickled into a file for its owner alone, sealed under a key that is drawn for this run and never
    written down. An engine may keep what it is sent in a control store, spill it to a disk or show
    it on a page; whoever finds it there has a key without a file. Whoever finds the file has no
    key. ``plain_counts`` looks at every result where it is made, and refuses one that is not made
    of whole numbers under short names; of an error that is not ours only type and place go back.

Care
    Whoever reads both, the engine's messages and the folder of the run, opens the file. They lie on
    the file system that holds the input in the clear. Numbers of items and counts are not sealed.
"""

from __future__ import annotations

import os
import pickle
import re
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.core import errors
from sfumato.core.errors import InvalidArgument, SfumatoError, StorageFailed
from sfumato.core.keys import Key
from sfumato.core.own_code import blame, files_of, load_again
from sfumato.core.sealing import Seal, read_sealed, require_cipher, write_sealed
from sfumato.engines.engine import Counts, NumberedWork

_NAME = re.compile(r"[\w .:*+/|-]{1,120}")
ERROR, MESSAGE = "error", "message"


@dataclass(frozen=True)
class Errand:
    """All that is sent before the first number; ``key`` is for the sealed file alone."""

    path: str
    folder: str
    version: str
    key: bytes = field(repr=False)

    @classmethod
    @contextmanager
    def sealed(cls, work: NumberedWork, shared: Any, place: Path) -> Iterator[Errand]:
        """An errand whose file lies at ``place`` as long as the block lasts."""
        require_cipher()
        key = Key.fresh()
        task = pickle.dumps((work, shared))
        _refuse_script(task)
        content = pickle.dumps((files_of(task), task))
        seal = Seal.fresh(key)
        try:
            write_sealed(place, seal, [seal.seal(0, content)])
            yield cls(str(place.resolve()), str(Path.cwd()), version("sfumato"), key.secret)
        finally:
            place.unlink(missing_ok=True)

    def opened(self) -> tuple[NumberedWork, Any]:
        """Elsewhere: the work and what is shared, with paths as they were meant."""
        if self.version != version("sfumato"):
            raise StorageFailed(
                f"a worker has sfumato {version('sfumato')}, and this is {self.version}: all "
                "nodes need the same one"
            )
        try:
            os.chdir(self.folder)  # so that relative paths mean the same
        except OSError as error:
            raise StorageFailed(
                f"a worker cannot enter {self.folder}: {error.strerror}; every node must reach "
                "the working folder, the input and the output under the same path"
            ) from None
        with closing(read_sealed(Path(self.path), Key(self.key))) as records:
            files, task = pickle.loads(next(records))  # noqa: S301  # sealed by our own driver
            for _ in records:
                pass
        load_again(files)
        work, shared = pickle.loads(task)  # noqa: S301
        return work, shared


class Doer:
    """Elsewhere: is given an errand once, then numbers; nothing it returns holds any text."""

    def __init__(self) -> None:
        self._task: tuple[NumberedWork, Any] | None = None

    def begin(self, errand: Errand) -> dict[str, Any]:
        """Open the errand; empty, or what went wrong."""
        try:
            self._task = errand.opened()
        except Exception as error:
            return told_of(error)
        return {}

    def do(self, item: int) -> dict[str, Any]:
        """Do one item; its counts, or what went wrong."""
        try:
            if self._task is None:
                raise RuntimeError
            work, shared = self._task
            return plain_counts(work(shared, item))
        except Exception as error:
            return told_of(error)


def plain_counts(found: object) -> dict[str, Any]:
    """The counts, if they are nothing else.

    >>> plain_counts({"documents": 3})
    {'documents': 3}
    """
    if not isinstance(found, dict) or not all(
        type(name) is str and _NAME.fullmatch(name) and type(count) is int
        for name, count in found.items()
    ):
        raise InvalidArgument("work that is done elsewhere returns counts, and nothing else")
    return dict(found)


def told_of(error: Exception) -> dict[str, Any]:
    """What may be sent of an error: our messages quote no text, others' might."""
    told = blame(error) or error
    if isinstance(told, SfumatoError):
        return {ERROR: type(told).__name__, MESSAGE: str(told)}
    if isinstance(told, OSError) and told.strerror:
        return {ERROR: "StorageFailed", MESSAGE: f"a worker failed: {told.strerror}"}
    last = traceback.extract_tb(told.__traceback__)[-1:]
    place = "".join(f" ({Path(one.filename).name}, line {one.lineno})" for one in last)
    return {ERROR: "", MESSAGE: f"{type(told).__name__} in a worker{place}"}


def counts_in(found: dict[str, Any]) -> Counts:
    """The counts that came back; an error is raised here as what it was."""
    if ERROR not in found or MESSAGE not in found:
        return found
    kind = getattr(errors, found[ERROR], None) if found[ERROR] else None
    if isinstance(kind, type) and issubclass(kind, SfumatoError):
        while "__init__" in vars(kind):  # it is made of more than a message
            kind = kind.__mro__[1]
        raise kind(found[MESSAGE])
    raise RuntimeError(found[MESSAGE])


def _refuse_script(task: bytes) -> None:
    """A class of the running script is nowhere else; better said here than by every worker."""
    if b"__main__" in task or b"__mp_main__" in task:
        raise InvalidArgument(
            "a class that stands in the running script, or was typed, cannot be sent to other "
            "machines; put it into a file and name it: 'file.py:Class'"
        )
