"""Try to refute a claimed guarantee.

A mechanism that knows its probabilities (rows) is checked by arithmetic. All others, and those that
do not draw from their rows, are checked by sampling: events are learned on some draws and tested on
others. One verdict covers all rounds, and so does the false-alarm budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.events import Pair
from sfumato.audits.exact import check_rows
from sfumato.audits.falsify import FEWEST_DRAWS, DrawPlan, falsify, inputs_of
from sfumato.audits.independence import TEXT_DRAWS, TextSubject
from sfumato.audits.points import (
    ALL_SAMPLED,
    SOME_SAMPLED,
    Glances,
    batches,
    sample_pairs,
    strictness,
    suspects,
    thin,
)
from sfumato.audits.subject import Subject, WordSubject, check_claims_something
from sfumato.audits.verdict import Finding, Verdict
from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import progress
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.draws import PartwiseRows
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import ByDistance, FromRows, RowMechanism

# Up to this many points all pairs are compared exactly.
SMALL = 2000
EXACT_PAIRS = 3000
# Log-probabilities held at once when rows are compared (64 MB).
CELLS = 1 << 23
# Draws for each input in a small space, and for inputs that are no words. In a larger space, draws
# in all, by how expensive a draw is.
DRAWS_SMALL, DRAWS_NO_WORDS = 36_000, 20_000
ALL_DRAWS, ALL_DRAWS_LARGE = 240_000, 56_000
# The share of all draws for a first look at every word.
GLANCES = 1 / 16
# How many pairs of a large space are tested unless more are asked for.
SOME_PAIRS = 150
# If draws can test no pair, the points of so many pairs are still tested for company.
COMPANY = 16


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard to try; what is None depends on the size of the space."""

    pairs: int | None = None
    draws: int | None = None

    def __post_init__(self) -> None:
        if self.pairs is not None:
            at_least("pairs", self.pairs, 1)
        if self.draws is not None:
            at_least("draws", self.draws, FEWEST_DRAWS)

    def draws_for(self, words: int, inputs: int) -> int:
        """Average draws for each of so many inputs, in a space of so many words."""
        if self.draws is not None:
            return self.draws
        if words < ALL_SAMPLED:
            return DRAWS_SMALL
        return (ALL_DRAWS if words <= SMALL else ALL_DRAWS_LARGE) // max(1, inputs)


def refute(
    subject: PointMechanism | Subject,
    *also: PointMechanism | Subject,
    confidence: float = 0.99,
    effort: Effort | None = None,
    randomness: Randomness | None = None,
) -> Verdict:
    """Try to break what a mechanism, or any subject, claims.

    ``also`` holds the same mechanism over other spaces: a claim must hold over all of them.

    >>> from sfumato.audits.candidates import color_space
    >>> from sfumato.mechanisms.exponential import Exponential
    >>> verdict = refute(Exponential(space=color_space(2.0), epsilon=2.0))
    >>> verdict.refuted, verdict.pairs
    (False, 820)
    """
    if not 0 < confidence < 1:
        raise InvalidArgument(f"confidence={confidence} must lie between 0 and 1, both excluded")
    effort, source = effort or Effort(), randomness or Randomness.secure()
    rounds = [one for given in (subject, *also) for one in _rounds(given)]
    alpha = (1 - confidence) / max(1, sum(how is not _exact for how, _ in rounds))
    findings = [
        how(given, effort, alpha, source.stream(number))
        for number, (how, given) in enumerate(rounds)
    ]
    claim, delta = _read_claim(subject)
    return Verdict(claim=claim, findings=tuple(findings), confidence=confidence, delta=delta)


Round = Callable[[Any, Effort, float, Randomness], Finding]


def _rounds(subject: PointMechanism | Subject) -> Iterator[tuple[Round, PointMechanism | Subject]]:
    """The methods by which a subject is tested."""
    if not isinstance(subject, PointMechanism):
        yield _describe_draws, subject
        return
    check_claims_something(subject)
    has_rows = _has_rows(subject)
    if has_rows:
        yield _exact, subject
    if not has_rows or not _draws_from_rows(subject):
        yield _sample, subject


