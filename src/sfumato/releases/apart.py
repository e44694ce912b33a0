"""Parts that are drawn elsewhere: an engine moves numbers of chunks, and workers write the parts.

Guarantee
    Every chunk has one draw that anybody sees, whatever the engine does: repeats, deaths, a worker
    that is taken for dead and is not, two workers with the same chunk. No text, original or
    privatized, goes through the engine.

Why it holds
    A worker is told the number of a chunk. It reads the input itself, from a file that every node
    can read, cuts the same chunks, for where they end depends on the input alone, and writes its
    part beside the output. A part that is there is not drawn again. Of two draws of one chunk the
    first that is written stands, and the other is deleted by whoever wrote it (``parts``). That it
    is done is all that goes back; the counts are read beside the part.

    The input is the one that the run began with: a worker compares its number on the disk and its
    time of change, before the first chunk and after each. How many documents a part has is
    compared with the chunk that was seen here. A worker also compares all that decides what it
    draws (policies, lists, vectors, versions) with what it is here: files may differ between nodes.

Care
    A worker that is killed while it writes leaves a draft, in a folder for its owner alone, until
    its chunk is finished or the run ends. Whoever reads that folder meanwhile sees a draw
    that is not released, and later another one.

    The input is cut here, once, so that no more workers can be kept busy than that feeds. Workers
    pass over the lines of others (plain text and JSON lines), or read along to their chunks: then
    each of them cuts the whole input, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import CannotResume, InvalidArgument, StorageFailed
from sfumato.core.progress import progress
from sfumato.engines.engine import Counts, Engine
from sfumato.files.chunks import Chunk
from sfumato.files.cutter import Cut, lines_before
from sfumato.releases.drawn import draw_chunk, finish_chunk
from sfumato.releases.input import Input
from sfumato.releases.parts import Parts
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.resuming import refuse_other_chunk
from sfumato.releases.tally import Tally
from sfumato.releases.trial import try_out
from sfumato.releases.workers import Shared

if TYPE_CHECKING:
    from sfumato.releases.job import Job


def refuse_apart(job: Job, privatizer: Privatizer) -> None:
    """What cannot be done elsewhere, and why."""
    if job.engine is None:
        return
    if job.streams or job.source.is_stream:
        raise InvalidArgument(
            "workers elsewhere read the input and write the parts themselves: name files, not "
            "pipes, or leave out `engine=...`"
        )
    if job.vault is not None:
        raise InvalidArgument(
            "a vault is sealed where its key is, and that key goes nowhere else: leave out "
            "`engine=...`"
        )
    if job.payment is not None and job.payment.author_field is not None:
        raise InvalidArgument(
            "authors pay for each line before it is written, in one process that sees all lines: "
            "leave out `engine=...`, or charge one account: `account='corpus:ID'`"
        )
    if privatizer.key is not None and not privatizer.key.lasts:
        raise InvalidArgument(
            "workers elsewhere need a key that each of them can read: "
            "`settings={'key_file': FILE}`; one that is drawn here goes nowhere else"
        )


@dataclass(frozen=True)
class Drawing:
    """What every worker is told: how to draw, what to read, where to write, and for which run."""

    privatizer: Privatizer = field(repr=False)
    cut: Cut
    target: Path
    run: str
    identity: str = field(repr=False)

    @cached_property
    def shared(self) -> Shared:
        """Policies and mechanisms, built once in each worker; keys are read from their files."""
        if identity_here(self.privatizer) != self.identity:
            raise StorageFailed(
                "a worker would draw in another way: on its node a word list, vectors, a key file "
                "or the versions of Python's libraries are others than here"
            )
        return Shared.of(self.privatizer)

    @property
    def parts(self) -> Parts:
        """Where parts are written."""
        return Parts.beside(self.target)


def identity_here(privatizer: Privatizer) -> str:
    """All that decides what comes out, as it is on this node; nothing where that is not known."""
    return "" if privatizer.identity is None else privatizer.identity.spelled


def draw_part(drawing: Drawing, index: int) -> Counts:
    """Elsewhere: draw a part and write it, unless it is there."""
    parts = drawing.parts
    if not parts.is_there(index):
        chunk = drawing.cut.cutter.take(index, parts.lines_before(index))
        part = finish_chunk(drawing.shared, draw_chunk(drawing.shared, (index, chunk)))
        if parts.code != drawing.run:  # nobody waits for it any more
            raise CannotResume("another run has taken the place of this one")
        parts.finish_first(index, part.content, part.tally, drawing.run)
    return {}


def finish_apart(
    job: Job, privatizer: Privatizer, parts: Parts, input_: Input
) -> tuple[Tally, int]:
    """Let an engine draw every part that is not there yet; count the words and the parts."""
    engine = job.engine
    assert engine is not None  # noqa: S101  # who has none draws here
    try_out(Shared.of(privatizer))  # what fails at the first text is said before actors are hired
    parts.refuse_unlinked()
    parts.erase_drafts()
    parts.forget_lines()
    cut = Cut.of(job.source)
    if cut.known != input_.kept:
        raise cut.changed()
    return _Collecting(job, privatizer, parts, input_, cut).all(engine)


@dataclass
class _Collecting:
    """Hands out the numbers of chunks, and adds up what comes back, in the order of the input."""

    job: Job
    privatizer: Privatizer
    parts: Parts
    input: Input
    cut: Cut
    count: int = 0
    tally: Tally = field(default_factory=Tally)
    _documents: dict[int, int] = field(default_factory=dict)
    _early: dict[int, Tally] = field(default_factory=dict)
    _added: int = 0

    def all(self, engine: Engine) -> tuple[Tally, int]:
        job, place = self.job, self.parts.folder / "errand"
        drawing = Drawing(
            self.privatizer,
            self.cut,
            job.target.resolve(),
            self.parts.code,
            identity_here(self.privatizer),
        )
        with (
            self.input.opened() as (chunks, read),
            progress("privatizing", job.source.size) as advance,
            closing(engine.each(draw_part, drawing, self._missing(chunks), place)) as drawn,
        ):
            for index, _ in drawn:
                self._collect(index)
                advance(read())
        return self.tally, self.count

    def _missing(self, chunks: Iterator[Chunk]) -> Iterator[int]:
        for index, chunk in enumerate(chunks):
            self.count = index + 1
            self.parts.tell_lines(lines_before(self.job.source, chunk))
            finished = self.parts.collect(index)
            if finished is None:
                self._documents[index] = len(chunk.texts_per_record())
                yield index
            else:
                refuse_other_chunk(chunk, finished)
                self._add(index, finished)

    def _collect(self, index: int) -> None:
        if index not in self._documents:
            return  # told twice
        found = self.parts.collect(index)
        if found is None:
            raise StorageFailed(
                f"a worker wrote a part that is not in {self.parts.folder}: every node must reach "
                "the same folder under that name"
            )
        self.parts.erase_drafts(index)
        if found.documents != self._documents.pop(index):
            raise self.cut.changed()
        self.parts.note(index)
        self._add(index, found)

    def _add(self, index: int, found: Tally) -> None:
        self._early[index] = found
        while self._added in self._early:
            self.tally.add(self._early.pop(self._added))
            self._added += 1
