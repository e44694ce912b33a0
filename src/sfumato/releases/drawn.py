"""A chunk on its way through a job: drawn first, then written.

In between, whoever pays by the line can put something else in the place of what was drawn
(``authors``): nothing has left the process until a part is finished.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sfumato.files.chunks import Chunk
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.selective import Privatized
from sfumato.releases.columns import Columns, looking
from sfumato.releases.places import Places
from sfumato.releases.sidefile import replaces_words
from sfumato.releases.tally import Tally
from sfumato.releases.workers import Shared


@dataclass(frozen=True, slots=True, repr=False)
class Drawn:
    """A chunk, and what was drawn for each of its texts."""

    index: int
    chunk: Chunk
    results: list[Privatized]
    columns: Columns
    by_payment: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Part:
    """One privatized chunk."""

    index: int
    content: bytes
    tally: Tally
    behind: bytes | None = field(default=None, repr=False)  # what its pseudonyms stand for


def draw_chunk(shared: Shared, item: tuple[int, Chunk]) -> Drawn:
    """Draw what stands in the place of everything that is found in a chunk."""
    index, chunk = item
    # A stream of noise for each chunk: with a seed, the same whoever does the work and whenever.
    randomness = shared.privatizer.randomness.stream(index)
    selective = shared.selective
    if isinstance(selective, Levels):
        results = selective.privatize(chunk.documents(), randomness)
    else:
        together = chunk.texts_per_record()
        results = selective.privatize(chunk.documents(), randomness, together)
    columns = Columns.of(chunk.left(), chunk.dropped(), looking(selective))
    return Drawn(index, chunk, results, columns)


def finish_chunk(shared: Shared, drawn: Drawn) -> Part:
    """Write what was drawn into the chunk, and count it."""
    chunk, results = drawn.chunk, drawn.results
    # A record is a document, however many texts it has: what it costs is the sum over all of them.
    tally = Tally.of(results, chunk.texts_per_record())
    tally.columns, tally.by_payment = drawn.columns, drawn.by_payment
    if not replaces_words(shared.privatizer):
        # Parts stay on disk when a run is killed: how many words a mask hides must not be there.
        tally = tally.of_places()
    edited = [one.edited for one in results]
    behind = Places.of(chunk.documents(), edited).spelled() if shared.reversible else None
    return Part(drawn.index, chunk.rewritten(edited), tally, behind)
