"""Two mechanisms on the same words: at equal epsilon, and at equal chance to stay.

The same epsilon is not the same promise in two mechanisms (``metrics.comparison``). So both are
also shown at levels at which the median public word stays with the same chance, by their curves
(``metrics.staying_curves``): the first at the given level, the second at the one that does as much.
Then whoever is guessed right more often, or goes farther, can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.attacks.inference.word_view import ViewEffort, WordView, view_word
from sfumato.core.display import as_html
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.metrics.staying_curves import Staying, curve_of, staying
from sfumato.vectors.space import Space

# Each word is looked at three times; a page, or a person, waits for it.
MOST_WORDS = 40

Maker = Callable[[str, float], OverVocabulary]


@dataclass(frozen=True, kw_only=True, repr=False)
class Side:
    """One mechanism at one level: what public words do there, and each word in focus."""

    mechanism: str
    epsilon: float
    public: Staying
    views: tuple[WordView, ...]

    @property
    def stays(self) -> float:
        """The mean chance of these words to stay."""
        return _mean([one.stays.value for one in self.views if one.stays is not None])

    @property
    def right(self) -> float:
        """The mean chance that the attacker's guess is right."""
        return _mean([one.attacker.right.value for one in self.views if one.attacker is not None])

    def as_dict(self) -> dict[str, Any]:
        """For JSON; it holds the words."""
        return {
            "mechanism": self.mechanism,
            "epsilon": self.epsilon,
            "public": self.public.as_dict(),
            "stays": self.stays,
            "right": self.right,
            "words": [one.as_dict() for one in self.views],
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class WordComparison:
    """Two mechanisms side by side, at equal epsilon and at equal chance to stay.

    ``equal_chance`` is none where the second mechanism reaches the chance at no level; ``reason``
    says so.
    """

    equal_epsilon: tuple[Side, Side]
    equal_chance: tuple[Side, Side] | None
    reason: str | None = None

    def __repr__(self) -> str:
        # The words are private.
        first, second = self.equal_epsilon
        count = len(first.views)
        return f"WordComparison({first.mechanism!r}, {second.mechanism!r}, {count} words)"

    def _repr_html_(self) -> str:
        rows = [
            (which, one.mechanism, f"{one.epsilon:.4g}", f"{one.public.median:.3f}",
             f"{one.stays:.3f}", f"{one.right:.3f}")
            for which, pair in (("epsilon", self.equal_epsilon), ("chance", self.equal_chance))
            for one in pair or ()
        ]  # fmt: skip
        heads = ("equal", "mechanism", "ε", "median public word", "stays", "guessed")
        return as_html("Words", heads, rows, [self.reason] if self.reason else [])

    def as_dict(self) -> dict[str, Any]:
        """For JSON; it holds the words."""
        return {
            "equal_epsilon": [one.as_dict() for one in self.equal_epsilon],
            "equal_chance": None
            if self.equal_chance is None
            else [one.as_dict() for one in self.equal_chance],
            "reason": self.reason,
        }


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What both mechanisms share: how one is made at a level, the space, and the effort."""

    make: Maker
    space: Space
    effort: ViewEffort
    randomness: Randomness

    def side(self, mechanism: str, epsilon: float, words: Sequence[str]) -> Side:
        """One mechanism at one level."""
        public = staying(mechanism, epsilon, space=self.space)
        over = self.make(mechanism, epsilon)
        views = tuple(view_word(over, word, self.effort, self.randomness) for word in words)
        return Side(mechanism=mechanism, epsilon=epsilon, public=public, views=views)


def compare_views(
    bench: Bench, mechanisms: tuple[str, str], epsilon: float, words: Sequence[str]
) -> WordComparison:
    """Both mechanisms at ``epsilon``, and the second where it keeps as much as the first."""
    distinct = list(dict.fromkeys(words))
    if not distinct:
        raise InvalidArgument("there is no word to compare mechanisms on; give one, or a text")
    if len(distinct) > MOST_WORDS:
        raise InvalidArgument(
            f"{len(distinct)} different words are too many to look at one by one; give at most "
            f"{MOST_WORDS}, or compare on a file: `sfumato.compare(corpus=FILE)`"
        )
    one, other = mechanisms
    first, second = (bench.side(name, epsilon, distinct) for name in mechanisms)
    try:
        level = curve_of(other, space=bench.space).level(first.public.median)
    except InvalidArgument as error:
        return WordComparison(
            equal_epsilon=(first, second), equal_chance=None, reason=f"{one}: {error}"
        )
    equal = bench.side(other, level, distinct)
    return WordComparison(equal_epsilon=(first, second), equal_chance=(first, equal))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
