"""Whether an expression can match at each of many places, for all places of a page at once.

Guarantee: where the expression matches, the answer is yes.

Why it holds: an expression becomes a machine that reads one character after the other, at all
places in step. Looks before and after, which a machine of this kind cannot follow, are taken to
hold, all but those of a single character at both ends; a repetition that gives nothing back is read
like one that does; what was remembered is taken for anything that could have been remembered; and a
character beyond ASCII is taken for every character. Each says yes more often, none says no.

Care: yes means that the expression is worth trying, nothing more. The machine's states are made
when they are first met. They tell nothing of a text but that something of such a shape was met;
there are at most so many, and where one more would be needed the answer is yes.

Reference: Thompson, Regular expression search algorithm, CACM 11(6), 1968.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.runs import Codes, Flags
from sfumato.policies.pii.syntax import (
    EVERY,
    Choice,
    Node,
    One,
    Repeated,
    Sequence,
    parse,
    with_looks,
    without_looks,
)

_BITS = 8  # of a character's code
_DEAD, _FOUND, _UNKNOWN = 0, 1 << _BITS, -1
_MOST_STATES = 4096
_MOST_STEPS = 64  # characters; what is not refused by then is worth trying
_FEW = 8  # places at which trying is quicker than another step
_Places = NDArray[np.int64]


class Automaton:
    """A machine for one or several expressions, any of which may match.

    A machine that reads backward says whether a match can end right before a place. Where the text
    may be cut off beside the match, nothing is asked of what stands there; that is always so for a
    machine that reads backward. It is built when it is first needed.
    """

    def __init__(self, *patterns: str, backward: bool = False, cut: bool = False) -> None:
        self._patterns, self._backward, self._cut = patterns, backward, cut

    def __repr__(self) -> str:
        return f"Automaton({len(self._patterns)} expressions)"

    def can_match(self, codes: Codes, places: _Places) -> Flags:
        """At which of some places an expression can match, by the codes of a page."""
        found = np.zeros(len(places), dtype=np.bool_)
        if len(places) <= _FEW:
            return ~found
        states, step = self._states, self._states.step
        active, at = np.arange(len(places)), places + states.offset
        state: NDArray[np.int32] | np.int32 = states.first
        for _ in range(_MOST_STEPS):
            following = states.follow(state + codes.take(at, mode="clip"))
            alive = np.flatnonzero(following)
            if len(alive) < len(active):
                active, at, following = active[alive], at[alive], following[alive]
            held = following == _FOUND
            if held.any():
                found[active[held]] = True
                active, at, following = active[~held], at[~held], following[~held]
            if len(active) <= _FEW:
                break
            state, at = following, at + step
        found[active] = True
        return found

    @cached_property
    def _states(self) -> _States:
        return _States(self._patterns, self._backward, self._cut)


class _States:
    """What a machine has read so far, by number, and how it goes on with each character.

    The number of a state is where its row begins in the table; a cell has the next state.
    """

    def __init__(self, patterns: tuple[str, ...], backward: bool, cut: bool) -> None:
        nodes = [parse(pattern) for pattern in patterns]
        looking = [(node, False) if backward or cut else with_looks(node) for node in nodes]
        # If any looks at the character before the match, all begin there.
        early = any(looks for _, looks in looking)
        self.step, self.offset = (-1, -1) if backward else (1, -early)
        self._parts = _Parts()
        begun = set()
        for node, looks in looking:
            part = without_looks(node, backward=backward)
            whole = Sequence((One(EVERY), part)) if early and not looks else part
            begun.add(self._parts.add(whole))
        self._known: dict[int, frozenset[int]] = {}
        self._numbers: dict[frozenset[int], int] = {}
        self._table = np.full(16 << _BITS, _UNKNOWN, dtype=np.int32)
        self._table[: 2 << _BITS].reshape(2, -1)[:] = [[_DEAD], [_FOUND]]
        self._lock = Lock()
        self.first = np.int32(self._number(self._parts.closed(begun)))

    def follow(self, cells: NDArray[np.int32]) -> NDArray[np.int32]:
        """The next states."""
        following = self._table[cells]
        if len(following) and following.min() == _UNKNOWN:
            with self._lock:
                for cell in np.unique(cells[following == _UNKNOWN]).tolist():
                    self._meet(cell)
                following = self._table[cells]
        return following

    def _meet(self, cell: int) -> None:
        """Work out what follows a state when a character is read."""
        code = cell & (1 << _BITS) - 1
        targets = {
            target
            for part in self._known[cell - code]
            for characters, target in self._parts.edges[part]
            if characters >> code & 1
        }
        self._table[cell] = self._number(self._parts.closed(targets))

    def _number(self, parts: frozenset[int]) -> int:
        if not parts:
            return _DEAD
        if not self._parts.last.isdisjoint(parts):
            return _FOUND
        number = self._numbers.get(parts)
        if number is None:
            if len(self._known) >= _MOST_STATES:
                return _FOUND
            number = len(self._known) + 2 << _BITS
            if number >= len(self._table):
                self._table = np.concatenate([self._table, np.full_like(self._table, _UNKNOWN)])
            self._known[number] = parts
            self._numbers[parts] = number
        return number


class _Parts:
    """The places inside an expression: from which one gets to which by which characters."""

    def __init__(self) -> None:
        # Tuples, since most have one entry or none, and there are ten thousands of them.
        self.edges: list[tuple[tuple[int, int], ...]] = []
        self._free: list[tuple[int, ...]] = []
        self.last: set[int] = set()

    def add(self, node: Node) -> int:
        """The first place of an expression."""
        first, last = self._new(), self._new()
        self._link(node, first, last)
        self.last.add(last)
        return first

    def closed(self, places: Iterable[int]) -> frozenset[int]:
        """Places, and those to which one gets from them without a character."""
        found = set(places)
        waiting = list(found)
        while waiting:
            for place in self._free[waiting.pop()]:
                if place not in found:
                    found.add(place)
                    waiting.append(place)
        # A place from which no character leads on tells nothing, unless it is the last one.
        return frozenset(place for place in found if self.edges[place] or place in self.last)

    def _new(self) -> int:
        self.edges.append(())
        self._free.append(())
        return len(self.edges) - 1

    def _link(self, node: Node, first: int, last: int) -> None:
        if isinstance(node, One):
            self.edges[first] += ((node.characters, last),)
        elif isinstance(node, Sequence):
            for part in node.parts:
                following = self._new()
                self._link(part, first, following)
                first = following
            self._free[first] += (last,)
        elif isinstance(node, Choice):
            for part in node.parts:
                self._link(part, first, last)
        elif isinstance(node, Repeated):
            self._repeat(node, first, last)

    def _repeat(self, node: Repeated, first: int, last: int) -> None:
        for _ in range(node.least):
            following = self._new()
            self._link(node.part, first, following)
            first = following
        if node.most is None:
            again = self._new()
            self._free[first] += (again,)
            self._link(node.part, again, again)
            first = again
        else:
            for _ in range(node.most - node.least):
                following = self._new()
                self._link(node.part, first, following)
                self._free[first] += (last,)
                first = following
        self._free[first] += (last,)


@cache
def automaton(*expressions: Expression) -> Automaton:
    """The machine that says where one of some expressions can match, made once."""
    return Automaton(*(expression.pattern for expression in expressions))


@cache
def cut_automaton(expression: Expression) -> Automaton:
    """The same for an expression that is tried in a part of the text."""
    return Automaton(expression.pattern, cut=True)


@cache
def backward(*expressions: Expression) -> Automaton:
    """The machine that says where a match of one of some expressions can end, made once."""
    return Automaton(*(expression.pattern for expression in expressions), backward=True)
