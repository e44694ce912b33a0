"""The state of an unfinished search: the coins it was begun with, and the best trial so far.

::

    RUN.search/        beside the folder of the run, for its owner alone; removed at the end
      state.json       number of trials, their settings, how many are done, the best score
      trial/           the run that is under way
      best/            the best run so far
      budget.json      under which code an account pays for the search, if one does
      lock             held by the process that works on it

Guarantee
    The number of trials and the settings of each are drawn once. Whatever happens to the process
    afterwards, a search that is resumed makes the same trials, and none of them a second time. A
    place where a search was begun cannot be used for another one.

Why it holds
    The file is created under a name that only one process can create, and synced to disk with its
    folder before the first trial begins. A score is written before anything depends on it, so none
    is drawn a second time. A search without this file, beside a folder that shows that there was
    one, is refused.

Care
    The file tells the number of trials and a score, which the guarantee of the search does not
    cover; so it can be read by its owner alone, and is deleted when the search ends. Deleted is not
    erased: whoever reads the disk itself, or a backup, may find it.
    It is a record for honest people: whoever deletes the folder and begins again makes a second
    search, and both levels add up.
"""

from __future__ import annotations

import fcntl
import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.core.errors import CannotResume, OutputExists, StorageFailed
from sfumato.core.files import sync_folder, write_first, write_whole
from sfumato.core.json import read_number, read_object, write_number
from sfumato.training.search.scoring import Scored

SCHEMA = 1
SUFFIX = ".search"


@dataclass(frozen=True)
class SearchFolder:
    """The folder of an unfinished search."""

    path: Path

    @classmethod
    def beside(cls, run: Path) -> SearchFolder:
        """That of the run that is to stand at ``run``."""
        return cls(run.with_name(run.name + SUFFIX))

    @property
    def state(self) -> Path:
        """Coins and the best score so far."""
        return self.path / "state.json"

    @property
    def trial(self) -> Path:
        """The run that is under way."""
        return self.path / "trial"

    @property
    def best(self) -> Path:
        """The best run so far."""
        return self.path / "best"

    @property
    def budget(self) -> Path:
        """Under which code an account pays for the search."""
        return self.path / "budget.json"

    @property
    def lock(self) -> Path:
        """Held by the process that works on it."""
        return self.path / "lock"

    def make(self) -> None:
        """Create it for its owner alone."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within this block no other process works on the search."""
        with self.lock.open("ab") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise CannotResume(f"{self.path} is in use by another process") from None
            yield

    def refuse(self, run: Path, *, resume: bool) -> None:
        """Refuse a place where a search or a run stands already, before anything is read."""
        if self.path.exists() and not resume:
            raise OutputExists(
                f"{self.path} holds a search that was begun; `resume=True` goes on with it, and "
                "another search needs another folder: their levels add up"
            )
        if run.exists() and not resume:
            raise OutputExists(f"{run} exists already; choose another folder")

    def remove(self) -> None:
        """Delete everything in it; the state last, so that a kill leaves a search that goes on."""
        if not self.path.exists():
            return
        for one in (self.trial, self.best):
            shutil.rmtree(one, ignore_errors=True)
        shutil.rmtree(self.path, ignore_errors=True)
        sync_folder(self.path.absolute().parent)


