"""From a private corpus to a file of noisy vectors: read, encode, add noise, write beside, rename.

Memory does not grow with the corpus. Each chunk has a stream of noise of its own and is written as
a finished part, as in ``releases/job.py``; an interrupted run goes on from there, and nothing is
drawn twice. No part, side file or message holds a text, and of the fields of a record only those
that were asked for are written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.accounting.budget.payment import Hold, content_digest, refuse_seed
from sfumato.core.checks import names
from sfumato.core.errors import (
    BadInput,
    CannotResume,
    InputChanged,
    InvalidArgument,
    SfumatoError,
    StorageFailed,
)
from sfumato.core.files import write_whole
from sfumato.core.json import read_object
from sfumato.core.progress import progress
from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import per_document
from sfumato.releases.input import Input
from sfumato.releases.job import Job
from sfumato.releases.parts import Parts
from sfumato.releases.payment import claim_on
from sfumato.releases.refusals import refuse_job
from sfumato.releases.sidefile import document_of, spell_side_file
from sfumato.releases.tally import Tally
from sfumato.representations.corpus import EmbeddedCorpus
from sfumato.representations.embedder import Embedder
from sfumato.representations.files import (
    KEPT,
    Shape,
    kind_of_output,
    put_together,
    spell_part,
)
from sfumato.text.document import Document
from sfumato.text.words import Words

SCHEMA = 1
_NAMED = {"author": "`author_field=NAME`", "label": "`label_field=NAME`"}


@dataclass(frozen=True)
class EmbeddingJob:
    """What to read and where to write (``job``), how, and which fields of a record are kept."""

    job: Job
    embedder: Embedder
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for one in names("keep", self.keep):
            if one not in KEPT:
                raise InvalidArgument(
                    f"`keep=...` takes {', '.join(KEPT)}, and not {one!r}: a text is never kept"
                )
        layout = self.job.source.layout
        named = {"id": layout.id_field, "author": layout.author_field, "label": layout.label_field}
        for one in self.keep:
            if named[one] is None:
                raise InvalidArgument(
                    f"to keep the {one}, name the field that holds it: {_NAMED[one]}"
                )
            if named[one] in layout.fields:
                raise InvalidArgument(
                    f"the field {named[one]!r} holds the private text, and is not kept as {one}"
                )

    def run(self) -> EmbeddedCorpus:
        """Write the vectors and their guarantee."""
        shape = self._shape()
        job = self.job
        try:
            if job.streams:
                raise InvalidArgument("vectors are written to a file, not to a pipe")
            refuse_job(job)
            if job.resume and job.target.exists() and not Parts.beside(job.target).folder.exists():
                return self._already_finished()
            return self._in_parts(shape)
        except SfumatoError:
            raise
        except OSError as error:
            kept = Parts.beside(job.target).count()
            more = f"; {kept} finished parts are kept, `resume=True` continues" if kept else ""
            raise StorageFailed(
                f"cannot write {job.target}: {error.strerror or 'writing failed'}{more}"
            ) from None

    def guarantee(self) -> Guarantee:
        """That of the vectors, with what else of a record is written."""
        source = self.job.source
        record = document_of(
            has_fields=source.format.has_fields, whole_file=source.layout.whole_file
        )
        found = self.embedder.guarantee().of_documents(record)
        if self.keep:
            found = found.leaking(f"fields that are kept on purpose: {', '.join(self.keep)}")
        return found

    def _shape(self) -> Shape:
        made = self.embedder
        return Shape(
            kind=kind_of_output(self.job.target),
            numbers=made.mechanism.outputs,
            tokens=made.tokens,
            pad_to=made.pad_to,
            keep=self.keep,
        )

    def _in_parts(self, shape: Shape) -> EmbeddedCorpus:
        job = self.job
        parts, input_ = Parts.beside(job.target), Input.of(job.source)
        claims = self._settings() | {"input": input_.kept, "version": version("sfumato")}
        secret = {"seed": str(self.embedder.seed)}
        with parts.opened(claims, secret, afresh=not job.resume):
            if parts.completed:
                _put_in_place(job.target, parts)
                return self._told(read_object(_side(job), "a side file"), finished=True)
            try:
                held = self._hold(parts.code)
                tally, count = self._finish(shape, parts, input_)
            except (BadInput, InputChanged):
                parts.remove()  # these parts belong to another input, once it is mended
                raise
            except BaseException:
                if parts.count() == 0:
                    parts.remove()
                raise
            summary = self._summary(tally, input_)
            with parts.together.open("wb") as output:
                put_together(shape, parts.whole(count), tally.documents, output)
                output.flush()
                os.fsync(output.fileno())
            # Vectors must never stand there without their guarantee, nor old ones beside a new one.
            job.target.unlink(missing_ok=True)
            job.default_side.unlink(missing_ok=True)
            write_whole(_side(job), spell_side_file(summary))
            parts.complete()
            if held is not None:
                held.settle()
            _put_in_place(job.target, parts)
        return self._told(summary)

    def _finish(self, shape: Shape, parts: Parts, input_: Input) -> tuple[Tally, int]:
        """Compute every part that is not there yet; count documents and parts."""
        tally, count = Tally(), 0
        # One source of streams: each chunk has its own, with a seed the same whenever it is drawn.
        draws = self.embedder.randomness
        with (
            input_.opened() as (chunks, place),
            progress("embedding", self.job.source.size) as advance,
        ):
            for index, chunk in enumerate(chunks):
                documents = chunk.documents()
                finished = parts.finished(index)
                if finished is None:
                    content, finished = self._part(shape, documents, draws.stream(index))
                    parts.finish(index, content, finished)
                elif self._counted(documents).as_dict() != finished.as_dict():
                    raise CannotResume(
                        "cannot resume: input changed since the run began; `overwrite=True` "
                        "starts again"
                    )
                tally.add(finished)
                count = index + 1
                advance(place())
        if not tally.documents:
            raise BadInput("the input holds no document, so there is no vector to write")
        return tally, count

    def _part(
        self, shape: Shape, documents: Sequence[Document], randomness: Any
    ) -> tuple[bytes, Tally]:
        texts = [one.text for one in documents]
        made = self.embedder
        vectors = (
            made.embed_each(texts, randomness)
            if made.tokens
            else list(made.embed(texts, randomness))
        )
        kept = {name: [_value(one, name) for one in documents] for name in self.keep}
        return spell_part(shape, vectors, kept), self._counted(documents)

    def _counted(self, documents: Sequence[Document]) -> Tally:
        """What the output shows: how many documents, and of words only where their number shows."""
        shows = self.embedder.tokens and self.embedder.pad_to is None
        words = sum(len(Words.of(one.text)) for one in documents) if shows else 0
        return Tally(documents=len(documents), words=words)

    def _settings(self) -> dict[str, Any]:
        return self.embedder.public_settings() | self.job.source.settings() | {
            "keep": list(self.keep)
        }  # fmt: skip

    def _summary(self, tally: Tally, input_: Input) -> dict[str, Any]:
        guarantee = self.guarantee()
        return {
            "schema": SCHEMA,
            "sfumato": version("sfumato"),
            "for_release": guarantee.for_release,
            "summary": list(guarantee.summary()),
            "sentence": guarantee.sentence(),
            "proportion": self._proportion(),
            "guarantee": guarantee.as_dict(),
            "per_document": {"statement": per_document(guarantee)},
            "settings": self._settings(),
            "counts": {"documents": tally.documents},
            "input": input_.mark(),
        }

    def _proportion(self) -> str:
        """How much of a vector is noise: a level alone says little."""
        made = self.embedder.mechanism
        facts = made.facts()
        if "flip_chance" in facts:
            return (
                f"Each of {facts['bits']} bits is flipped with a probability of "
                f"{facts['flip_chance']:.3g}; one half would tell nothing."
            )
        bound = getattr(made, "clip_norm", 1.0)
        return (
            f"The noise is about {facts['mean_noise_length']:.3g} long, and a vector {bound:g} at "
            "most."
            if facts["sensitivity"] is not None
            else f"The noise is about {facts['mean_noise_length']:.3g} long."
        )

    def _hold(self, run: str) -> Hold | None:
        payment, source = self.job.payment, self.job.source
        if payment is None:
            return None
        if payment.author_field is not None:
            raise InvalidArgument(
                "vectors of a file are charged to text:ID or corpus:ID; authors pay for lines of "
                "text"
            )
        work: dict[str, Any] = {"settings": self._settings()}
        if source.path is not None:
            work |= {"input": content_digest(source.path), "output": str(self.job.target.resolve())}
        refuse_seed(self.embedder.randomness)
        return payment.pay(claim_on(source, self.embedder.guarantee()), work, run)

    def _already_finished(self) -> EmbeddedCorpus:
        """Resuming a finished job does nothing, unless it would now be another job."""
        job = self.job
        again = "; `overwrite=True` starts again"
        try:
            summary = read_object(_side(job), "a side file")
        except SfumatoError:
            summary = {}
        if self.embedder.seed is not None:
            raise CannotResume(f"{job.target} is finished, and whether with this seed is not told")
        if summary.get("settings") != self._settings():
            raise CannotResume(f"{job.target} is finished, but with other settings{again}")
        if not Input.of(job.source).is_marked(summary.get("input")):
            raise CannotResume(f"{job.target} is finished, but from another input{again}")
        return self._told(summary, finished=True)

    def _told(self, summary: dict[str, Any], *, finished: bool = False) -> EmbeddedCorpus:
        guarantee = Guarantee.from_dict(summary["guarantee"])
        return EmbeddedCorpus(self.job.target, _side(self.job), guarantee, summary, finished)


def _value(document: Document, name: str) -> str | None:
    if name == "label":
        return document.labels[0] if document.labels else None
    found: str | None = getattr(document, name)
    return found


def _side(job: Job) -> Path:
    return job.default_side if job.side is None else job.side


def _put_in_place(target: Path, parts: Parts) -> None:
    if parts.together.exists():
        parts.together.replace(target)
    parts.remove()
