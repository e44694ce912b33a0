"""The texts under test: members and others, each text once, and none on both sides.

A text that stands in both files has been seen by the model, so it is no other. A text that stands
twice in one file is one text: counted twice, the intervals would promise more than was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.membership.evidence import Values
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.corpora.documents import Document

FEWEST = 4

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Candidates:
    """Members first, then others; ``notes`` say what was left out."""

    members: tuple[Document, ...]
    others: tuple[Document, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, members: Sequence[Document], others: Sequence[Document], most: int | None = None
    ) -> Candidates:
        """Without repetitions, and without others that are members; at most ``most`` of a side.

        Which ones are left out of too many hangs on their places in the file alone, so the next
        attack looks at the same ones.
        """
        inside, outside = _once(members), _once(others)
        seen = {document.text for document in inside}
        strangers = [document for document in outside if document.text not in seen]
        notes = []
        if repeated := len(members) + len(others) - len(inside) - len(outside):
            notes.append(f"{repeated:,} repetitions of a text in its file were left out")
        if both := len(outside) - len(strangers):
            notes.append(
                f"{both:,} texts stand among members and others: they were seen, so they are "
                "members only"
            )
        if min(len(inside), len(strangers)) < FEWEST:
            raise BadInput(
                f"{len(inside)} members and {len(strangers)} others (each text once, none on both "
                f"sides) are too few; take at least {FEWEST} of each, better some hundreds"
            )
        kept = [tuple(spread(side, most or len(side))) for side in (inside, strangers)]
        if left := len(inside) + len(strangers) - len(kept[0]) - len(kept[1]):
            notes.append(f"{left:,} texts were left out: at most {most:,} of a side are tried")
        return cls(kept[0], kept[1], tuple(notes))

    @property
    def documents(self) -> tuple[Document, ...]:
        """All of them."""
        return self.members + self.others

    @property
    def texts(self) -> tuple[str, ...]:
        """Their texts."""
        return tuple(document.text for document in self.documents)

    def split(self, scores: Values) -> tuple[Values, Values]:
        """Scores of all, as those of members and those of others."""
        return scores[: len(self.members)], scores[len(self.members) :]


def random_halves(count: int, randomness: Randomness) -> NDArray[np.bool_]:
    """A mask of half of them."""
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[randomness.choose(count, count // 2)] = True
    return chosen


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """At most ``count`` of them, evenly spread.

    >>> spread(range(10), 3)
    [0, 3, 6]
    """
    if len(items) <= count:
        return list(items)
    return [items[number * len(items) // count] for number in range(count)]


def _once(documents: Sequence[Document]) -> list[Document]:
    return list({document.text: document for document in reversed(documents)}.values())[::-1]
