"""The file job: read, privatize in chunks, write beside, rename.

Memory does not grow with the corpus; an interrupted run goes on from its finished parts; bad
input never leaves a partial output.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.accounting.budget.payment import Hold, content_digest
from sfumato.core.checks import MOST_WORKERS, at_least
from sfumato.core.errors import (
    BadInput,
    InputChanged,
    SfumatoError,
    StorageFailed,
)
from sfumato.core.files import write_whole
from sfumato.core.json import read_json
from sfumato.core.progress import progress
from sfumato.engines.engine import Engine
from sfumato.engines.local import in_order
from sfumato.files.chunks import Chunk
from sfumato.files.output import is_stdout, is_stream, open_stream, open_to_write
from sfumato.files.source import LineNumber, Source
from sfumato.releases.apart import finish_apart, refuse_apart
from sfumato.releases.authors import Till, till_for
from sfumato.releases.drawn import Drawn, Part, draw_chunk, finish_chunk
from sfumato.releases.input import Input
from sfumato.releases.parts import Parts
from sfumato.releases.payment import Payment
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.refusals import refuse_job, refuse_private_support
from sfumato.releases.resuming import finished_before, refuse_other_chunk, refuse_resuming
from sfumato.releases.sidefile import spell_side_file
from sfumato.releases.summary import job_settings, shares_of, summarize
from sfumato.releases.tally import Tally
from sfumato.releases.trial import try_out
from sfumato.releases.vault import SealedParts, Vault, refuse_irreversible
from sfumato.releases.workers import Shared


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to read, where to write, and how.

    With an ``engine`` other processes read the input and write the parts; without one, ``workers``
    of this machine are handed chunks.
    """

    source: Source
    target: Path
    guarantee: Path | None = None
    workers: int = 1
    resume: bool = False
    overwrite: bool = False
    vault: Vault | None = None
    payment: Payment | None = None
    engine: Engine | None = None

    def __post_init__(self) -> None:
        at_least("workers", self.workers, 1, MOST_WORKERS)
        if self.target.is_symlink() and not is_stream(self.target):
            # What a link points to is replaced, not the link.
            object.__setattr__(self, "target", _behind(self.target))

    @property
    def streams(self) -> bool:
        """Whether the output is a pipe or a device, which cannot be renamed into place."""
        return is_stream(self.target)

    @property
    def live(self) -> bool:
        """Whether each line goes on as it arrives."""
        return self.source.layout.live

    @property
    def side(self) -> Path | None:
        """Where the guarantee goes."""
        return self.guarantee if self.guarantee is not None or self.streams else self.default_side

    @property
    def default_side(self) -> Path:
        """Where the guarantee goes unless told otherwise."""
        return self.target.with_name(self.target.name + ".guarantee.json")


@dataclass(frozen=True)
class _Work:
    """A job, who does it, and where authors pay."""

    job: Job
    privatizer: Privatizer
    till: Till | None


def run_job(job: Job, privatizer: Privatizer) -> dict[str, Any]:
    """Do the job and return what the side file says."""
    privatizer.check()  # what is wrong with the settings is said before anything is touched
    if job.vault is not None:
        refuse_irreversible(privatizer)
    try:
        refuse_job(job)
        refuse_apart(job, privatizer)
        if job.resume:
            refuse_resuming(privatizer)
        job = replace(job, source=job.source.settled())
        refuse_private_support(job.source, privatizer.selective)
        if job.resume and job.target.exists() and not Parts.beside(job.target).folder.exists():
            return finished_before(job, privatizer)
        if job.live:
            return _follow(job, privatizer)
        return _stream(job, privatizer) if job.streams else _in_parts(job, privatizer)
    except SfumatoError:
        raise
    except OSError as error:
        if isinstance(error, BrokenPipeError) and is_stdout(job.target):
            raise
        raise StorageFailed(_reason(error, job)) from None


