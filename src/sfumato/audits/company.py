"""Whether what comes out for a word depends on the words beside it.

What is proven
    A mechanism makes one independent draw per word. Then the same words have the same laws in
    calls of equal words, in a shuffled crowd, in short calls where no word comes twice, and alone.
    All words are pooled, each with the same number of draws on either side. An event is learned and
    chosen on one half of these draws; on the other half, not looked at before, its mean probability
    over the words is bounded from below on one side and from above on the other, each limit erring
    with probability at most alpha/2 divided by the number of comparisons. Limits that cross prove
    that the laws differ.

    Clopper and Pearson's limits are for trials of one chance, and here each word has its own; but
    such a sum strays beyond its mean no more often than the binomial one with the same mean
    (Hoeffding 1956, "On the distribution of the number of successes in independent trials").

What can be seen
    With n held-out draws in all on the rarer side, a mean probability p that changes by about
    z·√(p·(1 − p)/n) plus the same for the other side, z being the normal quantile of the level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.distinguishers import learn_ratio
from sfumato.audits.draws import Drawn, draw_alone, draw_once
from sfumato.audits.events import SampleHalves, decide_event, expect_width, propose_events
from sfumato.audits.subject import DrawnSample, DrawsTogether, Event, Outputs, Pair, Score
from sfumato.audits.verdict import Witness
from sfumato.core.arrays import Points
from sfumato.core.randomness import Randomness

EQUAL, CROWD, ONCE, ALONE = range(4)
NAMES = (
    "words in calls of equal words",
    "words in a call with many others, each of them many times",
    "words that come once in a call with others",
    "words that are alone in a call",
)
# How often each word is drawn once in a call and alone in a call, at most and for so many draws in
# calls of equal words: a call takes time.
PASSES = {ONCE: (64, 16), ALONE: (16, 50)}
FEWEST_PASSES = 4


def on_company(
    subject: DrawsTogether,
    drawn: Mapping[int, Drawn],
    alpha: float,
    randomness: Randomness,
) -> Witness | None:
    """An event that is likelier in one company than in another, if there is one.

    ``drawn`` holds outputs in calls of equal words and in a crowd.
    """
    if len(drawn) < 2:
        return None
    numbers = np.array(sorted(drawn), dtype=np.intp)
    tables = {
        EQUAL: np.stack([drawn[number].equal for number in numbers.tolist()]).astype(np.intp),
        CROWD: np.stack([drawn[number].crowd for number in numbers.tolist()]).astype(np.intp),
    }
    for company, draw in ((ONCE, draw_once), (ALONE, draw_alone)):
        most, each = PASSES[company]
        passes = max(FEWEST_PASSES, min(most, tables[EQUAL].shape[1] // each))
        tables[company] = draw(subject, numbers, passes, randomness.stream(company))
    size = 1 + max(int(table.max()) for table in tables.values())
    words = Company(subject=subject, numbers=numbers, size=size)
    seen, held = {}, {}
    for company, table in tables.items():
        learn, choose, hold = split(table)
        seen[company] = SampleHalves(words.sample(learn), words.sample(choose))
        held[company] = words.sample(hold)
    level = alpha / (2 * (len(tables) - 1))
    found = []
    for company in (CROWD, ONCE, ALONE):
        pair = Pair(company, EQUAL, 0.0, 0.0)
        width = expect_width(seen[company].choose.total, held[company].total, level)
        choice = propose_events(words, pair, seen, width)
        if choice is not None:
            # From here on the event is fixed, and the held-out draws are looked at.
            found.append(decide_event(words, choice, held, level))
    best = max(found, key=lambda witness: witness.excess, default=None)
    return best if best is not None and best.excess > 0 else None


def split(table: Points) -> tuple[Points, Points, Points]:
    """Of each word a quarter of its draws to learn from, a quarter to choose, and the rest."""
    quarter = table.shape[1] // 4
    return table[:, :quarter], table[:, quarter : 2 * quarter], table[:, 2 * quarter :]


@dataclass(frozen=True, kw_only=True)
class Company:
    """The same words in different company, between which no difference is claimed.

    An output is the place of its word among ``numbers`` times ``size``, plus what came out.
    """

    subject: DrawsTogether
    numbers: Points
    size: int
    delta: float = 0.0

    def name(self, number: int) -> str:
        """The company."""
        return NAMES[number]

    def sample(self, outputs: Points) -> DrawnSample:
        """One row of outputs for each word, as numbers that hold the word as well."""
        return DrawnSample.of((np.arange(len(self.numbers))[:, None] * self.size + outputs).ravel())

    def scores(self, pair: Pair, first: DrawnSample, second: DrawnSample) -> list[Score]:
        """How far an output lies from its word, and how much more often the two came together."""
        del pair
        return [
            Score("the distance from the word that went in", self._away),
            Score("the learned log-ratio", learn_ratio(first, second)),
        ]

    def describe(self, event: Event, seen: DrawnSample) -> str:
        """The score and its threshold."""
        del seen
        return str(event)

    def _away(self, outputs: Outputs) -> NDArray[np.float64]:
        places, words = np.divmod(outputs.astype(np.intp), self.size)
        return self.subject.distances(self.numbers[places], words)
