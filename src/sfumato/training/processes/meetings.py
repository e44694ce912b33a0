"""Where processes that train together agree: to go on, to save, to stop, or to fail.

Guarantee
    No process uses a sum, saves it or charges for it unless all have come to the same place of the
    same step without an error. What fails in one fails in all, and is said once. A step that ends
    because of its records (``ENDED_BY_RECORDS``) ends as such everywhere, so that the leader
    charges for it whoever had the record.

Why it holds
    Before any sum, every process tells all others how it fares and where it is. One that has failed
    comes to the next meeting with its error (``failing_together``); one that has skipped a step, or
    is ahead of the others, comes to another place, and is found out. One that has ended, or was
    killed, does not come at all, and its connection breaks: the others get an error and no sum.

Care
    Only the kind of an error goes to the others, never its message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from sfumato.core.errors import ENDED_BY_RECORDS, ProcessesDisagree, ProcessLost, SfumatoError
from sfumato.training.processes.team import Team, leads

if TYPE_CHECKING:
    from sfumato.training.checkpoints import Saving

T = TypeVar("T")

# Where processes meet, as a number that is sent.
STARTED, SUMMED, STEPPED, LED, COUNTED, PAUSED = range(1, 7)
# How a process fares: well, or by which error it has failed; further numbers are those that the
# records of a step may end it with.
_WELL, _FAILED, _ENDED = range(3)
# Every meeting sends as many numbers, so that one can stand for another.
_NUMBERS = 6


def meet(
    team: Team, place: int, numbers: Sequence[float] = (), *, step: int = 0
) -> list[tuple[float, ...]]:
    """Some numbers of every process, by rank, once all have come to this place of this step."""
    return _met(team, (_WELL, place, step, *numbers), None)


@contextmanager
def failing_together(team: Team) -> Iterator[None]:
    """Within this block, an error of one process is an error of all."""
    try:
        yield
    except (ProcessLost, ProcessesDisagree):
        raise
    except Exception as error:
        if team.size > 1 and not getattr(error, "met", False):
            _met(team, (_kind(error), 0, 0), error)
        raise


def led(team: Team, make: Callable[[], T], place: int = LED) -> T:
    """What the leading process makes, for all; if it fails, all fail."""
    made = make() if leads(team) else None
    meet(team, place)
    told: T = team.tell(made)  # type: ignore[assignment]  # it is the leader's
    return told


def agree_to_save(
    team: Team, now: Saving, step: int, seen: Sequence[float] = ()
) -> tuple[bool, list[float]]:
    """Whether to save after this step, and the sum over all of what each has seen in it.

    The leader's clock decides, and a signal that any of them got: then all stop after the step.
    """
    own = (now.asked or 0, now.due(step), *seen)
    rows = meet(team, STEPPED, own, step=step)
    return _agreed(now, rows), [
        sum(column) for column in zip(*(row[2:] for row in rows), strict=True)
    ]


def agree_to_pause(team: Team, now: Saving, step: int) -> bool:
    """Whether to save in the middle of public training before this step, likewise."""
    return _agreed(now, meet(team, PAUSED, (now.asked or 0, now.late()), step=step))


def _agreed(now: Saving, rows: Sequence[Sequence[float]]) -> bool:
    asked = next((int(row[0]) for row in rows if row[0]), None)
    if now.asked is None and asked is not None:
        now.ask(asked)
    return bool(rows[0][1]) or asked is not None


def _kind(error: Exception) -> int:
    found = (n for n, one in enumerate(ENDED_BY_RECORDS, start=_ENDED) if isinstance(error, one))
    return next(found, _FAILED)


def _met(team: Team, said: tuple[float, ...], error: Exception | None) -> list[tuple[float, ...]]:
    padded = (*said, *[0.0] * (3 + _NUMBERS - len(said)))
    rows = team.gather(padded)
    failed = [rank for rank, row in enumerate(rows) if row[0] != _WELL]
    if failed:
        raise _told(team, failed[0], int(rows[failed[0]][0]), error)
    if len({row[1:3] for row in rows}) > 1:
        raise ProcessesDisagree(
            "the processes of this training are not at the same step: one has taken, or left out, "
            "a step that the others have not. Nothing of this step was used"
        )
    return [row[3 : len(said)] for row in rows]


def _told(team: Team, speaker: int, kind: int, error: Exception | None) -> Exception:
    """What this process raises if some have failed; the first of those says why."""
    if error is None or (team.rank != speaker and not isinstance(error, SfumatoError)):
        error = _HEARD.get(kind, ProcessLost)(
            "another process of this training has failed, and says why; nothing of this step was "
            "used"
        )
    if isinstance(error, SfumatoError):
        error.said_elsewhere = team.rank != speaker
    error.met = True  # type: ignore[attr-defined]  # others than ours have no such attribute yet
    return error


_HEARD: dict[int, type[SfumatoError]] = dict(enumerate(ENDED_BY_RECORDS, start=_ENDED))
