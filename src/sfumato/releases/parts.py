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

    A part that is damaged, or missing though it was noted as finished, is refused and not computed
    anew. Each part is a draw of noise. Whoever saw the first (what is left of it, or a copy) and
    then the second has two releases of the same text, and a guarantee that speaks of one would be
    false. To start again is a decision that belongs to whoever knows who saw the parts.

Several writers
    Parts are noted in ``drawn`` by the one process that holds the folder. Where others finish parts
    (``apart``), two may have drawn the same one: an engine took the first for dead, and it was not.
    The first one that is written stands (``finish_first``), whatever the order of events; the other
    draw is deleted, and nobody has seen it. A part that is there is never drawn again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sfumato.core.errors import CannotResume, OutputExists, StorageFailed
from sfumato.core.files import write_first, write_whole
from sfumato.core.json import read_object
from sfumato.core.keys import fresh_salt, salted_digest
from sfumato.releases.tally import Tally

_OURS = re.compile(
    r"(\d{8}\.(part|json|vault)|\d{8}\.[0-9a-f]{16}\.json|run\.json|vault|whole|drawn|errand|lines)"
    r"(\.[0-9a-f]{16})?(\.unfinished)?"
)
_WIDTH = 17  # bytes of a line in ``lines``


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
            self._note_all()
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
        if noted[1] != _fingerprint(self.code, content, tally):
            raise _damaged(part, "it, or its counts, were changed")
        return tally

    def finish(self, index: int, content: bytes, tally: Tally) -> None:
        """Write a part and note it; one that somebody else wrote meanwhile is never replaced."""
        if not self.finish_first(index, content, tally, self.code):
            raise _damaged(self._part(index), "somebody else wrote it at the same time")
        self.note(index)

    def finish_first(self, index: int, content: bytes, tally: Tally, run: str) -> bool:
        """Write a part unless there is one, where several may try; whether this one stands.

        Its counts are written first, so that a part that is there has them. They lie beside it
        under a name of their own, until it is clear whose part it is. A part of another ``run``
        than the one that holds the folder is refused by whoever reads it.
        """
        counts = self.folder / f"{index:08d}.{secrets.token_hex(8)}.json"
        write_whole(counts, _spelled(run, content, tally), private=True)
        stands = write_first(self._part(index), content, private=True)
        # A file system that lost its answer and asked again finds our own link.
        if stands or self._part(index).read_bytes() == content:
            with contextlib.suppress(FileNotFoundError):  # ``collect`` was quicker
                counts.replace(self._counts(index))
            return True
        counts.unlink(missing_ok=True)
        return False

    def collect(self, index: int) -> Tally | None:
        """As ``finished``, after others wrote: the counts of the part that stands are found.

        Only for who holds the folder. What is left of a draw that came too late is deleted.
        """
        part = self._part(index)
        if part.exists():
            for beside in self.folder.glob(f"{index:08d}.*.json"):
                if _belong_together(self.code, part, beside):
                    beside.replace(self._counts(index))
                else:
                    beside.unlink(missing_ok=True)
        return self.finished(index)

    def note(self, index: int) -> None:
        """Note that a part is there, so that it is missed if it vanishes."""
        with (self.folder / "drawn").open("a", encoding="ascii") as stream:
            stream.write(f"{index:08d}\n")

    def erase_drafts(self, index: int | None = None) -> None:
        """Delete what nobody has finished: draws of workers that died while they wrote.

        A worker that was only believed to be dead cannot finish such a draw any more.
        """
        which = "*" if index is None else f"{index:08d}"
        for path in self.folder.glob(f"{which}.part.*.unfinished"):
            path.unlink(missing_ok=True)

    def tell_lines(self, lines: int | None) -> None:
        """Tell after how many lines the next chunk begins, to be found by its number.

        That tells no more than how many documents each part has, which stands beside it.
        """
        with (self.folder / "lines").open("ab") as stream:
            stream.write(b"%*s\n" % (_WIDTH - 1, b"" if lines is None else b"%d" % lines))

    def forget_lines(self) -> None:
        """Begin to tell anew."""
        write_whole(self.folder / "lines", b"", private=True)

    def lines_before(self, index: int) -> int | None:
        """After how many lines a chunk begins, if that was told."""
        try:
            with (self.folder / "lines").open("rb") as stream:
                stream.seek(index * _WIDTH)
                found = stream.read(_WIDTH)
            return int(found) if len(found) == _WIDTH else None
        except (OSError, ValueError):
            return None  # then the chunk is found by reading along

    def is_there(self, index: int) -> bool:
        """Whether a part is finished, by whomever."""
        return self._part(index).exists()

    def refuse_unlinked(self) -> None:
        """Refuse a file system on which two could both be the first to finish a part."""
        one, other = self.folder / "drawn.unfinished", self.folder / "errand.unfinished"
        try:
            one.touch()
            other.unlink(missing_ok=True)
            os.link(one, other)
        except OSError:
            raise StorageFailed(
                f"the file system of {self.folder} has no hard links, so that two workers could "
                "both finish a part; take another one, or the engine of this machine"
            ) from None
        finally:
            one.unlink(missing_ok=True)
            other.unlink(missing_ok=True)

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
        there = {path.name for path in self.folder.glob("*.part")}
        for index in self._noted(len(there)):
            if self._part(index).name not in there:
                raise _damaged(self._part(index), "it is missing, and it was there once")

    def _note_all(self) -> None:
        """Begin the notes with what is there: some may have been finished by nobody who notes."""
        there = "".join(f"{path.stem}\n" for path in sorted(self.folder.glob("*.part")))
        write_whole(self.folder / "drawn", there.encode(), private=True)

    def _noted(self, count: int) -> Iterable[int]:
        try:
            noted = (self.folder / "drawn").read_text(encoding="ascii").split("\n")
            return [int(one) for one in noted[:-1] if one]  # the last line may be cut off
        except (OSError, ValueError):
            return range(count)  # without the notes it is as if they were finished in order

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


def _spelled(run: str, content: bytes, tally: Tally) -> bytes:
    """What is kept beside a part."""
    kept = {
        "counts": tally.as_dict(),
        "length": len(content),
        "digest": _fingerprint(run, content, tally),
    }
    return json.dumps(kept).encode()


def _belong_together(run: str, part: Path, counts: Path) -> bool:
    try:
        kept = json.loads(counts.read_bytes())
        tally = Tally.from_dict(kept["counts"])
        return bool(kept["digest"] == _fingerprint(run, part.read_bytes(), tally))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _fingerprint(run: str, content: bytes, tally: Tally) -> str:
    """With the code of the run: a worker that outlived its run must not write into the next."""
    digest = hashlib.sha256(f"{run}\n{json.dumps(tally.as_dict())}\n".encode())
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