def _hold(job: Job, privatizer: Privatizer, run: str | None = None) -> Hold | None:
    """Whoever pays for a run pays before anything is drawn."""
    if job.payment is None:
        return None
    try_out(Shared.of(privatizer))  # what fails at the first text must not be paid for
    if job.payment.author_field is not None:
        return None
    work: dict[str, Any] = {"settings": job_settings(job, privatizer)}
    if run is not None and job.source.path is not None:
        work |= {"input": content_digest(job.source.path), "output": str(job.target.resolve())}
    return job.payment.hold(privatizer, job.source, work, run)


def _till(
    job: Job, privatizer: Privatizer, run: str | None = None
) -> AbstractContextManager[Till | None]:
    """Where authors pay for their lines, if it is they who pay."""
    work: dict[str, Any] = {"settings": job_settings(job, privatizer)}
    if run is not None:
        work |= {"output": str(job.target.resolve())}
    return till_for(job.payment, privatizer, job.source.layout, work, run)


def _settle(held: Hold | None) -> None:
    if held is not None:
        held.settle()


def _stream(job: Job, privatizer: Privatizer) -> dict[str, Any]:
    tally, input_ = Tally(), Input.of(job.source)
    held = _hold(job, privatizer)
    with (
        _till(job, privatizer) as till,
        open_stream(job.target) as output,
        input_.opened() as (chunks, place),
        closing(_privatize(job, privatizer, enumerate(chunks), place, till)) as finished,
    ):
        for part in finished:
            output.write(part.content)
            tally.add(part.tally)
    _settle(held)
    summary = summarize(job, privatizer, tally, input_, till)
    _write_side(job, summary)
    return summary | shares_of(tally)


def _follow(job: Job, privatizer: Privatizer) -> dict[str, Any]:
    """Each line as it arrives, until there is no more or somebody ends it; then what was done.

    Each line has a stream of noise of its own, as every chunk has.
    """
    tally, input_, shared = Tally(), Input.of(job.source), Shared.of(privatizer)
    try_out(shared)
    held = _hold(job, privatizer)
    with (
        _till(job, privatizer) as till,
        suppress(KeyboardInterrupt),  # that is how it ends: whoever writes may never stop
        open_stream(job.target) as output,
        input_.opened() as (chunks, _),
    ):
        for item in enumerate(chunks):
            drawn = draw_chunk(shared, item)
            part = finish_chunk(shared, drawn if till is None else till.pay(drawn))
            # Counted before it is written: of a line that was cut off nothing may be missing.
            tally.add(part.tally)
            output.write(part.content)
            output.flush()
    _settle(held)
    summary = summarize(job, privatizer, tally, input_, till)
    _write_side(job, summary)
    return summary | shares_of(tally)


def _in_parts(job: Job, privatizer: Privatizer) -> dict[str, Any]:
    parts, input_ = Parts.beside(job.target), Input.of(job.source)
    claims = job_settings(job, privatizer) | {"input": input_.kept, "version": version("sfumato")}
    claims["vault"] = job.vault is not None
    # Whoever goes on without paying, or by another rule, is not going on with the same run.
    claims["payment"] = None if job.payment is None else job.payment.rule
    # Without an identity the parts are of no use later, and are removed when the run stops.
    identity = privatizer.identity.spelled if privatizer.identity is not None else ""
    with parts.opened(claims, {"policy or settings": identity}, afresh=not job.resume):
        if parts.completed:
            _put_in_place(job, parts)
            return (read_json(job.side) if job.side else {}) | {"already_finished": True}
        sealed = None
        try:
            held = _hold(job, privatizer, parts.code)
            if job.vault is not None:
                sealed = SealedParts.begun(job.vault, parts.folder, overwrite=job.overwrite)
            with _till(job, privatizer, parts.code) as till:
                if job.engine is None:
                    work = _Work(job, privatizer, till)
                    tally, count = _finish_parts(work, parts, input_, sealed)
                else:
                    tally, count = finish_apart(job, privatizer, parts, input_)
        except (BadInput, InputChanged):
            # The input has to be mended, and then these parts belong to another input; or it was
            # changed in between, and nobody knows which of the two they belong to.
            parts.remove()
            raise
        except BaseException:
            if parts.count() == 0 or not privatizer.resumable:
                parts.remove()
            raise
        summary = summarize(job, privatizer, tally, input_, till)
        _put_together(job, parts, count, summary, sealed)
        _settle(held)
        _put_in_place(job, parts)
    return summary | shares_of(tally)


