"""A text as the recognizers read it: made plain, with its runs of digits found once.

Texts are read many at a time (``Page``). What is asked of every number, of every word or of every
character is asked of all of them together; what is asked of few is asked of one text (``Reading``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.automaton import Automaton, automaton, cut_automaton
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.lookup import Words
from sfumato.policies.pii.openings import words_of
from sfumato.policies.pii.plainness import make_plain
from sfumato.policies.pii.runs import DIGITS, FAR, LETTERS, MOST, Flags, Runs, among, surely
from sfumato.policies.pii.tokens import Tokens

_LOOK_BACK = 60
_LOOK_AHEAD = 30
_WIDEST_GAP = 4
_BREAK = ord("\n")

Value = TypeVar("Value", bound=np.generic)
Trigger = Callable[["Page"], Flags]
Finder = Callable[["Page"], NDArray[np.int64]]


class Page:
    """Some documents, read together."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [make_plain(text) for text in texts]
        self.runs = Runs(self.texts)
        self.readings = [
            Reading(text, self, number, *places)
            for number, (text, places) in enumerate(
                zip(self.texts, self.runs.places(), strict=True)
            )
        ]
        self.memory: dict[object, object] = {}  # of forms seen on this page, gone with it
        self.announcing: dict[str, bool] = {}  # what stands before numbers, gone with the page
        # Where an earlier kind has found something: what a later kind finds inside is left out.
        self.settled: dict[int, list[tuple[int, int]]] = {}
        self._answers: dict[object, object] = {}
        self._flags: dict[Trigger, list[bool]] = {}
        self._chosen: dict[Trigger, dict[int, list[int]]] = {}
        self._spots: dict[Finder, dict[int, list[int]]] = {}

    def __repr__(self) -> str:
        return f"Page({len(self.texts)} documents)"

    def close(self) -> None:
        """Forget all that was read: documents and their page refer to each other."""
        self.readings.clear()
        self.memory.clear()
        self.announcing.clear()

    @cached_property
    def tokens(self) -> Tokens:
        """All documents cut into tokens."""
        return Tokens.of(self.texts)

    @cached_property
    def beyond(self) -> NDArray[np.int64]:
        """The numbers of the documents with characters beyond ASCII."""
        others = [number for number, text in enumerate(self.texts) if not text.isascii()]
        return np.array(others, dtype=np.int64)

    @cached_property
    def alphanumerics(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where runs of letters and digits begin and end; all beyond ASCII counts as a letter."""
        inside = among(self.runs.codes, LETTERS + DIGITS)
        turns = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        return turns[::2], turns[1::2]

    @cached_property
    def words(self) -> Words:
        """Where the words of all documents stand."""
        return Words(self.runs.codes)

    def told_before(self, words: frozenset[str], reach: int) -> Flags:
        """The runs of digits before which a word of a list seems to stand."""
        return self.words.near_before(words, self.runs.starts, reach)

    def told_on_line(self, words: frozenset[str], reach: int) -> Flags:
        """The same, where no line break and no other number stands between."""
        ends = np.append(-reach - 1, self.words.ends_of(words))
        latest = ends[np.searchsorted(ends, self.runs.starts, side="right") - 1]
        held: Flags = (self.runs.starts - latest <= reach) & (latest >= self._floors)
        return held

    def told_over(self, words: frozenset[str], between: frozenset[str], reach: int) -> Flags:
        """The same, where all words between seem to be in another list.

        The last one may be any word: letters that belong to the number.
        """
        told = np.flatnonzero(self.words.among(words))
        if not len(told):
            return np.zeros(len(self.runs), dtype=np.bool_)
        last, barred = self._words_before, self._barred_by(between)
        held = np.zeros(len(self.runs), dtype=np.bool_)
        for word in (last, np.maximum(last - 1, 0)):
            nearest = told[np.maximum(np.searchsorted(told, word, side="right") - 1, 0)]
            open_ = (nearest <= word) & (nearest >= barred[word])
            held |= open_ & (self.runs.starts - self.words.ends[nearest] <= reach)
        return held & (last >= 0)

    @cached_property
    def _words_before(self) -> NDArray[np.int64]:
        """For each run of digits the last word before it."""
        return np.searchsorted(self.words.ends, self.runs.starts, side="right") - 1

    def _barred_by(self, between: frozenset[str]) -> NDArray[np.int64]:
        """For each word the latest up to it that is not in a list."""
        key = ("barred", between)
        barred = self._answers.get(key)
        if barred is None:
            index = np.arange(len(self.words))
            passed = self.words.among(between)
            barred = self._answers[key] = np.maximum.accumulate(np.where(passed, -1, index))
        return cast("NDArray[np.int64]", barred)

    @cached_property
    def _floors(self) -> NDArray[np.int64]:
        """For each run of digits where the one before it or the line before it ends."""
        breaks = np.flatnonzero(self.runs.codes == _BREAK)
        lines = breaks[np.searchsorted(breaks, self.runs.starts) - 1] + 1
        floors: NDArray[np.int64] = np.maximum(
            lines, np.append(0, self.runs.ends[:-1])[: len(lines)]
        )
        return floors

    def told_after(self, words: frozenset[str], reach: int) -> Flags:
        """The runs of digits after which a word of a list seems to stand."""
        return self.words.near_after(words, self.runs.ends, reach)

    def told_until(self, words: frozenset[str], reach: int, signs: str) -> Flags:
        """The same, where none of some signs stands between."""
        starts = np.append(self.words.starts[self.words.among(words)], FAR)
        following = starts[np.searchsorted(starts, self.runs.ends)]
        held: Flags = (following - self.runs.ends <= reach) & (following < self.until(signs))
        return held

    def until(self, signs: str) -> NDArray[np.int64]:
        """Where after each run of digits the next of some signs stands."""
        following = self._answers.get(("until", signs))
        if following is None:
            places = np.append(np.flatnonzero(surely(self.runs.codes, signs)), FAR)
            following = places[np.searchsorted(places, self.runs.ends)]
            self._answers["until", signs] = following
        return cast("NDArray[np.int64]", following)

    def where_can(self, machine: Automaton, runs: Flags, *backs: int) -> Flags:
        """Of some runs of digits those at which a machine can match, or some characters before."""
        chosen, found = np.flatnonzero(runs), np.zeros(len(runs), dtype=np.bool_)
        places = self.runs.starts[chosen] - np.array(backs or (0,))[:, None]
        can = machine.can_match(self.runs.codes, places.ravel())
        found[chosen] = can.reshape(places.shape).any(axis=0)
        return found

    def spots(self, finder: Finder) -> dict[int, list[int]]:
        """Places that matter, counted in their documents, by the document's number."""
        spots = self._spots.get(finder)
        if spots is None:
            spots = self._spots[finder] = self._by_document(finder(self))
        return spots

    def spots_of(
        self, finder: Finder, expression: Expression, back: int = 0
    ) -> dict[int, list[int]]:
        """The same for those at which, or some characters before, an expression can match."""
        places = finder(self)
        can = automaton(expression).can_match(self.runs.codes, places - back)
        return self._by_document(places[can])

    def _by_document(self, places: NDArray[np.int64]) -> dict[int, list[int]]:
        documents = np.searchsorted(self.runs.offsets, places, side="right") - 1
        return by_document(documents, places - self.runs.offsets[documents])

    def documents_at(self, places: NDArray[np.int64]) -> list[int]:
        """The documents in which some places are, each once."""
        found = np.searchsorted(self.runs.offsets, places, side="right") - 1
        return sorted(set(found.tolist()))

    def ask(self, trigger: Callable[[Page], NDArray[Value]]) -> NDArray[Value]:
        """What a trigger says of every run of digits."""
        answers = self._answers.get(trigger)
        if answers is None:
            answers = self._answers[trigger] = trigger(self)
        return cast("NDArray[Value]", answers)

    def flags(self, trigger: Trigger) -> list[bool]:
        """What a trigger says of every run of digits, to be asked one by one."""
        flags = self._flags.get(trigger)
        if flags is None:
            flags = self._flags[trigger] = self.ask(trigger).tolist()
        return flags

    def choose(self, trigger: Trigger) -> dict[int, list[int]]:
        """The runs of digits that matter, counted in their documents, by the document's number."""
        chosen = self._chosen.get(trigger)
        if chosen is None:
            chosen = self._chosen[trigger] = self._chosen_by(trigger)
        return chosen

    def _chosen_by(self, trigger: Trigger) -> dict[int, list[int]]:
        if not len(self.runs):
            return {}
        places = np.flatnonzero(self.ask(trigger))
        documents = self.runs.documents[places]
        return by_document(documents, places - self.runs.first[documents])


def by_document(documents: NDArray[np.int64], values: NDArray[np.int64]) -> dict[int, list[int]]:
    """Values by their documents, which need not be in order; the values of each stay in theirs."""
    if not len(documents):
        return {}
    if (documents[1:] < documents[:-1]).any():
        order = np.argsort(documents, kind="stable")
        documents, values = documents[order], values[order]
    firsts = np.flatnonzero(np.append(True, documents[1:] != documents[:-1]))
    limits, listed = [*firsts.tolist(), len(documents)], values.tolist()
    return {
        number: listed[first:last]
        for number, (first, last) in zip(documents[firsts].tolist(), pairwise(limits), strict=True)
    }


class Reading:
    """The plain text and the places of its runs of ASCII digits.

    ``first`` is the number of its first run among all of the page.
    """

    def __init__(
        self, text: str, page: Page, number: int, starts: list[int], ends: list[int], first: int = 0
    ) -> None:
        self.text, self.page, self.number = text, page, number
        self.starts, self.ends, self.first = starts, ends, first

    @classmethod
    def of(cls, text: str) -> Reading:
        """Read a text alone.

        >>> Reading.of("tel\u00a0٠١٢\u20113").text
        'tel 012-3'
        """
        return Page([text]).readings[0]

    def __repr__(self) -> str:
        return f"Reading({len(self.text)} characters)"

    @cached_property
    def small(self) -> str:
        """The text in small letters, to ask quickly whether something stands in it."""
        return self.text.lower()

    def chosen(self, trigger: Trigger) -> list[int]:
        """The numbers of the runs of digits that matter."""
        return self.page.choose(trigger).get(self.number, [])

    def is_chosen(self, trigger: Trigger, run: int) -> bool:
        """Whether one run of digits matters."""
        return self.page.flags(trigger)[self.first + run]

    def spots(self, finder: Finder) -> list[int]:
        """Places that matter."""
        return self.page.spots(finder).get(self.number, [])

    def before(self, place: int, reach: int = _LOOK_BACK) -> str:
        """The characters just before a place: where a context word would stand."""
        return self.text[max(0, place - reach) : place]

    def after(self, place: int, reach: int = _LOOK_AHEAD) -> str:
        """The characters just after a place."""
        return self.text[place : place + reach]

    def mentions(self, pieces: Iterable[str]) -> bool:
        """Whether any of these pieces, in small letters, stands anywhere in the text."""
        return any(piece in self.small for piece in pieces)

    def near(self, start: int, end: int, cue: Cue) -> bool:
        """Whether a context word stands near; words at the ends of the stretch must be whole."""
        places = self.spots(cue.spots)
        if not places:
            return False
        text, last = self.text, end + _LOOK_AHEAD
        while last > end and text[last - 1 : last].isalpha() and text[last : last + 1].isalpha():
            last -= 1
        for first, limit in ((max(0, start - _LOOK_BACK), start), (end, last)):
            for place in places[bisect_left(places, first) : bisect_left(places, limit)]:
                if cue.expression.match(text, place, limit):
                    return True
        return False

    def stands_alone(self, run: int, gap: int = _WIDEST_GAP) -> bool:
        """Whether the next run of digits is too far away to belong to this one."""
        return run + 1 == len(self.starts) or self.starts[run + 1] - self.ends[run] > gap

    def runs(self, first: int, gaps: frozenset[str], most: int) -> Iterator[tuple[int, str]]:
        """Digit runs from run ``first`` on, joined over gaps, as long as ``most`` digits last.

        Gives the index of the last run and all digits so far, shortest first.
        """
        digits, last = "", first
        starts, ends, text = self.starts, self.ends, self.text
        while ends[last] - starts[last] + len(digits) <= most:
            digits += text[starts[last] : ends[last]]
            yield last, digits
            if last + 1 in (len(starts), first + MOST):
                return
            if starts[last + 1] - ends[last] > _WIDEST_GAP:
                return
            if text[ends[last] : starts[last + 1]] not in gaps:
                return
            last += 1


class Cue:
    """Words or phrases that announce something, whatever their case."""

    def __init__(self, *words: str) -> None:
        self.expression = cue(*words)
        self.words = words_of(*words)

    def __repr__(self) -> str:
        return f"Cue({len(self.words)} words)"

    def spots(self, page: Page) -> NDArray[np.int64]:
        """Where one of them may begin."""
        places = page.words.starts[page.words.among(self.words)]
        machine = cut_automaton(self.expression)
        return places[machine.can_match(page.runs.codes, places)]


@cache
def cue(*words: str) -> Expression:
    """A pattern that finds any of these words or phrases, whatever their case."""
    return Expression(rf"(?i)(?<![\p{{L}}\p{{N}}])(?:{'|'.join(words)})(?![\p{{L}}])")