def _has_rows(mechanism: PointMechanism) -> bool:
    """Whether its probabilities are known; some mechanisms refuse at some levels."""
    if not isinstance(mechanism, RowMechanism):
        return False
    try:
        mechanism.log_rows(np.zeros(1, dtype=np.intp))
    except InvalidArgument:
        return False
    return True


def _draws_from_rows(mechanism: PointMechanism) -> bool:
    """Whether draws come from the very rows that arithmetic checks.

    Rows say nothing about draws from another method, nor about draws from parts of rows if a class
    overrides how rows or parts are computed.
    """
    kind = type(mechanism)
    if getattr(kind, "privatize", None) is not FromRows.privatize:
        return False
    return not isinstance(mechanism, PartwiseRows) or all(
        getattr(kind, name) is getattr(ByDistance, name, None)
        for name in ("log_rows", "weights", "block_sums")
    )


def _read_claim(subject: PointMechanism | Subject) -> tuple[str, float]:
    if isinstance(subject, PointMechanism):
        return subject.guarantee().sentence(), subject.guarantee().delta
    return subject.claim, subject.delta


def _exact(
    mechanism: RowMechanism, effort: Effort, alpha: float, randomness: Randomness
) -> Finding:
    del alpha  # arithmetic raises no false alarm
    space = mechanism.space
    points, total = len(space) + 1, None
    if points <= SMALL and (effort.pairs is None or effort.pairs >= points * (points - 1) // 2):
        total = points
        chosen: Iterable[NDArray[np.intp]] = [np.arange(points, dtype=np.intp)]
    else:
        most = max(8, CELLS // len(space))
        chosen = batches(mechanism, effort.pairs or EXACT_PAIRS, most, randomness)
    with progress("comparing rows", total, unit_is_bytes=False) as advance:
        return check_rows(mechanism, chosen, space.name, advance)


def _sample(
    mechanism: PointMechanism, effort: Effort, alpha: float, randomness: Randomness
) -> Finding:
    space, asked = mechanism.space, effort.pairs
    is_small = len(space) < ALL_SAMPLED
    inputs = min(len(space) + 1, SOME_SAMPLED)
    draws = effort.draws_for(len(space), inputs)
    within = DrawPlan.of(inputs, draws, SOME_PAIRS).reach(alpha)
    first: list[int] = []
    if len(space) > 1 and not (is_small and asked is None):
        glances = Glances(int(GLANCES * inputs * draws), asked or 0, within)
        first = suspects(mechanism, glances, randomness.stream(2))
    every = sample_pairs(mechanism, first, asked, randomness.stream(0))
    # Pairs that no number of hits could refute would only waste draws.
    pairs = [pair for pair in every if strictness(pair) <= within]
    if asked is not None or not is_small:
        pairs = thin(pairs, asked or SOME_PAIRS, first)
    company = {number for pair in every[:COMPANY] for number in (pair.first, pair.second)}
    subject = WordSubject(
        mechanism=mechanism, chosen=pairs, company=() if pairs else sorted(company)
    )
    draws = effort.draws_for(len(space), len(inputs_of(subject)))
    finding = _describe_draws(subject, replace(effort, draws=draws), alpha, randomness.stream(1))
    note = "" if pairs else _out_of_reach(every, draws, within)
    return replace(finding, where=space.name, note=note)


def _describe_draws(
    subject: Subject, effort: Effort, alpha: float, randomness: Randomness
) -> Finding:
    enough = TEXT_DRAWS if isinstance(subject, TextSubject) else DRAWS_NO_WORDS
    draws = enough if effort.draws is None else effort.draws
    with progress("drawing", len(inputs_of(subject)), unit_is_bytes=False) as advance:
        found = falsify(subject, draws=draws, alpha=alpha, randomness=randomness, advance=advance)
    return replace(found, where=subject.where) if isinstance(subject, TextSubject) else found


def _out_of_reach(every: list[Pair], draws: int, within: float) -> str:
    if not every:
        return "nothing is claimed about any of the tested pairs"
    return (
        f"the strictest claim among them allows a ratio of exp({strictness(every[0]):.3g}), and "
        f"{draws:,} draws can show exp({within:.3g}) at most: sampling cannot test it here"
    )