@dataclass(frozen=True)
class SearchState:
    """``drawn`` are the settings of every trial; ``split`` decides what is held out.

    ``scored`` is the score of the trial after those that are ``done``, if it is known, and ``best``
    that of the best of those. A search that has ``ended`` without a model keeps nothing but that.
    """

    settings: Mapping[str, Any]
    drawn: tuple[Mapping[str, Any], ...]
    split: int
    done: int = 0
    scored: Scored | None = None
    best: Scored | None = None
    chosen: int | None = None
    ended: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema": SCHEMA,
            "settings": dict(self.settings),
            "drawn": [dict(one) for one in self.drawn],
            "split": self.split,
            "done": self.done,
            "scored": _written(self.scored),
            "best": _written(self.best),
            "chosen": self.chosen,
            "ended": self.ended,
        }

    def save(self, folder: SearchFolder) -> SearchState:
        """Write it durably."""
        try:
            write_whole(folder.state, _spell(self), private=True)
            sync_folder(folder.path)
        except OSError as error:
            raise StorageFailed(
                f"cannot write {folder.state}: {error.strerror or 'writing failed'}"
            ) from None
        return self

    @classmethod
    def opened(
        cls,
        folder: SearchFolder,
        settings: Mapping[str, Any],
        draw: Callable[[], tuple[tuple[Mapping[str, Any], ...], int]],
    ) -> SearchState:
        """The state of a search that was begun with the same settings, or of a new one.

        ``draw`` gives the settings of all trials, and the number that decides what is held out.
        """
        if not folder.state.exists():
            if folder.trial.exists() or folder.best.exists():
                raise CannotResume(
                    f"{folder.state} is gone, so nobody knows which trials were made; a second "
                    "search is not paid for. Put it back, or choose another folder, and count both"
                )
            _create(folder, cls(settings, *draw()))
        found = cls._read(folder)
        asked = json.loads(json.dumps(settings))
        different = sorted(
            key
            for key in found.settings.keys() | asked.keys()
            if found.settings.get(key) != asked.get(key)
        )
        if different:
            raise CannotResume(
                f"{folder.path} holds a search with another {', '.join(different)}; resume with "
                "the same settings, or choose another folder, and count both searches"
            )
        return found

    @classmethod
    def _read(cls, folder: SearchFolder) -> SearchState:
        content = read_object(folder.state, "the state of a search")
        try:
            if content["schema"] != SCHEMA:
                raise CannotResume(f"another version of sfumato wrote {folder.state}")
            return cls(
                settings=dict(content["settings"]),
                drawn=tuple(dict(one) for one in content["drawn"]),
                split=int(content["split"]),
                done=int(content["done"]),
                scored=_read_score(content["scored"]),
                best=_read_score(content["best"]),
                chosen=None if content["chosen"] is None else int(content["chosen"]),
                ended=bool(content["ended"]),
            )
        except (KeyError, TypeError, ValueError):
            raise CannotResume(
                f"{folder.state} is damaged; put a whole copy of it in its place, or choose "
                "another folder, and count both searches"
            ) from None

    def with_score(self, scored: Scored) -> SearchState:
        """With the score of the trial that was made last."""
        return replace(self, scored=scored)

    @property
    def better(self) -> bool:
        """Whether the trial that was made last is better than all before; the first of equals is.

        Trials are drawn alike, so to prefer the first is to break ties by a coin.
        """
        if self.scored is None or self.scored.value == -math.inf:
            return False
        return self.best is None or self.scored.value > self.best.value

    def settled(self) -> SearchState:
        """The trial that was made last is done; its score is kept only if it is the best."""
        if not self.better:
            return replace(self, done=self.done + 1, scored=None)
        return replace(self, done=self.done + 1, scored=None, best=self.scored, chosen=self.done)

    def over(self) -> SearchState:
        """What is kept of a search that ended without a model: that it was made."""
        return SearchState(self.settings, (), self.split, ended=True)


def _create(folder: SearchFolder, state: SearchState) -> None:
    try:
        folder.make()
        first = write_first(folder.state, _spell(state), private=True)
        sync_folder(folder.path)
        sync_folder(folder.path.absolute().parent)
    except OSError as error:
        raise StorageFailed(
            f"cannot write {folder.state}: {error.strerror or 'writing failed'}"
        ) from None
    if not first:
        raise CannotResume(f"another process has begun a search in {folder.path}")


def _spell(state: SearchState) -> bytes:
    return (json.dumps(state.as_dict(), ensure_ascii=False) + "\n").encode()


def _written(scored: Scored | None) -> dict[str, Any] | None:
    if scored is None:
        return None
    return {"value": write_number(scored.value), "rows": [dict(one) for one in scored.rows]}


def _read_score(written: Any) -> Scored | None:
    if written is None:
        return None
    value = read_number(written["value"])
    if value is None:
        raise ValueError("a score must be a number")
    return Scored(value, tuple(dict(one) for one in written["rows"]))
