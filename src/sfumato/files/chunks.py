"""Chunks of a corpus: small enough for memory, large enough to be worth a call.

A chunk knows the texts in it and how to write itself with other texts in their place. Chunks
travel to worker processes, so they are plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from sfumato.core.errors import MalformedRecord, UndecodableText
from sfumato.files.paths import Place
from sfumato.text.document import Document
from sfumato.text.edits import Edited
from sfumato.text.span import Spans

Spell = Callable[[str, Edited], str]  # the old literal and the edits to the new literal

NO_SPANS = Spans()
CHARACTERS = 1 << 18
RECORDS = 4096


class Left(NamedTuple):
    """What stands in a column that is left as it is: where, and (of a text or number) what.

    Of a text that nobody named, and that is privatized with all others (``is_text``), only the way
    to it is left: keys stay, and a key may be data. ``number`` is that of a table's column.
    ``kept`` is the name in `keep=...` that means it, if any.
    """

    place: Place
    text: str
    number: int = 0
    kept: str | None = None
    is_text: bool = False

    def __repr__(self) -> str:
        return "Left()"  # a cell holds data, and so may a key


class Chunk(Protocol):
    """Some consecutive documents of a file."""

    def documents(self) -> list[Document]:
        """The documents, in order; records without text have none."""
        ...

    def texts_per_record(self) -> list[int]:
        """How many of these documents, one after the other, are texts of one record."""
        ...

    def rewritten(self, edited: Sequence[Edited]) -> bytes:
        """The chunk with edited texts, one per document, all else as it was read."""
        ...

    def left(self) -> Iterable[Left]:
        """Every cell that is neither privatized nor dropped, if the layout asks for them."""
        ...

    def dropped(self) -> set[str]:
        """Which of the names to be dropped there were."""
        ...


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it stands in a file: what is before the text, the text, what is after.

    ``literal`` is the text as the file spells it (quoted, escaped); without a text the record is
    copied as it is. Of a record with several texts there is one of these for each text; all but the
    last say that there is ``more``. ``left`` are the other cells, if somebody wants to look at
    them, and ``dropped`` the names that were found and taken out.
    """

    before: str
    literal: str = ""
    after: str = ""
    text: str | None = None
    id: str | None = None
    line: int = 0
    author: str | None = None
    labels: tuple[str, ...] = ()
    language: str = ""
    spans: Spans = NO_SPANS
    more: bool = False
    left: tuple[Left, ...] = ()
    dropped: tuple[str, ...] = ()

    def with_texts(
        self, places: Iterable[tuple[int, int, str]], cut: Iterable[tuple[int, int]] = ()
    ) -> Iterator[Record]:
        """The record, whose ``before`` is all of it, with each text (start, end, text) apart.

        What stands at ``cut`` is taken out, be it text or not.
        """
        whole, remaining = _cut_out(self.before, sorted(cut), sorted(places))
        if not remaining:
            yield replace(self, before=whole)
        reached = 0
        for number, (start, end, text) in enumerate(remaining, start=1):
            is_last = number == len(remaining)
            yield replace(
                self,
                before=whole[reached:start],
                literal=whole[start:end],
                after=whole[end:] if is_last else "",
                text=text,
                more=not is_last,
                left=self.left if is_last else (),
                dropped=self.dropped if is_last else (),
            )
            reached = end

    def __repr__(self) -> str:
        return f"Record(line {self.line})"


@dataclass(frozen=True, slots=True)
class TextChunk:
    """Consecutive records of a text file and the function that spells a text as the file does."""

    records: tuple[Record, ...]
    spell: Spell
    encoding: str

    def documents(self) -> list[Document]:
        """The documents; a lone surrogate is reported with its line."""
        found = []
        for record in self.records:
            if record.text is not None:
                place = f"line {record.line}"
                try:
                    found.append(
                        Document(
                            record.text,
                            record.id,
                            record.author,
                            record.labels,
                            place,
                            language=record.language,
                            spans=record.spans,
                        )
                    )
                except UndecodableText as error:
                    raise MalformedRecord(f"{place}: {error}") from None
        return found

    def texts_per_record(self) -> list[int]:
        """How many texts each record has that has any."""
        found, count = [], 0
        for record in self.records:
            if record.text is not None:
                count += 1
                if not record.more:
                    found.append(count)
                    count = 0
        return found

    @property
    def lines(self) -> tuple[int, int]:
        """How many lines of the file stand before it, and before the next one."""
        return self.records[0].line - 1, self.records[-1].line

    def left(self) -> Iterator[Left]:
        """The cells of all records that are left as they are."""
        for record in self.records:
            yield from record.left

    def dropped(self) -> set[str]:
        """The names that some record had."""
        return {name for record in self.records for name in record.dropped}

    def without(self, gone: Collection[int]) -> TextChunk:
        """The chunk without some of the records that have texts, by their number among those."""
        kept: list[Record] = []
        number = 0
        for record in self.records:
            if record.text is None or number not in gone:
                kept.append(record)
            number += record.text is not None and not record.more
        return replace(self, records=tuple(kept))

    def rewritten(self, edited: Sequence[Edited]) -> bytes:
        """Records joined again; a text without edits keeps the spelling it had.

        Whether the text *changed* must not matter: an edit may put back the word that stood
        there, and a spelling that shows this would prove the original.
        """
        pieces: list[str] = []
        remaining = iter(edited)
        for record in self.records:
            literal = record.literal
            if record.text is not None:
                now = next(remaining)
                if now.edits:
                    literal = self.spell(literal, now)
            pieces += (record.before, literal, record.after)
        # Whatever was decoded can be encoded again, so only a replacement can have a letter that
        # this encoding lacks; a question mark stands for it.
        return "".join(pieces).encode(self.encoding, "replace")


def chunk_records(
    records: Iterable[Record], spell: Spell, encoding: str, *, live: bool = False
) -> Iterator[TextChunk]:
    """Group records; where a chunk ends depends on the file alone, so that runs can resume.

    ``live`` records wait for nothing: each is a chunk.
    """
    group: list[Record] = []
    size = 0
    for record in records:
        group.append(record)
        size += len(record.before) + len(record.literal) + len(record.after)
        if not record.more and (live or size >= CHARACTERS or len(group) >= RECORDS):
            yield TextChunk(tuple(group), spell, encoding)
            group, size = [], 0
    if group:
        yield TextChunk(tuple(group), spell, encoding)


def _cut_out(
    whole: str, cut: Sequence[tuple[int, int]], places: Sequence[tuple[int, int, str]]
) -> tuple[str, list[tuple[int, int, str]]]:
    """What is left without the cuts, and where its texts are then."""
    if not cut:
        return whole, list(places)
    pieces: list[str] = []
    moved: list[tuple[int, int, str]] = []
    waiting = list(reversed(places))
    reached = gone = 0
    for start, end in [*cut, (len(whole), len(whole))]:
        while waiting and waiting[-1][0] < start:
            first, last, text = waiting.pop()
            moved.append((first - gone, last - gone, text))
        while waiting and waiting[-1][0] < end:
            waiting.pop()  # a text inside of what is dropped
        pieces.append(whole[reached:start])
        gone += end - start
        reached = end
    return "".join(pieces), moved
