"""The law of one token: a model's scores, recentred and cut to a window, at a temperature.

Guarantee
    Whatever the model has read, token y of the V public ones is drawn with probability ∝
    exp(max(z(y) − max z, −c)/T), z being the model's scores. Between any two inputs,
    P[y | x] <= e^ε·P[y | x'] with ε = e(R, V) and R = c/T (``accounting/bounded_range.py``).

Why it holds
    After the largest score is subtracted and the rest is cut, scores lie in [−c, 0] for every
    input. No bound on the model's own scores is needed, so they keep their order and distances as
    far as the window reaches.

    That holds for scores that are no numbers, too, which a damaged model may give for some inputs:
    nan counts as −∞, which is cut to −c; where there is +∞, it is 0 and all else −c; and where
    nothing else is left all tokens are alike. Nothing is raised, since whether a run fails would
    tell what was read. A model that gives such scores for its prompt alone is refused when it is
    loaded (``temperature.py``).

Care
    The window is taken over the public tokens. *Which* tokens may be drawn must not depend on the
    input: a support such as the k best tokens makes some outputs impossible for some inputs, and
    the level infinite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.accounting.bounded_range import exact_level
from sfumato.core.arrays import Floats, Points
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.rewriting.draw import Weighted
from sfumato.mechanisms.rows import FromRows, log_normalized
from sfumato.vectors.space import Space

_TESTED = 24


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenLaw:
    """What the next token is, by the scores of a model; ``tokens`` are the public ones."""

    tokens: Points
    window: float
    temperature: float

    @property
    def score_range(self) -> float:
        """R = c/T."""
        return self.window / self.temperature

    @property
    def level(self) -> float:
        """ε of one token."""
        return exact_level(self.score_range, len(self.tokens))

    def logs(self, scores: Floats) -> Floats:
        """Logarithms of weights of the public tokens, between −R and 0."""
        given = scores[..., self.tokens]
        chosen = np.where(np.isnan(given), -np.inf, given)
        largest = chosen.max(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", over="ignore"):
            # ∞ − ∞ is nan: what equals the largest is 0, be it finite or not.
            below = np.where(chosen == largest, 0.0, chosen - largest)
        found: Floats = np.maximum(below, -self.window) / self.temperature
        return np.maximum(found, -self.score_range)

    def draw(self, scores: Floats, randomness: Randomness, count: int = 1) -> Points:
        """So many independent tokens for one row of scores."""
        return self.tokens[Weighted.of(np.exp(self.logs(scores))).draw(count, randomness)]


def few_tokens(law: TokenLaw, *always: int) -> TokenLaw:
    """The law over so few tokens that all pairs can be compared, spread over all of them."""
    every = law.tokens
    spread = np.linspace(0, len(every) - 1, min(_TESTED, len(every))).astype(np.intp)
    return replace(law, tokens=np.unique([*every[spread].tolist(), *always]).astype(np.intp))


@dataclass(frozen=True, kw_only=True, eq=False)
class OnTokens(FromRows):
    """The law as a mechanism on points, so that its claim can be tested.

    Each point is a document made of one public token, the unknown one an empty document, and the
    output is the first token that is drawn for it. ``scores`` are what the model says of every
    token for each of these documents, and ``names`` are what the tokens are called.
    """

    law: TokenLaw
    model: str
    names: tuple[str, ...]
    scores: Floats

    @cached_property
    def space(self) -> Space:  # type: ignore[override]
        """The tokens as words; that they have places means nothing."""
        named = [f"{number}: {name}" for number, name in enumerate(self.names)]
        places = np.arange(len(named), dtype=np.float32)[:, None]
        return Space(f"{len(named)} tokens of {self.model}", named, places)

    def guarantee(self) -> Guarantee:
        """What is proven about the first token."""
        return Guarantee(
            notion=Notion.PURE_DP,
            unit="document",
            neighbors="any two documents",
            epsilon=self.law.level,
            scope="the first token of every document",
        )

    def log_rows(self, points: Points) -> Floats:
        """Log-probability of every token, one row per point."""
        return log_normalized(self.law.logs(self.scores[points]))

    def privatize(self, points: Points, randomness: Randomness) -> Points:
        """One independent draw for each point."""
        outputs = np.empty(len(points), dtype=np.intp)
        places = {int(token): place for place, token in enumerate(self.law.tokens)}
        for point in np.unique(points):
            mine = points == point
            drawn = self.law.draw(self.scores[point], randomness, int(mine.sum()))
            outputs[mine] = [places[int(one)] for one in drawn]
        return outputs
