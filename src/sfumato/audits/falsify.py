"""Falsify by sampling: look at every pair, then spend draws where the bound is nearest.

What is proven
    A claim that is true is refuted with probability at most ``alpha``, over all pairs, events and
    questions together. It is divided by fixed shares among three questions:

    - *Pairs.* Scouting draws say which K pairs are put to the test, by which events and in which
      direction. Then draws are made that nobody has seen, from a stream of their own. Given all
      that scouting showed, the K events are fixed and those draws are independent of it, so each of
      the 2K limits of Clopper and Pearson errs with probability at most share·alpha/(2K), and by
      Boole's inequality any of them with share·alpha. That holds whatever scouting showed, so it
      holds without the condition: where to look may be chosen as freely as one likes, for what
      chooses never decides.
    - *Company.* Whether a word's law depends on the words beside it (``company``).
    - *Repetition.* A claim is about noise that nobody knows. Under other randomness, n outputs
      that came n_1, n_2, … times come in the very same order with probability at most
      n_1!·n_2!·…/n!: the chance of their counts, which is at most 1, is n!/(n_1!·n_2!·…) times the
      chance of one order. Where that is below its share of alpha and they do all the same, the
      noise is not from the randomness: it can be made again, and the claim is false.

What can be seen
    With n held-out draws for each of two inputs and z the normal quantile of the level, an event
    of probabilities p and q is shown to exceed its bound if ln(p/q) − bound is above about
    z·(1/√(p·n) + 1/√(q·n)). ``DrawPlan`` says how large n is.

A few draws for every word, to see where to look.

A mechanism may be honest for all words but one. So before some words are looked at in depth, every
word of a space is drawn a few times (of a very large space, a share of its words), once in each
call, as words stand in a text. A word is suspect if what comes out for it most often comes out less
often for the word nearest to it than the claim allows, or everything else too often.

These draws only say where to look. Whatever is found there is shown by other draws, so a glance
costs nothing of the false-alarm budget and needs no proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.company import on_company
from sfumato.audits.draws import Drawn, draw_each, draw_once_each
from sfumato.audits.events import Choice, SampleHalves, decide_event, expect_width, propose_events
from sfumato.audits.points import nearest_others, strictness
from sfumato.audits.subject import DrawnSample, DrawsTogether, Outputs, Pair, Subject
from sfumato.audits.verdict import Finding
from sfumato.audits.words import WordSubject
from sfumato.core.arrays import Points
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.claims import loss_bounds
from sfumato.mechanisms.mechanism import PointMechanism

FEWEST_DRAWS = 100
# Of all draws: for a first look at every input, and for a second one at some. The rest decides.
FIRST, SECOND = 0.35, 0.3
# So many inputs get a second look, and so many inputs and pairs are decided on.
LOOKED_AT_AGAIN, DECIDED, DECIDED_PAIRS = 20, 5, 8
# Of the false-alarm budget, what goes to the questions whether noise is drawn anew, and whether
# it depends on the company of a word.
REPEAT_SHARE, COMPANY_SHARE = 0.01, 0.09
# So many draws have more orders than any level asks for, unless nearly all of them are the same.
REPEATED_DRAWS = 1000
REPEATED = (
    "drawn again under other randomness, the outputs for {name} come in the very same order: the "
    "noise does not come from the randomness, so that it can be made again and taken off"
)
ON_COMPANY = (
    "what comes out for a word depends on the words beside it, so this is not one independent draw "
    "per word: {sentence}"
)


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """How many draws an input gets: on the first look, on the second, and to decide."""

    first: int
    second: int
    held: int
    pairs: int

    @classmethod
    def of(cls, inputs: int, draws: int, pairs: int) -> DrawPlan:
        """As many draws in all as if each of the inputs got the same.

        >>> DrawPlan.of(2, 1000, 1)
        DrawPlan(first=500, second=0, held=500, pairs=1)
        >>> DrawPlan.of(40, 1000, 780)
        DrawPlan(first=350, second=600, held=2800, pairs=8)
        """
        pairs, deciding = min(pairs, DECIDED_PAIRS), max(1, min(inputs, DECIDED))
        if inputs <= LOOKED_AT_AGAIN:
            return cls(draws // 2, 0, inputs * (draws - draws // 2) // deciding, pairs)
        total = inputs * draws
        held = int(total * (1 - FIRST - SECOND)) // deciding
        return cls(int(draws * FIRST), int(total * SECOND) // LOOKED_AT_AGAIN, held, pairs)

    def level(self, alpha: float) -> float:
        """With what probability each limit may err, if all of them together may with alpha."""
        return alpha / (2 * max(1, self.pairs))

    def reach(self, alpha: float) -> float:
        """The largest loss that draws can prove: an event that always happens, and never."""
        return math.log(self.held / -math.log(self.level(alpha)))


def falsify(
    subject: Subject, *, draws: int, alpha: float, randomness: Randomness, advance: Advance
) -> Finding:
    """Put the pairs of a subject to the test; ``draws`` for each input, on the average."""
    numbers, pairs = inputs_of(subject), subject.pairs()
    plan, share = DrawPlan.of(len(numbers), draws, len(pairs)), pairs_share(subject) * alpha
    first = draw_each(subject, numbers, plan.first, randomness.stream(0), advance)
    choices = _scout(subject, first, plan, share, randomness.stream(1))
    # From here on pairs and events are fixed, and draws are made that nobody has seen.
    deciding = sorted({number for choice in choices for number in choice.inputs})
    each = plan.held * min(len(numbers), DECIDED) // max(1, len(deciding))
    last = draw_each(subject, deciding, each, randomness.stream(2))
    held = {number: DrawnSample.of(drawn.outputs) for number, drawn in last.items()}
    witnesses = [decide_event(subject, choice, held, plan.level(share)) for choice in choices]
    best = max(witnesses, key=lambda witness: witness.rank, default=None)
    defect = _repeat(subject, first, draws, alpha, randomness.stream(3))
    if isinstance(subject, DrawsTogether) and not defect and (best is None or best.excess <= 0):
        found = on_company(subject, first, COMPANY_SHARE * alpha, randomness.stream(4))
        if found is not None:
            best, defect = found, ON_COMPANY.format(sentence=found.sentence())
    return Finding(
        method="sampled",
        where="",
        pairs=len(pairs),
        inputs=len(numbers),
        draws=draws,
        decided=len(choices),
        confidence=1 - alpha,
        refuted=bool(defect) or (best is not None and best.excess > 0),
        witness=best,
        defect=defect,
    )


def pairs_share(subject: Subject) -> float:
    """What is left of the false-alarm budget for pairs; where inputs have no company, more."""
    return 1 - REPEAT_SHARE - (COMPANY_SHARE if isinstance(subject, DrawsTogether) else 0.0)


def inputs_of(subject: Subject) -> list[int]:
    """The inputs that take part in a pair, and those that only keep company."""
    also = subject.beside() if isinstance(subject, DrawsTogether) else ()
    taking_part = {number for pair in subject.pairs() for number in (pair.first, pair.second)}
    return sorted(taking_part.union(also))


def _scout(
    subject: Subject,
    first: Mapping[int, Drawn],
    plan: DrawPlan,
    alpha: float,
    randomness: Randomness,
) -> list[Choice]:
    """The events to decide on: those that promise most after a second look at some inputs."""
    pairs = [pair for pair in subject.pairs() if strictness(pair) < math.inf]
    outputs = {number: drawn.outputs for number, drawn in first.items()}
    choices = _choices(subject, pairs, outputs, plan, alpha)
    if plan.second:
        again = {n for choice in leading(choices, LOOKED_AT_AGAIN) for n in choice.inputs}
        more = draw_each(subject, sorted(again), plan.second, randomness)
        for number, drawn in more.items():
            outputs[number] = np.concatenate([outputs[number], drawn.outputs])
        pairs = [pair for pair in pairs if {pair.first, pair.second} <= again]
        choices = _choices(subject, pairs, outputs, plan, alpha)
    return leading(choices, DECIDED)[: plan.pairs]


def _choices(
    subject: Subject,
    pairs: Sequence[Pair],
    outputs: Mapping[int, Outputs],
    plan: DrawPlan,
    alpha: float,
) -> list[Choice]:
    seen = {number: SampleHalves.of(found) for number, found in outputs.items()}
    level = plan.level(alpha)
    found = []
    for pair in pairs:
        width = expect_width(seen[pair.first].choose.total, plan.held, level)
        found.append(propose_events(subject, pair, seen, width))
    return [choice for choice in found if choice is not None]


def leading(choices: Sequence[Choice], inputs: int) -> list[Choice]:
    """Those that promise most, as long as they need no more than so many inputs together."""
    kept: list[Choice] = []
    taking_part: set[int] = set()
    for choice in sorted(choices, key=lambda choice: -choice.promise):
        if len(taking_part.union(choice.inputs)) <= inputs:
            taking_part.update(choice.inputs)
            kept.append(choice)
    return kept


def _repeat(
    subject: Subject, first: Mapping[int, Drawn], draws: int, alpha: float, randomness: Randomness
) -> str:
    """What is wrong if an input's draws come again under other randomness; mostly nothing."""
    liveliest = max(first, key=lambda number: _log_orders(first[number].equal), default=None)
    if liveliest is None:
        return ""
    count = min(draws, REPEATED_DRAWS)
    once, again = (subject.draw(liveliest, count, randomness.stream(n)) for n in range(2))
    if _log_orders(once) <= math.log(1 / (REPEAT_SHARE * alpha)):
        return ""  # so few orders that chance might do it
    same = np.array_equal(once, again)
    return REPEATED.format(name=subject.name(liveliest)) if same else ""


