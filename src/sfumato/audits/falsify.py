"""Refute by sampling: look at every pair, then spend draws where the claim is nearest to breaking.

What is proven
    A true claim is refuted with probability at most ``alpha``, over all pairs, events and questions
    together. This budget is divided by fixed shares among three questions:

    - *Pairs.* Scouting draws choose the K pairs to test, with their events and directions. Then
      new draws are made, from a separate random stream. Given all scouting draws, the K events are
      fixed and the new draws are independent of them. So each of the 2K limits of Clopper and
      Pearson errs with probability at most share·alpha/(2K), and any of them with at most
      share·alpha (union bound). This holds for every outcome of scouting, so it holds
      unconditionally: the choice of what to test can be as free as one likes, because the draws
      that choose never decide.
    - *Company.* Whether a word's distribution depends on the other words in the call (``company``).
    - *Repetition.* A claim is about noise that nobody knows. Under fresh randomness, n outputs with
      multiplicities n_1, n_2, … occur in the very same order with probability at most
      n_1!·n_2!·…/n!: the n!/(n_1!·n_2!·…) orders of these outputs are equally likely, and their
      probabilities add up to at most 1. If that is below this question's share of alpha and the
      order repeats nevertheless, the noise does not come from the randomness: it can be reproduced,
      and the claim is false.

What can be detected
    With n held-out draws for each of two inputs and z the normal quantile of the level, an event
    of probabilities p and q is shown to exceed its bound if ln(p/q) − bound is above about
    z·(1/√(p·n) + 1/√(q·n)). ``DrawPlan`` says how large n is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.audits.company import Drawn, draw_each, on_company
from sfumato.audits.events import (
    Choice,
    DrawnSample,
    Outputs,
    Pair,
    SampleHalves,
    decide_event,
    expect_width,
    propose_events,
)
from sfumato.audits.points import strictness
from sfumato.audits.subject import DrawsTogether, Subject
from sfumato.audits.verdict import Finding
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness

FEWEST_DRAWS = 100
# Shares of all draws: for a first look at every input, and for a second look at some. The rest
# decides.
FIRST, SECOND = 0.35, 0.3
# How many inputs get a second look, and how many inputs and pairs are finally tested.
LOOKED_AT_AGAIN, DECIDED, DECIDED_PAIRS = 20, 5, 8
# Shares of the false-alarm budget for the questions of repetition and of company.
REPEAT_SHARE, COMPANY_SHARE = 0.01, 0.09
# This many draws have enough orders for every level, unless nearly all of them are equal.
REPEATED_DRAWS = 1000
REPEATED = (
    "drawn again with fresh randomness, the outputs for {name} come in the very same order: the "
    "noise does not come from the randomness, so it can be reproduced and removed"
)
ON_COMPANY = (
    "the output for a word depends on the other words in the call, so this is not one independent "
    "draw per word: {sentence}"
)


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """How many draws an input gets: in the first look, in the second, and in the final test."""

    first: int
    second: int
    held: int
    pairs: int

    @classmethod
    def of(cls, inputs: int, draws: int, pairs: int) -> DrawPlan:
        """A plan with ``inputs`` × ``draws`` draws in all.

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
        """The error probability of each limit, if all of them together may err with alpha."""
        return alpha / (2 * max(1, self.pairs))

    def reach(self, alpha: float) -> float:
        """The largest loss that draws can prove: an event that always happens, and never."""
        return math.log(self.held / -math.log(self.level(alpha)))


def falsify(
    subject: Subject, *, draws: int, alpha: float, randomness: Randomness, advance: Advance
) -> Finding:
    """Test the pairs of a subject, with ``draws`` for each input on average."""
    numbers, pairs = inputs_of(subject), subject.pairs()
    plan, share = DrawPlan.of(len(numbers), draws, len(pairs)), pairs_share(subject) * alpha
    first = draw_each(subject, numbers, plan.first, randomness.stream(0), advance)
    choices = _scout(subject, first, plan, share, randomness.stream(1))
    # From here on pairs and events are fixed. The draws that decide are made now.
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
    """The share of the false-alarm budget for pairs; larger if company is not tested."""
    return 1 - REPEAT_SHARE - (COMPANY_SHARE if isinstance(subject, DrawsTogether) else 0.0)


def inputs_of(subject: Subject) -> list[int]:
    """The inputs that take part in a pair, and those that are only drawn beside others."""
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
    """The events to test: the most promising ones after a second look at some inputs."""
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
    """The most promising choices, as long as together they need at most ``inputs`` inputs."""
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
    """What is wrong if an input's draws repeat under fresh randomness; usually empty."""
    liveliest = max(first, key=lambda number: _log_orders(first[number].equal), default=None)
    if liveliest is None:
        return ""
    count = min(draws, REPEATED_DRAWS)
    once, again = (subject.draw(liveliest, count, randomness.stream(n)) for n in range(2))
    if _log_orders(once) <= math.log(1 / (REPEAT_SHARE * alpha)):
        return ""  # so few orders that chance might repeat one
    same = np.array_equal(once, again)
    return REPEATED.format(name=subject.name(liveliest)) if same else ""


def _log_orders(outputs: Outputs) -> float:
    """The logarithm of the number of distinct orders of these outputs."""
    counts = np.unique(outputs, axis=0, return_counts=True)[1].tolist()
    return math.lgamma(len(outputs) + 1) - sum(math.lgamma(count + 1) for count in counts)
