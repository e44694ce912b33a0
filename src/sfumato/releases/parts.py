"""Finished parts of a job, so that a killed run can go on and no half file is ever seen.

Beside the output stands a folder ``OUT.parts``: one file per finished chunk (privatized text only)
and its counts. A part is written under another name and then renamed, so what is there is whole.
When all parts are there they are put together in the same folder, and the result is renamed to
its place.

To tell whether a run may be resumed the folder remembers the input's size and time of change,
never a digest of it: with a digest, whoever finds the folder could test guesses about the text.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sfumato.core.errors import CannotResume, OutputExists
from sfumato.core.files import reading, write_whole
from sfumato.releases.tally import Tally

_AFRESH = "--overwrite starts again"
_OURS = re.compile(r"(\d{8}\.(part|json)|run\.json|whole)(\.unfinished)?")


@dataclass(frozen=True)
class Parts:
    """The folder with the finished parts of one output."""

    folder: Path

    @classmethod
    def beside(cls, target: Path) -> Parts:
        """The folder for an output file."""
        return cls(target.with_name(target.name + ".parts"))

    @contextlib.contextmanager
    def opened(
        self, claims: dict[str, Any], private: dict[str, str], *, afresh: bool = False
    ) -> Iterator[Parts]:
        """Hold the folder for one run; refuse if it belongs to other settings or another input.

        ``claims`` are kept as they are, ``private`` (say, a pattern) only as a slow salted digest.
        ``afresh`` forgets what an earlier run left, unless that run is still going on.
        """
        if self.folder.is_symlink():
            raise OutputExists(f"{self.folder} is a link; move it away")
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._refuse_foreign()
        with _lock_file(self.folder / "lock") as lock:
            _hold(lock, self.folder)
            if afresh:
                self._forget()
            self._compare(claims, private)
            yield self

    def finished(self, index: int) -> Tally | None:
        """The counts of a part if it is finished."""
        if not (self._part(index).exists() and self._counts(index).exists()):
            return None
        with reading(self._counts(index), f"the counts of a part; {_AFRESH}"):
            return Tally.from_dict(json.loads(self._counts(index).read_bytes()))

    def finish(self, index: int, content: bytes, tally: Tally) -> None:
        """Write a part; its counts first, so that a part that is there has them."""
        write_whole(self._counts(index), json.dumps(tally.as_dict()).encode(), private=True)
        write_whole(self._part(index), content, private=True)

    def paths(self) -> list[Path]:
        """The finished parts in order."""
        return sorted(self.folder.glob("*.part"))

    def count(self) -> int:
        """How many parts are finished."""
        return len(self.paths())

    def remove(self) -> None:
        """Delete the folder and what we put there, nothing else."""
        self._forget()
        with contextlib.suppress(OSError):
            (self.folder / "lock").unlink(missing_ok=True)
            self.folder.rmdir()

    def _refuse_foreign(self) -> None:
        entries = [path for path in self.folder.iterdir() if path.name != "lock"]
        odd = any(path.is_symlink() or not _OURS.fullmatch(path.name) for path in entries)
        kept = [path for path in entries if path.suffix != ".unfinished"]
        if odd or (kept and not (self.folder / "run.json").exists()):
            raise OutputExists(f"{self.folder} holds files that are not ours; move them away")

    def _forget(self) -> None:
        # The record last: parts that no record vouches for must never be taken for ours.
        for path in sorted(self.folder.iterdir(), key=lambda path: path.name == "run.json"):
            if _OURS.fullmatch(path.name):
                path.unlink()

    def _part(self, index: int) -> Path:
        return self.folder / f"{index:08d}.part"

    def _counts(self, index: int) -> Path:
        return self.folder / f"{index:08d}.json"

    def _compare(self, claims: dict[str, Any], private: dict[str, str]) -> None:
        record = self.folder / "run.json"
        if not record.exists():
            salt = secrets.token_hex(16)
            digests = {name: _digest(value, salt) for name, value in private.items()}
            kept = {"claims": claims, "salt": salt, "digests": digests}
            write_whole(record, json.dumps(kept).encode(), private=True)
            return
        with reading(record, f"the record of a run; {_AFRESH}"):
            kept = json.loads(record.read_bytes())
            changed = [name for name in claims if kept["claims"].get(name) != claims[name]]
            for name, value in private.items():
                if kept["digests"].get(name) != _digest(value, kept["salt"]):
                    changed.append(name)
        if changed:
            raise CannotResume(
                f"cannot resume: {', '.join(dict.fromkeys(changed))} changed since the run began; "
                "--overwrite starts again"
            )


def _digest(private: str, salt: str) -> str:
    # Slow on purpose: a pattern or word list is short enough to be guessed.
    return hashlib.scrypt(private.encode(), salt=bytes.fromhex(salt), n=2**14, r=8, p=1).hex()


def _lock_file(path: Path) -> IO[str]:
    # Never through a link, and never emptying what is there.
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+")


def _hold(lock: IO[str], folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CannotResume(f"another run is writing to {folder}") from None
