"""From embeddings to tokens: exchange and move tokens as long as gradients come nearer.

The gradient of the true text is the released one, so near the end tokens are a better guide than
embeddings: a text with most tokens right is told from one with all of them right. These sweeps are
not part of the published attacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfumato.attacks.gradients.matching.dummies import Rows
from sfumato.attacks.gradients.matching.edits import draw_edits
from sfumato.attacks.gradients.matching.judge import Judge, Tokens
from sfumato.core.randomness import Randomness

# How many of the tokens nearest to an embedding are tried in its place.
NEAREST = 6


@dataclass(frozen=True, eq=False)
class Sweeps:
    """At most ``count`` sweeps over all tokens, with ``edits`` other orders each."""

    judge: Judge
    count: int
    edits: int

    def run(self, rows: Rows, labels: Sequence[int], randomness: Randomness) -> list[Tokens]:
        """The texts that were found."""
        near = [self.judge.dummies.nearest(row, NEAREST) for row in rows]
        texts = [[tokens[0] for tokens in row] for row in near]
        if not self.count:
            return texts
        least = self.judge.of_tokens(texts, labels)
        for sweep in range(self.count):
            before = least
            for place, options in enumerate(near):
                own = randomness.stream(sweep).stream(place)
                for change in self._changes(texts[place], options, own):
                    tried = [*texts[:place], change.made(texts[place]), *texts[place + 1 :]]
                    apart = self.judge.of_tokens(tried, labels)
                    if apart < least:
                        texts, least = tried, apart
            if least >= before:
                break
        return texts

    def _changes(
        self, text: Tokens, near: Sequence[Tokens], randomness: Randomness
    ) -> Iterator[Change]:
        for place, tokens in enumerate(near):
            for token in dict.fromkeys([*tokens, *text]):
                yield Change(place, token)
        for order in draw_edits(len(text), self.edits, randomness):
            yield Change(order=tuple(order))


@dataclass(frozen=True)
class Change:
    """Another token at a place, or another order of all tokens."""

    place: int = 0
    token: int | None = None
    order: tuple[int, ...] = ()

    def made(self, text: Tokens) -> Tokens:
        """The changed text.

        >>> Change(1, 9).made([4, 5, 6]), Change(order=(2, 0, 1)).made([4, 5, 6])
        ([4, 9, 6], [6, 4, 5])
        """
        if self.token is None:
            return [text[place] for place in self.order]
        return [*text[: self.place], self.token, *text[self.place + 1 :]]
