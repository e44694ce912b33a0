"""Going on with a run that was stopped: which one it is, and whether anything is left to do.

A run goes on only where it is known to be the same one: the same settings, input, policy and key.
What cannot be told is refused, never guessed: the rest of an output must not be made in another way
than its beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.core.errors import CannotResume, SfumatoError
from sfumato.core.json import read_object
from sfumato.files.chunks import Chunk
from sfumato.releases.authors import WITHHELD
from sfumato.releases.input import Input
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.summary import job_settings, public_code
from sfumato.releases.tally import Tally
from sfumato.text.words import Words

if TYPE_CHECKING:
    from sfumato.releases.job import Job


def refuse_resuming(privatizer: Privatizer) -> None:
    """Refuse to resume what nobody could know to be the same run."""
    if privatizer.unidentified is not None:
        raise CannotResume(
            f"{privatizer.unidentified} does not say what it is, so nobody can tell whether it is "
            "the one that the run began with; give it a method identity() (a mechanism can also be "
            "a frozen dataclass), or start again with `overwrite=True`"
        )
    if not privatizer.resumable:
        raise CannotResume(
            "the key of a run is forgotten when it ends, so the rest would have other "
            "surrogates; with `settings={'key_file': FILE}` runs can be resumed, "
            "`overwrite=True` starts again"
        )


def finished_before(job: Job, privatizer: Privatizer) -> dict[str, Any]:
    """Resuming a finished job does nothing, unless it would now be another job."""
    if job.vault is not None and not job.vault.path.exists():
        raise CannotResume(
            f"{job.target} is finished, and there is no vault {job.vault.path}; "
            "`overwrite=True` starts again"
        )
    try:
        summary = read_object(job.side, "a side file") if job.side else {}
    except SfumatoError:
        summary = {}
    code = public_code(privatizer)
    if code is None:
        raise CannotResume(
            f"{job.target} is finished, and whether with the same pattern, word list, vectors, "
            "key or seed cannot be told; `overwrite=True` starts again"
        )
    if (summary.get("settings"), summary.get("identity")) != (job_settings(job, privatizer), code):
        raise CannotResume(
            f"{job.target} is finished, but with other settings; `overwrite=True` starts again"
        )
    if not Input.of(job.source).is_marked(summary.get("input")):
        raise CannotResume(
            f"{job.target} is finished, but from another input; `overwrite=True` starts again"
        )
    return summary | {"already_finished": True}


def refuse_other_chunk(chunk: Chunk, finished: Tally) -> None:
    """A chunk of as many documents and words as its part came of is taken for the same."""
    withheld = finished.by_payment[WITHHELD]
    words = sum(len(Words.of(one.text)) for one in chunk.documents()) if finished.words else 0
    found = finished.documents + withheld, words if withheld else finished.words
    if (len(chunk.texts_per_record()), words) != found:
        raise CannotResume(
            "cannot resume: input changed since the run began; `overwrite=True` starts again"
        )