def _finish_parts(
    work: _Work, parts: Parts, input_: Input, sealed: SealedParts | None
) -> tuple[Tally, int]:
    """Privatize every chunk whose part is not there yet; count the words and the parts."""
    tally, till = Tally(), work.till
    count = 0
    under_way: dict[int, Chunk] = {}

    def missing(chunks: Iterator[Chunk]) -> Iterator[tuple[int, Chunk]]:
        nonlocal count
        for index, chunk in enumerate(chunks):
            count = index + 1
            finished = parts.collect(index)
            if finished is None:
                if till is not None:
                    under_way[index] = chunk
                yield index, chunk
            else:
                refuse_other_chunk(chunk, finished)
                if till is not None:  # it may have been killed just before
                    till.settle(index, chunk)
                if sealed is not None:
                    sealed.kept(index)
                tally.add(finished)

    with (
        input_.opened() as (chunks, place),
        closing(_privatize(work.job, work.privatizer, missing(chunks), place, till)) as finished,
    ):
        for part in finished:
            if sealed is not None:  # first, so that no pseudonym is there without it
                sealed.keep(part.index, part.behind or b"")
            parts.finish(part.index, part.content, part.tally)
            if till is not None:
                till.settle(part.index, under_way.pop(part.index))
            tally.add(part.tally)
    return tally, count


def _privatize(
    job: Job,
    privatizer: Privatizer,
    chunks: Iterator[tuple[int, Chunk]],
    place: LineNumber,
    till: Till | None = None,
) -> Generator[Part]:
    # Closed when the work is interrupted, not some time later: then no worker is left.
    shared = Shared.of(privatizer, reversible=job.vault is not None)
    working = closing(in_order(_privatize_chunk, shared, chunks, job.workers))
    if till is not None:
        working = closing(_paid(in_order(draw_chunk, shared, chunks, job.workers), shared, till))
    with progress("privatizing", job.source.size) as advance, working as finished:
        for part in finished:
            yield part
            advance(place())


def _paid(drawn: Generator[Drawn], shared: Shared, till: Till) -> Generator[Part]:
    """Authors pay here, one chunk after the other, and not in the workers that draw."""
    with closing(drawn):
        for one in drawn:
            yield finish_chunk(shared, till.pay(one))


def _privatize_chunk(shared: Shared, item: tuple[int, Chunk]) -> Part:
    return finish_chunk(shared, draw_chunk(shared, item))


def _put_together(
    job: Job, parts: Parts, count: int, summary: dict[str, Any], sealed: SealedParts | None
) -> None:
    with parts.together.open("wb") as raw:
        with open_to_write(raw, job.target.suffix) as output:
            job.source.format.assemble(parts.whole(count), output)
        raw.flush()
        os.fsync(raw.fileno())
    # An output must never stand there without its guarantee, nor an old output beside a new one.
    job.target.unlink(missing_ok=True)
    job.default_side.unlink(missing_ok=True)
    if sealed is not None:  # nor without the vault that undoes it
        sealed.put_in_place(count)
    _write_side(job, summary)
    parts.complete()


def _put_in_place(job: Job, parts: Parts) -> None:
    if parts.together.exists():
        parts.together.replace(job.target)
    parts.remove()


def _write_side(job: Job, summary: dict[str, Any]) -> None:
    if job.side is not None:
        try:
            write_whole(job.side, spell_side_file(summary))
        except OSError as error:
            raise StorageFailed(_reason(error, job, job.side)) from None


def _behind(link: Path) -> Path:
    try:
        found = link.resolve()
        endless = found.is_symlink()
    except (OSError, RuntimeError):  # which it is depends on the version of Python
        endless = True
    if endless:
        raise StorageFailed(f"cannot write {link}: it is a link that leads to itself")
    return found


def _reason(error: OSError, job: Job, path: Path | None = None) -> str:
    finished = 0 if job.streams else Parts.beside(job.target).count()
    kept = f"; {finished} finished parts are kept, `resume=True` continues" if finished else ""
    return f"cannot write {path or job.target}: {error.strerror or 'writing failed'}{kept}"
