"""Policies made of policies: all together, one without another, one before another."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from sfumato.core.errors import InvalidArgument
from sfumato.policies.identity import Identity, identity_around
from sfumato.policies.policy import Policy, find_each, naming
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans
from sfumato.text.words import Words


@dataclass(frozen=True)
class Union:
    """What any of several policies finds."""

    policies: tuple[Policy, ...]

    def __post_init__(self) -> None:
        _at_least_one(self.policies)

    @property
    def for_release(self) -> bool:
        """Whether no policy inside is an experiment."""
        return _for_release(*self.policies)

    @property
    def name(self) -> str:
        """The names with plus signs between."""
        return " + ".join(_name_inside(policy) for policy in self.policies)

    def find(self, document: Document) -> Spans:
        """All spans of all policies; they may overlap."""
        return self.find_many([document])[0]

    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        """The same for several documents at once."""
        return [Spans.of(chain(*found)) for found in _find_by(self.policies, documents)]

    def identity(self) -> Identity | None:
        """All policies; another order counts as another policy, though it finds the same."""
        return identity_around("union", self.policies)


@dataclass(frozen=True)
class Minus:
    """What one policy finds without the words that another covers from end to end.

    A word that the second policy covers only in part stays protected: taking digits away does
    not give up the word "B12". White space and punctuation are in no word and protect nothing.
    """

    policy: Policy
    without: Policy

    @property
    def for_release(self) -> bool:
        """Whether no policy inside is an experiment."""
        return _for_release(self.policy, self.without)

    @property
    def name(self) -> str:
        """The names with a minus sign between."""
        return f"{_name_inside(self.policy)} − {_name_inside(self.without)}"

    def find(self, document: Document) -> Spans:
        """The first policy's spans, cut where whole words are taken out."""
        return self.find_many([document])[0]

    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        """The same for several documents at once."""
        kept = find_each(self.policy, documents)
        with naming("what is excepted"):
            removed = find_each(self.without, documents)
        return [_take_out(*one) for one in zip(kept, removed, documents, strict=True)]

    def identity(self) -> Identity | None:
        """Both policies, each in its place."""
        return identity_around("minus", (self.policy, self.without))


@dataclass(frozen=True)
class Priority:
    """What any of several policies finds; of two that claim a stretch, the first names it."""

    policies: tuple[Policy, ...]

    def __post_init__(self) -> None:
        _at_least_one(self.policies)

    @property
    def for_release(self) -> bool:
        """Whether no policy inside is an experiment."""
        return _for_release(*self.policies)

    @property
    def name(self) -> str:
        """The names in order of rank."""
        return " > ".join(_name_inside(policy) for policy in self.policies)

    def find(self, document: Document) -> Spans:
        """Spans of the first policy whole, of the others what nobody before them claimed.

        The same characters are covered as by ``Union``.
        """
        return self.find_many([document])[0]

    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        """The same for several documents at once."""
        return [_rank(found) for found in _find_by(self.policies, documents)]

    def identity(self) -> Identity | None:
        """All policies in order of rank."""
        return identity_around("priority", self.policies)


@dataclass(frozen=True, slots=True)
class _Stretches:
    """Covered characters as disjoint stretches in increasing order."""

    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, spans: Spans) -> _Stretches:
        starts: list[int] = []
        ends: list[int] = []
        for span in spans:
            if ends and span.start <= ends[-1]:
                ends[-1] = max(ends[-1], span.end)
            else:
                starts.append(span.start)
                ends.append(span.end)
        return cls(starts, ends)

    def cover(self, start: int, end: int) -> bool:
        """Whether every character from start to end is covered."""
        before = bisect_right(self.starts, start)
        return before > 0 and self.ends[before - 1] >= end

    def outside(self, span: Span) -> Iterator[Span]:
        """The parts of a span that are not covered."""
        reached = span.start
        for index in range(bisect_right(self.ends, span.start), len(self.starts)):
            if self.starts[index] >= span.end:
                break
            if self.starts[index] > reached:
                yield replace(span, start=reached, end=self.starts[index])
            reached = self.ends[index]
        if reached < span.end:
            yield replace(span, start=reached)


def _find_by(policies: Sequence[Policy], documents: Sequence[Document]) -> list[tuple[Spans, ...]]:
    """For each document what each policy finds in it."""
    found = []
    for number, policy in enumerate(policies, start=1):
        with naming(f"policy {number} of {len(policies)}"):
            found.append(find_each(policy, documents))
    return list(zip(*found, strict=True))


def _take_out(kept: Spans, removed: Spans, document: Document) -> Spans:
    if not len(kept) or not len(removed):
        return kept
    words, taken = Words.of(document.text), _Stretches.of(removed)
    return Spans.of(part for span in kept for part in _without(span, words, taken))


def _rank(by_rank: Sequence[Spans]) -> Spans:
    found = Spans()
    for spans in by_rank:
        claimed = _Stretches.of(found)
        rest = [part for span in spans for part in claimed.outside(span)]
        found = Spans.of((*found, *rest))
    return found


def _without(span: Span, words: Words, taken: _Stretches) -> Iterator[Span]:
    """A span without the words that are taken whole; untouched when none is."""
    first = bisect_left(words.ends, span.start + 1)
    last = bisect_left(words.starts, span.end)
    kept = [
        index
        for index in range(first, last)
        if not taken.cover(words.starts[index], words.ends[index])
    ]
    if len(kept) == last - first:
        yield span
        return
    start = 0
    for place in range(1, len(kept) + 1):
        if place == len(kept) or kept[place] != kept[place - 1] + 1:
            yield replace(
                span,
                start=max(span.start, words.starts[kept[start]]),
                end=min(span.end, words.ends[kept[place - 1]]),
            )
            start = place


def _name_inside(policy: Policy) -> str:
    return f"({policy.name})" if isinstance(policy, (Union, Minus, Priority)) else policy.name


def _for_release(*policies: Policy) -> bool:
    return all(getattr(policy, "for_release", True) for policy in policies)


def _at_least_one(policies: tuple[Policy, ...]) -> None:
    if not policies:
        raise InvalidArgument("a combination needs at least one policy")
