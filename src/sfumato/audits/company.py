"""Whether the output for a word depends on the other words in the same call.

A mechanism claims to make one independent draw per word. Then an output has the same distribution
whatever else is in the call. A mechanism that keeps its claim only when all words of a call are
equal, or only when there are many, is caught only if words are drawn in the combinations that texts
contain. So each word is drawn in four kinds of call: with copies of itself, in a shuffled call with
many others, in short calls where no word occurs twice, and alone.

What is proven
    For an honest mechanism the same words have the same distributions in all four kinds of call.
    All words are pooled, each with the same number of draws on either side. An event is learned and
    chosen on one half of these draws. The other half, not looked at before, bounds the mean
    probability of the event over the words from below on one side and from above on the other. Each
    limit errs with probability at most alpha/2 divided by the number of comparisons. Limits that
    cross prove that the distributions differ.

    Clopper and Pearson's limits assume that all trials have the same probability, and here each
    word has its own. But the number of successes deviates from its mean no more often than a
    binomial number with the same mean (Hoeffding 1956, "On the distribution of the number of
    successes in independent trials").

What can be detected
    With n held-out draws on the rarer side, a change of a mean probability p by about z·√(p·(1 −
    p)/n), plus the same term for the other side, where z is the normal quantile of the level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.distinguishers import learn_ratio
from sfumato.audits.events import (
    DrawnSample,
    Event,
    Outputs,
    Pair,
    SampleHalves,
    Score,
    decide_event,
    expect_width,
    propose_events,
)
from sfumato.audits.subject import DrawsTogether, Subject
from sfumato.audits.verdict import Witness
from sfumato.core.arrays import Points
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness

# The numbers of different words in a call, used in turn: from two words to a short text.
SIZES = (2, 3, 5, 8, 13, 21)
EQUAL, CROWD, ONCE, ALONE = range(4)
NAMES = (
    "words in calls of equal words",
    "words in a call with many others, each of them many times",
    "words that come once in a call with others",
    "words that are alone in a call",
)
# For each of the two slow kinds of call: the largest number of passes, and one pass for so many
# draws in calls of equal words.
PASSES = {ONCE: (64, 16), ALONE: (16, 50)}
FEWEST_PASSES = 4


@dataclass(frozen=True, slots=True)
class Drawn:
    """Outputs of one input: from calls of equal inputs, and from calls with all the others."""

    equal: Outputs
    crowd: Outputs

    @property
    def outputs(self) -> Outputs:
        """All of them, alternating, so that every part holds both kinds."""
        if not len(self.crowd):
            return self.equal
        mixed = np.empty(len(self.equal) + len(self.crowd), dtype=np.intp)
        mixed[0::2], mixed[1::2] = self.equal, self.crowd
        return mixed


def draw_each(
    subject: Subject,
    numbers: Sequence[int],
    count: int,
    randomness: Randomness,
    advance: Advance | None = None,
) -> dict[int, Drawn]:
    """``count`` outputs of each input, half of them from one shuffled call with all the others."""
    together = count // 2 if isinstance(subject, DrawsTogether) and len(numbers) > 1 else 0
    crowd = _crowd(subject, numbers, together, randomness.stream(0))
    own = randomness.stream(1)
    found = {}
    for place, number in enumerate(numbers):
        equal = subject.draw(number, count - together, own.stream(number))
        found[number] = Drawn(equal, crowd[place])
        if advance is not None:
            advance(place + 1)
    return found


def _crowd(subject: Subject, numbers: Sequence[int], count: int, randomness: Randomness) -> Points:
    """One row for each input."""
    if not count or not isinstance(subject, DrawsTogether):
        return np.empty((len(numbers), 0), dtype=np.intp)
    inputs = np.repeat(np.array(numbers, dtype=np.intp), count)
    return draw_in_calls(subject.draw_together, inputs, (len(inputs),), randomness).reshape(
        len(numbers), count
    )


def draw_once(
    subject: DrawsTogether, numbers: Points, passes: int, randomness: Randomness
) -> Points:
    """One row for each input: outputs of short calls in which no input comes twice."""
    return _passes(subject, numbers, SIZES, passes, randomness)


def draw_once_each(
    subject: DrawsTogether, numbers: Points, passes: int, randomness: Randomness
) -> Points:
    """One row for each input: outputs of calls in which every input comes once."""
    return _passes(subject, numbers, (len(numbers),), passes, randomness)


def draw_alone(
    subject: DrawsTogether, numbers: Points, passes: int, randomness: Randomness
) -> Points:
    """One row for each input: outputs of calls with a single input."""
    return _passes(subject, numbers, (1,), passes, randomness)


def _passes(
    subject: DrawsTogether,
    numbers: Points,
    sizes: Sequence[int],
    passes: int,
    randomness: Randomness,
) -> Points:
    columns = [
        draw_in_calls(subject.draw_together, numbers, sizes, randomness.stream(number))
        for number in range(passes)
    ]
    return np.stack(columns, axis=1)


def draw_in_calls(
    draw: Callable[[Points, Randomness], Points],
    inputs: Points,
    sizes: Sequence[int],
    randomness: Randomness,
) -> Points:
    """One output for each input; inputs are shuffled and cut into calls of these sizes in turn."""
    order = np.argsort(randomness.stream(0).uniform(len(inputs)), kind="stable")
    noise = randomness.stream(1)
    outputs = np.empty_like(inputs)
    start, lengths = 0, cycle(sizes)
    while start < len(order):
        call = order[start : start + next(lengths)]
        outputs[call] = draw(inputs[call], noise)
        start += len(call)
    return outputs


def on_company(
    subject: DrawsTogether,
    drawn: Mapping[int, Drawn],
    alpha: float,
    randomness: Randomness,
) -> Witness | None:
    """An event that is proven likelier in one kind of call than in another, if one is found.

    ``drawn`` holds outputs of calls with equal words and of calls with many others.
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
    """Each word's draws: a quarter to learn from, a quarter to choose by, and the held-out half."""
    quarter = table.shape[1] // 4
    return table[:, :quarter], table[:, quarter : 2 * quarter], table[:, 2 * quarter :]


@dataclass(frozen=True, kw_only=True)
class Company:
    """The same words in different kinds of call, between which there must be no difference.

    An output is encoded together with its word: the index of the word in ``numbers`` times
    ``size``, plus the output itself.
    """

    subject: DrawsTogether
    numbers: Points
    size: int
    delta: float = 0.0

    def name(self, number: int) -> str:
        """The kind of call."""
        return NAMES[number]

    def sample(self, outputs: Points) -> DrawnSample:
        """One row of outputs for each word, encoded together with the word."""
        return DrawnSample.of((np.arange(len(self.numbers))[:, None] * self.size + outputs).ravel())

    def scores(self, pair: Pair, first: DrawnSample, second: DrawnSample) -> list[Score]:
        """The distance between output and word, and the learned log-ratio of the two together."""
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
