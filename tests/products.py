"""The exact law of a privatized text: the rows that its words really go through.

Which word goes through which mechanism is not assumed but traced: every mechanism is exchanged for
one that notes its inputs and answers with marks, the text is privatized, and where a mark stands in
the output the row of the noted input is the law of that place. Places have independent draws, so
the law of a text is the product, and the worst pair of texts the sum of the worst pairs of words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pairs import largest
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.selective import Privatized
from sfumato.text.document import Document
from sfumato.vectors.space import Space

Logs = NDArray[np.float64]
UNKNOWN = "unheard"  # outside every vocabulary of the tests


class Protecting(Protocol):
    """Selective, Levels and their twins."""

    def privatize(
        self, documents: Sequence[Document], randomness: Randomness
    ) -> list[Privatized]: ...


@dataclass
class Traced:
    """Stands for the exponential mechanism, and says which of its rows a word would be drawn from.

    ``drawn_at`` is the level of these rows; a twin has another one than it claims.
    """

    space: Space
    epsilon: float
    drawn_at: float | None = None
    seen: list[str] = field(default_factory=list)
    laws: dict[str, Logs] = field(default_factory=dict)

    def guarantee(self) -> Guarantee:
        return Exponential(space=self.space, epsilon=self.epsilon).guarantee()

    def privatize(
        self,
        words: Sequence[str],
        randomness: Randomness,  # noqa: ARG002
    ) -> list[str]:
        start = len(self.seen)
        self.seen.extend(words)
        return [f"⟦{id(self)}:{number}⟧" for number in range(start, len(self.seen))]

    def uncovered(self, words: Sequence[str]) -> int:  # noqa: ARG002
        return 0

    def law(self, mark: str) -> Logs:
        word = self.seen[int(mark.strip("⟦⟧").partition(":")[2])]
        if word not in self.laws:
            drawn = Exponential(space=self.space, epsilon=self.drawn_at or self.epsilon)
            self.laws[word] = drawn.log_row(self.space.point_of(word))
        return self.laws[word]


def words_of(space: Space) -> list[str]:
    """Every word of the vocabulary and one outside it."""
    return [*space.words, UNKNOWN]


def laws(protecting: Protecting, mechanisms: Sequence[Traced], text: str) -> list[Logs]:
    """For each place of a text the log-probabilities of what may stand there afterwards.

    The last column is for a word that was copied although it is outside the vocabulary.
    """
    return laws_of_each(protecting, mechanisms, [text])[0]


def laws_of_each(
    protecting: Protecting, mechanisms: Sequence[Traced], texts: Sequence[str]
) -> list[list[Logs]]:
    """The same for many texts."""
    results = protecting.privatize([Document(text) for text in texts], Randomness.secure())
    by_mark = {str(id(one)): one for one in mechanisms}
    space = mechanisms[0].space

    def law(token: str) -> Logs:
        row = np.full(len(space) + 1, -math.inf)
        if token.startswith("⟦"):
            row[:-1] = by_mark[token.strip("⟦⟧").partition(":")[0]].law(token)
        else:
            row[space.point_of(token)] = 0.0
        return row

    return [[law(token) for token in result.text.split()] for result in results]


def loss(law: Logs, other: Logs) -> float:
    """Largest log-ratio of what may come out; 0 against 0 says nothing."""
    return float(losses(np.array([law, other]))[0, 1])


def losses(rows: Logs) -> Logs:
    """The same for each law (one per row) against each."""
    with np.errstate(invalid="ignore"):
        return np.array([largest(row - rows) for row in rows])


def distance(space: Space, word: str, other: str) -> float:
    """Between the points of two words, the unknown one included."""
    here, there = space.at(space.points([word, other]))
    return float(np.linalg.norm(here - there))
