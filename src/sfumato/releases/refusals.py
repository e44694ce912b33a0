"""What a file job refuses before anything is written: inputs, outputs and files that collide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.errors import InvalidArgument, OutputExists, StorageFailed
from sfumato.core.files import refuse_existing
from sfumato.files.apart import refuse_private_text
from sfumato.files.output import is_stream
from sfumato.mechanisms.mechanism import ReadsPublicText
from sfumato.mechanisms.selective import Selective
from sfumato.releases.parts import Parts
from sfumato.releases.payment import WITHHOLD

if TYPE_CHECKING:
    from sfumato.files.source import Source
    from sfumato.mechanisms.levels import Levels
    from sfumato.releases.job import Job


def refuse_job(job: Job) -> None:
    """Say no before anything is written."""
    target, source = job.target, job.source
    source.refuse_unused()
    if job.resume and (job.streams or source.is_stream):
        raise StorageFailed("`resume=True` needs an input file and an output file, not a pipe")
    if target.is_dir():
        raise OutputExists(f"{target} is a folder, not a file")
    if job.streams and source.format.name == "parquet":
        raise StorageFailed("Parquet cannot be written to a pipe; name an output file")
    if job.live:
        _refuse_live(job)
    _refuse_authors(job)
    if source.path is not None and not source.path.exists():
        raise StorageFailed(f"cannot read {source.path}: no such file")
    if source.path is not None and target.exists() and target.samefile(source.path):
        raise OutputExists(f"{target} is the input; write to another file")
    if job.resume and job.overwrite:
        raise InvalidArgument("`resume=True` goes on, `overwrite=True` starts again: choose one")
    _refuse_side(job)
    _refuse_vault(job)
    if job.overwrite or job.resume or job.streams:
        return
    refuse_existing(target, overwrite=False)
    if Parts.beside(target).count():  # whoever was killed before the first has left nothing
        raise OutputExists(
            f"an unfinished run for {target} was found; `resume=True` continues it, "
            "`overwrite=True` starts again"
        )


def refuse_private_support(source: Source, selective: Selective | Levels) -> None:
    """Refuse the private input, or text of it, where a mechanism needs public text.

    A pipe can be read once only: of its text nothing is compared.
    """
    mechanism: object = selective.mechanism if isinstance(selective, Selective) else None
    if source.path is None or source.is_stream or not isinstance(mechanism, ReadsPublicText):
        return
    refuse_private_text(mechanism.public_sources(), source)


def _refuse_live(job: Job) -> None:
    if not job.streams or (job.source.path is not None and job.source.path.is_file()):
        raise InvalidArgument(
            "`follow=True` goes from a pipe to a pipe; write to '-', and let another program read "
            "a file: tail -f FILE"
        )
    if job.workers > 1:
        raise InvalidArgument("`follow=True` goes line by line: leave out `workers=...`")
    if job.source.layout.whole_file:
        raise InvalidArgument("`follow=True` goes line by line: leave out `whole_file=True`")


def _refuse_authors(job: Job) -> None:
    """Every line must be able to name its author, and to be left out."""
    if job.payment is None or job.payment.author_field is None:
        return
    kind = job.source.format
    if not kind.has_fields:
        raise InvalidArgument(
            f"{kind.name} has no fields, so no line names its author; convert it to jsonl or csv, "
            "or charge all of it to one account: `account='text:ID'`"
        )
    if job.source.layout.author_field != job.payment.author_field:
        raise InvalidArgument("the field that names who pays must be read: `author_field=FIELD`")
    if job.payment.when_spent == WITHHOLD and not kind.live:
        raise InvalidArgument(
            f"rows of {kind.name} cannot be left out one by one: `when_spent='mask'` masks them"
        )


def _refuse_side(job: Job) -> None:
    """The guarantee must not take the place of anything."""
    side = job.side
    if side is None:
        return
    if is_stream(side):
        raise InvalidArgument("`guarantee=...` names a file, not a pipe")
    for other in (job.source.path, job.target, Parts.beside(job.target).folder):
        if other is not None and side.resolve() == other.resolve():
            raise OutputExists(f"{side} is the input or the output; name another file")
    for path in {side, side if job.streams else job.default_side}:
        refuse_existing(path, overwrite=job.overwrite or job.resume)


def _refuse_vault(job: Job) -> None:
    if job.vault is None:
        return
    if job.streams:
        raise InvalidArgument("`vault=...` needs an output file, not a pipe")
    beside = (job.source.path, job.target, job.side, job.default_side)
    folder = Parts.beside(job.target).folder
    job.vault.refuse((*beside, folder), overwrite=job.overwrite, resume=job.resume)
