"""One guarantee made of a statement for each type of thing that was found.

Guarantee
    Take two texts that differ only inside what was found, the same places having the same types in
    both. Then the output is at most exp(Σ loss_i) times likelier for one text than for the other.
    The sum is over the places that differ, and loss_i is what the statement for the type of place i
    allows for the two originals there.

Why it holds
    Each place goes through the mechanism of its type, with randomness of its own, and the product
    of independent draws has the product of the ratios. A mechanism that uses one draw for a whole
    document (``unit`` is "document") is one factor of that product, however many places it treats.

    One place has one type, so for one place the worst case is the largest loss of any part. Over a
    document losses add up. Levels add up only within one distance: 0.1 per day and 0.1 per km
    are not 0.2 of anything, and ``add_levels`` refuses to say so.

What does not hold
    Which type a place has shows, and texts whose places have different types are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from sfumato.core.checks import at_least
from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.core.kinds import kind_of
from sfumato.guarantees.guarantee import Guarantee, Notion, Part, highest

NEIGHBORS = (
    "texts that differ only inside what was found, the same places having the same types in both"
)


def by_type(parts: Iterable[Part]) -> Guarantee:
    """The statement over all types; what any part shows or leaves out, the whole does."""
    kept = tuple(parts)
    if not kept:
        raise InvalidArgument("a guarantee by type needs a part at least")
    stated = [part.guarantee for part in kept]
    return Guarantee(
        notion=Notion.BY_TYPE,
        unit="stretch",
        neighbors=NEIGHBORS,
        epsilon=highest(kept),
        delta=max(one.delta for one in stated),
        scope="every stretch that was found, by its type",
        leaks=tuple(dict.fromkeys(leak for one in stated for leak in one.leaks)),
        uncovered=tuple(dict.fromkeys(gap for one in stated for gap in one.uncovered)),
        for_release=all(one.for_release for one in stated),
        parts=kept,
        about=tuple(thing for one in stated for thing in one.about),
    )


def part_of(guarantee: Guarantee, label: str) -> Guarantee:
    """The statement about what was found as ``label``, or as another name of the same kind."""
    return guarantee.parts[_place(guarantee, label)].guarantee if guarantee.parts else guarantee


def document_levels(guarantee: Guarantee, counts: Mapping[str, int]) -> dict[str, float]:
    """What a document with so many places of each type adds up to, by the distance it is in.

    The key "" is for statements without a distance. A level in a distance d bounds the exponent by
    level times d when every place is moved by at most d.

    >>> from sfumato.guarantees.guarantee import metric_dp
    >>> days = metric_dp(epsilon=0.1, metric="days", unit="document")
    >>> document_levels(by_type([Part(("DATE_TIME",), days)]), {"DATE": 2, "DATE_OF_BIRTH": 1})
    {'days': 0.1}
    """
    levels: dict[str, float] = {}
    together: set[int] = set()
    for label, count in counts.items():
        at_least(f"the count of {label}", count, 0)
        place = _place(guarantee, label) if guarantee.parts else 0
        stated = part_of(guarantee, label)
        if count == 0 or stated.notion is Notion.INDEPENDENT:
            continue
        if stated.unit == "document":
            # One draw for the whole document: however many places and types, it is charged once.
            if place in together:
                continue
            together.add(place)
            count = 1  # noqa: PLW2901
        levels[stated.metric] = levels.get(stated.metric, 0.0) + count * stated.epsilon
    return levels


def _place(guarantee: Guarantee, label: str) -> int:
    """Which part speaks of a label; the order is that in which a table looks for a mechanism."""
    numbered = list(enumerate(guarantee.parts))
    kind = kind_of(label)
    named = [place for place, part in numbered if label in part.types]
    alike = [
        place for place, part in numbered if kind and kind in {kind_of(one) for one in part.types}
    ]
    others = [place for place, part in numbered if not part.types]
    found = (*named, *alike, *others)
    if not found:
        raise InvalidArgument(f"this guarantee says nothing about the type {label!r}")
    return found[0]


def add_levels(levels: Mapping[str, float]) -> float:
    """One number for a document, which exists only if all of it is in one distance."""
    if len(levels) > 1 and not any(math.isinf(level) for level in levels.values()):
        named = ", ".join(repr(metric or "no distance") for metric in sorted(levels))
        raise IncomparableGuarantees(
            f"levels in different distances do not add up: {named}; state them side by side"
        )
    return sum(levels.values())
