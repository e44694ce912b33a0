"""Other orders of a text's tokens: what small changes of a sequence lead to.

A gradient says which words a text has before it says where they stand, so an attack that moves
embeddings by small steps is caught in a wrong order. These edits jump out of it.

Reference
    Balunović et al. 2022, "LAMP" (swap tokens, move a token, move a run of tokens, move a prefix to
    the end).
"""

from __future__ import annotations

from sfumato.core.randomness import Randomness

Order = list[int]
"""For each place, where its token stood before."""


def swap(order: Order, first: int, second: int) -> Order:
    """Exchange two tokens.

    >>> swap([0, 1, 2, 3], 0, 2)
    [2, 1, 0, 3]
    """
    changed = list(order)
    changed[first], changed[second] = order[second], order[first]
    return changed


def move(order: Order, start: int, end: int, place: int) -> Order:
    """Take the tokens from ``start`` to ``end`` and put them in at ``place`` of what is left.

    >>> move([0, 1, 2, 3, 4], 1, 3, 0)
    [1, 2, 0, 3, 4]
    """
    rest = order[:start] + order[end:]
    return rest[:place] + order[start:end] + rest[place:]


def draw_edits(length: int, count: int, randomness: Randomness) -> list[Order]:
    """Different orders, each one edit away from the present one."""
    order = list(range(length))
    if length < 2:
        return []
    found = set()
    for _ in range(count):
        kind = int(randomness.integers(4, 1)[0])
        a, b, c = (int(one) for one in randomness.integers(length, 3))
        if kind == 0:
            made = swap(order, a, b)
        elif kind == 1:
            made = move(order, a, a + 1, b)
        elif kind == 2:
            start, end = min(a, b), max(a, b) + 1
            made = move(order, start, end, c % (length - (end - start) + 1))
        else:
            made = move(order, 0, a, length - a)
        found.add(tuple(made))
    found.discard(tuple(order))
    return [list(one) for one in sorted(found)]
