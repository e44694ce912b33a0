"""What a policy finds in a file, counted elsewhere: an engine moves numbers of chunks and counts.

Counts of documents, words and selected words come back, and of spans by type and rule. The names of
types and rules go through the engine, too; the policy itself, with its pattern or list, goes there
sealed (``engines.errand``). The texts do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from sfumato.core.progress import progress
from sfumato.engines.engine import Counts, Engine
from sfumato.files.chunks import Chunk
from sfumato.files.cutter import Cut
from sfumato.files.source import Source
from sfumato.policies.policy import Policy
from sfumato.policies.scan import Scan

_BETWEEN = " | "
_SPANS = "spans"


@dataclass(frozen=True)
class Counting:
    """What every worker is told."""

    policy: Policy = field(repr=False)
    cut: Cut


def count_chunk(counting: Counting, index: int) -> Counts:
    """Elsewhere: count what the policy finds in a chunk."""
    found = Scan(counting.policy, counting.cut.cutter.take(index).documents()).finish()
    counts = {"documents": found.documents, "words": found.words, "selected": found.selected}
    spans = {
        _BETWEEN.join((_SPANS, label, rule)): count for (label, rule), count in found.counts.items()
    }
    return counts | spans


def count_elsewhere(policy: Policy, source: Source, engine: Engine) -> Scan:
    """All counts of a file; going through it gives no document, for none came back."""
    counting = Counting(policy, Cut.of(source))
    total = Scan(policy, ())
    with (
        source.opened() as (chunks, read),
        progress("scanning", source.size) as advance,
        closing(engine.each(count_chunk, counting, _numbers(chunks), None)) as counted,
    ):
        done: set[int] = set()
        for index, counts in counted:
            if index not in done:  # an engine may do it twice; it counts once
                _add(total, counts)
            done.add(index)
            advance(read())
    return total


def _numbers(chunks: Iterator[Chunk]) -> Iterator[int]:
    return (index for index, _ in enumerate(chunks))


def _add(total: Scan, counts: Counts) -> None:
    for name, count in counts.items():
        if name.startswith(_SPANS + _BETWEEN):
            _, label, rule = name.split(_BETWEEN, 2)
            total.counts[label, rule] += count
        else:
            setattr(total, name, getattr(total, name) + count)