def _log_orders(outputs: Outputs) -> float:
    """The logarithm of how many orders these outputs have."""
    counts = np.unique(outputs, axis=0, return_counts=True)[1].tolist()
    return math.lgamma(len(outputs) + 1) - sum(math.lgamma(count + 1) for count in counts)


# Up to so many words all are glanced at; of a larger space so many of them, unless more are asked.
ALL_GLANCED, SOME_GLANCED = 2048, 256
# How often a word is glanced at.
FEWEST, MOST = 8, 32
# Claims are looked up for those that stand out most: on a large space that takes time.
ALL_COMPARED, COMPARED = 128, 32
TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Glances:
    """How many draws may be made in all, for how many words at least, and what could be shown.

    A word of which more is allowed than draws could show is no use as a suspect.
    """

    draws: int
    words: int
    reach: float


def suspects(mechanism: PointMechanism, glances: Glances, randomness: Randomness) -> list[int]:
    """Words that stand out against their nearest, most suspect first."""
    size = len(mechanism.space)
    few = size if size <= ALL_GLANCED else min(size, max(SOME_GLANCED, glances.words))
    words = randomness.stream(0).choose(size, few).astype(np.intp)
    others, away = nearest_others(mechanism.space, words)
    points = np.union1d(words, others)
    passes = int(np.clip(glances.draws // len(points), FEWEST, MOST))
    subject = WordSubject(mechanism=mechanism, chosen=())
    outputs = draw_once_each(subject, points, passes, randomness.stream(1))
    mine = outputs[np.searchsorted(points, words)]
    theirs = outputs[np.searchsorted(points, others)]
    usual = most_frequent(mine)[:, None]
    often, elsewhere = (mine == usual).sum(axis=1), (theirs == usual).sum(axis=1)
    seems = np.maximum(apart(often, elsewhere), apart(passes - elsewhere, passes - often))
    # Of two that stand out equally, the one whose nearest is nearer: the stricter claim.
    first = np.lexsort((away, -seems))[: COMPARED if size > ALL_GLANCED else ALL_COMPARED]
    pairs = zip(words[first].tolist(), others[first].tolist(), strict=True)
    bounds = np.array([loss_bounds(mechanism, word)[other] for word, other in pairs])
    order = np.argsort(bounds - seems[first], kind="stable")
    order = order[bounds[order] <= glances.reach]
    return words[first[order]].tolist()  # type: ignore[no-any-return]


def apart(often: Points, seldom: Points) -> NDArray[np.float64]:
    """By how many nats one count exceeds another at least, if both are off by a standard error."""
    many, few = often + 0.5, seldom + 0.5
    least, most = np.maximum(many - np.sqrt(many), TINY), few + np.sqrt(few)
    found: NDArray[np.float64] = np.log(least / most)
    return found


def most_frequent(outputs: Points) -> Points:
    """Of each row, what is in it most often; of several, the smallest.

    >>> most_frequent(np.array([[3, 1, 3], [2, 0, 1]])).tolist()
    [3, 0]
    """
    ordered = np.sort(outputs, axis=1)
    counts = (ordered[:, :, None] == ordered[:, None, :]).sum(axis=2)
    places = counts.argmax(axis=1)
    found: Points = ordered[np.arange(len(ordered)), places]
    return found
