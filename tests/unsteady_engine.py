"""An engine in this process that fails as engines fail: it loses, repeats, kills and doubles.

Everything that goes to a worker or comes back is pickled, as it would be on its way, and kept.
"""

from __future__ import annotations

import pickle
import secrets
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.files import write_first, write_whole
from sfumato.engines.engine import Counts, NumberedWork
from sfumato.engines.errand import Doer, Errand, counts_in
from sfumato.releases import apart, parts
from sfumato.releases.parts import Parts
from sfumato.releases.tally import Tally

# What happens to a worker with its item.
BEFORE, DRAWN, WRITING, LINKED, LOST, DOUBLED = (
    "dies before it draws",
    "dies after it drew",
    "dies while it writes",
    "dies between its part and its counts",
    "finishes, and its answer is lost",
    "is taken for dead, and finishes after another",
)
EVENTS = (BEFORE, DRAWN, WRITING, LINKED, LOST, DOUBLED)
END = -1
# Draws that die with their worker, or are deleted by it: nobody can have seen them.
UNSEEN = (DRAWN, WRITING, DOUBLED)


class Killed(BaseException):
    """A worker is gone: nothing of it is caught."""


@dataclass
class Unsteady:
    """Each item suffers its events, one at each attempt, and is then done.

    ``backwards`` gives the items out from the last to the first, as far as they are known.
    """

    events: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    workers: int = 2
    backwards: bool = False
    sent: list[bytes] = field(default_factory=list)
    _now: str | None = None
    _suffered: Counter[int] = field(default_factory=Counter)

    def each(
        self, work: NumberedWork, shared: Any, items: Iterable[int | None], place: Path | None
    ) -> Generator[tuple[int, Counts]]:
        given = iter(items)
        waiting: deque[int] = deque()
        if self.backwards:
            waiting.extend(reversed([item for item in given if item is not None]))
        with Errand.sealed(work, shared, place or Path("errand")) as errand, _dying_in_parts(self):
            worker = self._hired(errand)
            while True:
                following = waiting.popleft() if waiting else next(given, END)
                if following == END:
                    return
                assert following is not None  # nothing is under way that it could wait for
                item = following
                due = self.events.get(item, ())[self._suffered[item] :]
                self._now = due[0] if due else None
                self._suffered[item] += 1
                try:
                    if self._now == BEFORE:
                        raise Killed
                    self._other = self._hired(errand) if self._now == DOUBLED else None
                    found = self._ask(worker, item)
                    if due[:1] == (LOST,):
                        raise Killed
                except Killed:
                    waiting.append(item)
                    worker = self._hired(errand)
                else:
                    yield item, counts_in(found)

    def _hired(self, errand: Errand) -> Doer:
        worker = Doer()
        self.sent.append(pickle.dumps(errand))
        counts_in(worker.begin(pickle.loads(self.sent[-1])))
        return worker

    def _ask(self, worker: Doer, item: int) -> dict[str, Any]:
        self.sent.append(pickle.dumps(item))
        found = worker.do(item)
        self.sent.append(pickle.dumps(found))
        return found

    def finish(self, folder: Parts, index: int, content: bytes, tally: Tally, run: str) -> None:
        """What a kill leaves behind, where no ``finally`` runs."""
        now, self._now = self._now, None
        name = f"{index:08d}"
        if now == DOUBLED and self._other is not None:
            self._ask(self._other, index)
        elif now == WRITING:
            draft = folder.folder / f"{name}.part.{secrets.token_hex(8)}.unfinished"
            draft.write_bytes(content[: len(content) // 2])
        elif now == LINKED:
            counts = folder.folder / f"{name}.{secrets.token_hex(8)}.json"
            write_whole(counts, parts._spelled(run, content, tally), private=True)
            write_first(folder.folder / f"{name}.part", content, private=True)
        if now in (DRAWN, WRITING, LINKED):
            raise Killed


@contextmanager
def _dying_in_parts(engine: Unsteady) -> Iterator[None]:
    finish_first = Parts.finish_first

    def dying(self: Parts, index: int, content: bytes, tally: Tally, run: str) -> bool:
        engine.finish(self, index, content, tally, run)
        return finish_first(self, index, content, tally, run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parts, "finish_first", dying)
        yield


@contextmanager
def counted_draws() -> Iterator[list[int]]:
    """The number of each chunk that is drawn elsewhere, as often as it is."""
    drawn: list[int] = []
    draw = vars(apart)["draw_chunk"]

    def counted(shared: Any, item: Any) -> Any:
        drawn.append(item[0])
        return draw(shared, item)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apart, "draw_chunk", counted)
        yield drawn
