"""Finished parts of a job, so that a killed run can go on and no half file is ever seen.

Beside the output stands a folder ``OUT.parts``: one file per finished chunk (privatized text only)
and its counts; with a vault also what its pseudonyms stand for, under seal. A part is written under
another name and then renamed, so what is there is whole. When all parts are there they are put
together in the same folder, that is noted, and the result is renamed to its place; whoever is
killed while tidying up has the same output after resuming.

Which run may go on
    To tell whether a run may be resumed the folder remembers the input's number on its disk and its
    time of change: neither follows from the text. Its size is not there, nor any digest of it or of
    the text, for whoever finds the folder could undo such a digest by trying. How many documents
    and words a part came of is there anyway, and is compared with the input.

Damaged parts
    With the counts stand the length and a digest of the part. They tell nothing, whatever the
    mechanism: they follow from what lies beside them, which is what will be released. They find
    accidents; whoever can write to the folder can write a digest, too.

    A part that is damaged, or missing though a later one is there, is refused and not computed
    anew. Each part is a draw of noise. Whoever saw the first (what is left of it, or a copy) and
    then the second has two releases of the same text, and a guarantee that speaks of one would be
    false. To start again is a decision that belongs to whoever knows who saw the parts.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sfumato.core.errors import CannotResume, OutputExists
from sfumato.core.files import write_whole
from sfumato.core.json import read_object
from sfumato.core.keys import fresh_salt, salted_digest
from sfumato.releases.tally import Tally

_OURS = re.compile(r"(\d{8}\.(part|json|vault)|run\.json|vault|whole)(\.unfinished)?")


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
            self._refuse_gaps()
            yield self

    def finished(self, index: int) -> Tally | None:
        """The counts of a part if it is finished; a damaged one is refused."""
        part = self._part(index)
        if not part.exists():
            return None
        try:
            kept = read_object(self._counts(index), "the counts of a part")
            tally = Tally.from_dict(kept["counts"])
            noted = kept["length"], kept["digest"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise _damaged(part, "its counts are missing or cannot be read") from None
        content = part.read_bytes()
        if noted[0] != len(content):
            raise _damaged(part, f"it has {len(content)} bytes and had {noted[0]}")
        if noted[1] != _fingerprint(content, tally):
            raise _damaged(part, "it, or its counts, were changed")
        return tally

    def finish(self, index: int, content: bytes, tally: Tally) -> None:
        """Write a part; its counts first, so that a part that is there has them."""
        kept = {
            "counts": tally.as_dict(),
            "length": len(content),
            "digest": _fingerprint(content, tally),
        }
        write_whole(self._counts(index), json.dumps(kept).encode(), private=True)
        write_whole(self._part(index), content, private=True)

    def whole(self, count: int) -> Iterator[Path]:
        """All parts in order, each looked at once more just before it is used."""
        if self.count() > count:
            raise _damaged(self._part(count), "the input has no such part")
        for index in range(count):
            if self.finished(index) is None:
                raise _damaged(self._part(index), "it has vanished")
            yield self._part(index)

    @property
    def together(self) -> Path:
        """Where the parts are put together, before the result goes to its place."""
        return self.folder / "whole"

    def complete(self) -> None:
        """Note that all of it is put together: from here on nothing may be drawn anew."""
        record = self.folder / "run.json"
        kept = read_object(record, "the record of a run") | {"complete": True}
        write_whole(record, json.dumps(kept).encode(), private=True)

    @property
    def completed(self) -> bool:
        """Whether only the last step is missing: putting the result in its place."""
        kept = read_object(self.folder / "run.json", "the record of a run")
        return kept.get("complete") is True

    @property
    def code(self) -> str:
        """A code that was drawn when the run began, and that a resumed run has in common."""
        return str(read_object(self.folder / "run.json", "the record of a run")["salt"])

    def count(self) -> int:
        """How many parts are finished."""
        return len(list(self.folder.glob("*.part")))

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

    def _refuse_gaps(self) -> None:
        # Parts are finished one after the other, so one that is missing was there once.
        there = {path.name for path in self.folder.glob("*.part")}
        for index in range(len(there)):
            if self._part(index).name not in there:
                raise _damaged(self._part(index), "it is missing, and a later one is there")

    def _part(self, index: int) -> Path:
        return self.folder / f"{index:08d}.part"

    def _counts(self, index: int) -> Path:
        return self.folder / f"{index:08d}.json"

    def _compare(self, claims: dict[str, Any], private: dict[str, str]) -> None:
        record = self.folder / "run.json"
        if not record.exists():
            salt = fresh_salt()
            digests = {name: salted_digest(value, salt) for name, value in private.items()}
            kept = {"claims": claims, "salt": salt, "digests": digests}
            write_whole(record, json.dumps(kept).encode(), private=True)
            return
        try:
            begun = read_object(record, "the record of a run")
            changed = [name for name in claims if begun["claims"].get(name) != claims[name]]
            for name, value in private.items():
                if begun["digests"].get(name) != salted_digest(value, begun["salt"]):
                    changed.append(name)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise _damaged(record, "it cannot be read") from None
        if changed:
            raise CannotResume(
                f"cannot resume: {', '.join(dict.fromkeys(changed))} changed since the run began; "
                "`overwrite=True` starts again"
            )


def _damaged(path: Path, how: str) -> CannotResume:
    return CannotResume(
        f"{path} is damaged: {how}; bring back the file as it was, or start again with "
        "`overwrite=True` (with new noise: if anybody has seen the old parts, that is a second "
        "release)"
    )


def _fingerprint(content: bytes, tally: Tally) -> str:
    digest = hashlib.sha256(json.dumps(tally.as_dict()).encode() + b"\n")
    digest.update(content)
    return digest.hexdigest()


def _lock_file(path: Path) -> IO[str]:
    # Never through a link, and never emptying what is there.
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+")


def _hold(lock: IO[str], folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CannotResume(f"another run is writing to {folder}") from None
