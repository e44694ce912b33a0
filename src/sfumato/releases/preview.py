"""What privatizing a file would change, in numbers and a few examples; nothing is written.

For the eyes of whoever owns the text: the examples show originals, and the numbers are counted on
private text, which no guarantee covers. The replacements are drawn for this look alone, with
randomness of their own. The release draws anew; so whoever sees both has seen two draws, and only
the owner should.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import progress
from sfumato.core.randomness import Randomness
from sfumato.metrics.rewriting import source_words_kept
from sfumato.policies.policy import Policy, find_in
from sfumato.releases.columns import Columns, looking
from sfumato.releases.job import Job
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.refusals import refuse_private_support
from sfumato.releases.release import Release
from sfumato.releases.sidefile import (
    final_guarantee,
    missed_names,
    rewrites_documents,
    told_columns,
)
from sfumato.releases.tally import Tally
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans, stretches
from sfumato.text.words import Words

EXAMPLES = 10
_OF_A_FILE = ("Next: read some of it", "Next: do not pass this on yet")
FOR_YOUR_EYES = "Originals are shown: this is for your own eyes. The release draws for itself."


@dataclass(frozen=True)
class Example:
    """One place before and after."""

    label: str
    before: str = field(repr=False)
    after: str


@dataclass(frozen=True, repr=False)
class Preview(Release):
    """A release that was not made: nothing was written, ``path`` is where it would go."""

    examples: tuple[Example, ...] = ()

    @property
    def source_words_kept(self) -> float | None:
        """Where documents are rewritten, the share of their own words that the examples keep."""
        if "rewritten_documents" not in self.counts:
            return None
        shares = [source_words_kept(one.before, one.after) for one in self.examples]
        known = [one for one in shares if one is not None]
        return sum(known) / len(known) if known else None

    @property
    def lines(self) -> list[str]:
        """What to tell people, without originals: those are in ``examples``."""
        by_type = ", ".join(f"{label} {n:,}" for label, n in self.counts["by_type"].items())
        counted = (
            f"{self.counts['documents']:,} documents, {self.counts['words']:,} words, of which "
            f"{self.privatized:,} are selected, at {self.counts['places']:,} places"
        )
        found = [f"Dry run, nothing is written: {counted}", f"By type: {by_type or 'nothing'}"]
        if "rewritten_documents" in self.counts:
            found = [f"Dry run, nothing is written: {self.counts['documents']:,} documents"]
        if self.source_words_kept is not None:
            found.append(f"Source words kept in the examples: {self.source_words_kept:.2f}")
        protected, not_protected, after = self.guarantee.summary()
        if after.startswith(_OF_A_FILE):  # which is not there yet
            first = "decide about the columns below, then " if self.column_warnings else ""
            after = f"Next: {first}leave out `dry_run=True` and say where to write: `output=OUT`."
        return [*found, protected, not_protected, after, *self.column_warnings]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; it holds originals."""
        return {
            "dry_run": True,
            "counts": dict(self.counts),
            "columns": self.summary["columns"],
            "examples": [vars(one) for one in self.examples],
            **(
                {}
                if self.source_words_kept is None
                else {"source_words_kept": self.source_words_kept}
            ),
            "summary": list(self.guarantee.summary()),
            "sentence": self.guarantee.sentence(),
            "guarantee": self.guarantee.as_dict(),
            "settings": self.summary["settings"],
        }


def preview_job(job: Job, privatizer: Privatizer, examples: int = EXAMPLES) -> Preview:
    """Look through the whole input, its other columns too, and draw for a few documents of it."""
    job.source.refuse_unused()
    if job.live:
        raise InvalidArgument("`dry_run=True` counts what there is: leave out `follow=True`")
    privatizer.check()
    refuse_private_support(job.source, privatizer.selective)
    policy = looking(privatizer.selective)
    picks = Randomness.secure() if privatizer.seed is None else privatizer.randomness.stream(1)
    count, types = Counter[str](), Counter[str]()
    sample: list[tuple[Document, Spans]] = []
    seen = 0
    columns = Columns()
    for document, spans in find_in(policy, _documents(job, count, columns, policy)):
        cut = Words.of(document.text)
        count["words"] += len(cut)
        count["privatized_words"] += len(spans.select(cut))
        found = stretches(spans, cut)
        types.update(one.label for one in found)
        if not found:
            continue
        # Each document with something in it is as likely to be shown as any other.
        seen += 1
        if len(sample) < examples:
            sample.append((document, spans))
        elif (place := int(picks.choose(seen, 1)[0])) < examples:
            sample[place] = (document, spans)
    counts: dict[str, Any] = {
        **{name: count[name] for name in ("documents", "words", "privatized_words")},
        "places": sum(types.values()),
        "by_type": dict(types.most_common()),
    }
    if rewrites_documents(privatizer):
        counts["rewritten_documents"] = count["documents"]
    tally = Tally(documents=count["documents"], places=sum(types.values()), types=types)
    guarantee = final_guarantee(
        privatizer,
        tally,
        has_fields=job.source.format.has_fields,
        whole_file=job.source.layout.whole_file,
    )
    settings = privatizer.public_settings() | job.source.settings()
    layout = job.source.layout
    missed = missed_names(layout, columns) if job.source.format.has_fields else []
    if columns.undecided or missed:
        guarantee = replace(guarantee, for_release=False)
    return Preview(
        path=job.target,
        side=None,
        guarantee=guarantee,
        summary={
            "counts": counts,
            "settings": settings,
            "columns": told_columns(columns, layout, missed, counted=True),
        },
        shares={name: one.share for name, one in columns.undecided.items()},
        examples=_draw(privatizer, sample, examples, picks),
    )


def _documents(
    job: Job, count: Counter[str], columns: Columns, policy: Policy
) -> Iterator[Document]:
    """Every text; a record counts as one document, however many texts it has."""
    with progress("looking", job.source.size) as advance, job.source.opened() as (chunks, place):
        for chunk in chunks:
            count["documents"] += len(chunk.texts_per_record())
            columns.add(Columns.of(chunk.left(), chunk.dropped(), policy))
            yield from chunk.documents()
            advance(place())


def _draw(
    privatizer: Privatizer, sample: list[tuple[Document, Spans]], most: int, picks: Randomness
) -> tuple[Example, ...]:
    """Examples from documents, at most so many; an edit as likely as any other."""
    documents = [document for document, _ in sample]
    drawn = privatizer.selective.privatize(documents, privatizer.randomness.stream(0))
    found = [
        Example(_label(spans, edit.start, edit.end), document.text[edit.start : edit.end],
                edit.replacement)
        for (document, spans), one in zip(sample, drawn, strict=True)
        for edit in one.edited.edits
    ]  # fmt: skip
    if len(found) <= most:
        return tuple(found)
    return tuple(found[place] for place in sorted(picks.choose(len(found), most).tolist()))


def _label(spans: Spans, start: int, end: int) -> str:
    place = Span(start, end, "")
    return next((span.label for span in spans if span.overlaps(place)), "")
