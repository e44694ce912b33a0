"""The texts under test: members and others, or planted secrets and decoys.

Each text is taken once, and none is on both sides. A text that is in both files has been seen by
the model, so it is a member only. A text that occurs twice in one file is one text: counted twice,
the intervals would be too short.

Secrets against decoys: are planted secrets more probable than made-up ones of the same format? The
planted canaries are the members. For each, a decoy is drawn that differs from it in the secret
alone: digits in place of digits, letters in place of letters. The score is the *summed* ln p of the
sentence; a mean over tokens would favor secrets that are split into few tokens. The Selective-DPSGD
paper takes 500 of both and reports accuracy at the median; chance is 0.5.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling", section 5.1.1.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary, read_manifest
from sfumato.text.document import Document

FEWEST = 4

SpreadT = TypeVar("SpreadT")
_ALPHABETS = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
# Draws before giving up on a format whose secrets seem to be all planted.
ATTEMPTS = 1000


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
        """Without repetitions, without others that are members, and at most ``most`` on each side.

        Which texts are left out depends only on their positions in the file, so the next attack
        takes the same ones.
        """
        inside, outside = _once(members), _once(others)
        seen = {document.text for document in inside}
        strangers = [document for document in outside if document.text not in seen]
        notes = []
        if repeated := len(members) + len(others) - len(inside) - len(outside):
            notes.append(f"{repeated:,} repetitions of a text in its file were left out")
        if both := len(outside) - len(strangers):
            notes.append(
                f"{both:,} texts are in both files: the model has seen them, so they count as "
                "members only"
            )
        if min(len(inside), len(strangers)) < FEWEST:
            raise BadInput(
                f"{len(inside)} members and {len(strangers)} others (each text once, none on both "
                f"sides) are too few; take at least {FEWEST} of each, better some hundreds"
            )
        kept = [tuple(spread(side, most or len(side))) for side in (inside, strangers)]
        if left := len(inside) + len(strangers) - len(kept[0]) - len(kept[1]):
            notes.append(f"{left:,} texts were left out: at most {most:,} on each side are tried")
        return cls(kept[0], kept[1], tuple(notes))

    @property
    def documents(self) -> tuple[Document, ...]:
        """Members, then others."""
        return self.members + self.others

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the documents."""
        return tuple(document.text for document in self.documents)

    def split(self, scores: Floats) -> tuple[Floats, Floats]:
        """Scores of all documents, split into those of members and those of others."""
        return scores[: len(self.members)], scores[len(self.members) :]


def random_halves(count: int, randomness: Randomness) -> NDArray[np.bool_]:
    """A mask that selects a random half."""
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[randomness.choose(count, count // 2)] = True
    return chosen


def spread(items: Sequence[SpreadT], count: int) -> list[SpreadT]:
    """At most ``count`` items, evenly spread.

    >>> spread(range(10), 3)
    [0, 3, 6]
    """
    if len(items) <= count:
        return list(items)
    return [items[number * len(items) // count] for number in range(count)]


def _once(documents: Sequence[Document]) -> list[Document]:
    return list({document.text: document for document in reversed(documents)}.values())[::-1]


def find_planted(path: Path) -> tuple[Canary, ...]:
    """The canaries of a manifest that were planted at least once."""
    found = [one.canary for one in read_manifest(path) if one.repetitions]
    if not found:
        raise BadInput(f"{path} lists no canary that was planted")
    return tuple(dict.fromkeys(found))


def decoys(
    canaries: tuple[Canary, ...], randomness: Randomness, fewest: int = 0
) -> tuple[Canary, ...]:
    """As many canaries of the same formats, none of which was planted.

    If there would be fewer than ``fewest`` decoys, each secret gets several.
    """
    taken = set(canaries)
    found = []
    for canary in canaries * max(1, math.ceil(fewest / len(canaries))):
        for _ in range(ATTEMPTS):
            drawn = Canary(canary.template, _like(canary.secret, randomness))
            if drawn not in taken:
                break
        else:
            raise BadInput(
                "the secrets have so few possible values that there are none left to compare with; "
                "plant longer ones, of 6 digits for example"
            )
        taken.add(drawn)
        found.append(drawn)
    return tuple(found)


def _like(secret: str, randomness: Randomness) -> str:
    """Each letter and digit replaced by a random one of its kind, all equally likely."""
    drawn = randomness.uniform(len(secret)).tolist()
    return "".join(
        next((a[int(one * len(a))] for a in _ALPHABETS if character in a), character)
        for character, one in zip(secret, drawn, strict=True)
    )
