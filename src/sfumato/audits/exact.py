"""Refute by arithmetic: where a mechanism knows its probabilities, they are compared directly.

What is proven
    For two inputs and every output the claim is compared with ln P[y | x] − ln P[y | x'], up to the
    rounding of float64: a log-probability is assumed to be correct up to ``SLACK`` times its size
    (or ``SLACK``, if that is more). A probability below the normal numbers of float64, where digits
    are lost, is taken to be any such number. So rounding and underflow refute no claim. With a
    delta the event is the set of all outputs that exceed the bound. A row that does not add up to 1
    is no probability distribution, and refutes every claim.

Care
    This tests the rows only. A mechanism that does not draw from its rows, or that draws from parts
    of rows computed in another way, is sampled as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sfumato.audits.points import bounds_among
from sfumato.audits.subject import point_name
from sfumato.audits.verdict import Finding, Witness
from sfumato.core.arrays import Floats, Points
from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import Advance
from sfumato.mechanisms.claims import covered_outputs
from sfumato.mechanisms.rows import RowMechanism

SLACK = 1e-9
# ln of the smallest normal number of float64, rounded up.
SMALLEST = -708.0
# Numbers subtracted at once: few enough for the cache of a processor.
CELLS = 1 << 17


@dataclass(frozen=True, slots=True)
class _Worst:
    """Two points of a batch, their rank, and by how much they exceed the claim beyond the slack."""

    rank: float
    excess: float
    first: int
    second: int
    bound: float


def check_rows(
    mechanism: RowMechanism, batches: Iterable[Points], where: str, advance: Advance
) -> Finding:
    """Compare all pairs within each batch of points with what is claimed of them."""
    finding = Finding(method="exact", where=where, pairs=0, inputs=0, refuted=False)
    rank = -math.inf
    for points in batches:
        rows = _rows(mechanism, points)
        if defect := _defect(mechanism, points, rows):
            return replace(finding, refuted=True, defect=defect)
        rows = rows[:, covered_outputs(mechanism)]
        worst, pairs = _worst(mechanism, points, rows, advance)
        finding = replace(finding, pairs=finding.pairs + pairs, inputs=finding.inputs + len(points))
        if worst is not None and worst.rank > rank:
            rank = worst.rank
            witness = _witness(mechanism, points, rows, worst)
            finding = replace(finding, witness=witness, refuted=worst.excess > 0)
    return finding


def _rows(mechanism: RowMechanism, points: Points) -> Floats:
    rows = np.asarray(mechanism.log_rows(points), dtype=np.float64)
    expected = (len(points), len(mechanism.space))
    if rows.shape != expected:
        raise InvalidArgument(
            f"{type(mechanism).__name__}.log_rows(points) gave numbers of shape {rows.shape}; one "
            f"row per point and one column per word would be {expected}"
        )
    return rows


def _defect(mechanism: RowMechanism, points: Points, rows: Floats) -> str:
    """Why a row is no probability distribution; empty if all rows are."""
    sums = np.exp(rows).sum(axis=1)
    wrong = ~(np.abs(sums - 1) <= SLACK * max(1.0, math.sqrt(rows.shape[1])))
    if not wrong.any():
        return ""
    place = int(wrong.argmax())
    name = point_name(mechanism.space, int(points[place]))
    return (
        f"the probabilities of all outputs for {name} add up to {sums[place]:.10g}, not to 1, so "
        "these rows are no probability distributions"
    )


def _worst(
    mechanism: RowMechanism, points: Points, rows: Floats, advance: Advance
) -> tuple[_Worst | None, int]:
    """The ordered pair with the largest excess, and how many pairs a claim is made of."""
    delta, bounds = mechanism.guarantee().delta, bounds_among(mechanism, points)
    np.fill_diagonal(bounds, np.inf)
    claimed = np.isfinite(bounds)
    raised = np.maximum(rows, SMALLEST)
    raised += SLACK * np.maximum(1.0, np.abs(raised))
    found: _Worst | None = None
    size = max(1, CELLS // rows.shape[1])
    for first in range(len(points)):
        lowered = rows[first] - SLACK * np.maximum(1.0, np.abs(rows[first]))
        others = np.flatnonzero(claimed[first])
        for start in range(0, len(others), size):
            block = others[start : start + size]
            allowed = bounds[first, block]
            excess = _excess(lowered, raised[block], allowed, delta)
            ranks = rank_of(excess, allowed)
            place = int(ranks.argmax())
            if found is None or ranks[place] > found.rank:
                found = _Worst(
                    float(ranks[place]), float(excess[place]), first, int(block[place]),
                    float(allowed[place]),
                )  # fmt: skip
        advance(first + 1)
    return found, int(np.triu(claimed | claimed.T).sum())


def rank_of(excess: Floats, bounds: Floats) -> Floats:
    """Pairs that exceed their bound rank first, by the excess; the others by loss / bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(bounds > 0, 1 + excess / bounds, 0.0)
    ranks: Floats = np.where(excess > 0, 2 + excess, shares)
    return ranks


def _excess(lowered: Floats, raised: Floats, bounds: Floats, delta: float) -> Floats:
    """By how much, in nats, one row exceeds the claim against each of several others."""
    differences = lowered - raised
    if delta == 0:
        largest: Floats = differences.max(axis=1) - bounds
        return largest
    inside = differences > bounds[:, None]
    likelier = np.where(inside, np.exp(lowered), 0.0).sum(axis=1) - delta
    unlikelier = np.where(inside, np.exp(raised), 0.0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # ln 0 or less, where nothing exceeds
        ratios = np.log(np.maximum(likelier, 0.0)) - np.log(unlikelier)
    found: Floats = np.nan_to_num(ratios - bounds, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    return found


def _witness(mechanism: RowMechanism, points: Points, rows: Floats, worst: _Worst) -> Witness:
    """The pair and the event, with probabilities as they are in the rows."""
    space, delta = mechanism.space, mechanism.guarantee().delta
    outputs = np.flatnonzero(covered_outputs(mechanism))
    first, second = rows[worst.first], rows[worst.second]
    with np.errstate(invalid="ignore"):  # 0 against 0 is no difference
        differences = np.nan_to_num(first - second, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    if delta == 0:
        output = int(differences.argmax())
        inside = np.arange(len(outputs)) == output
        event = f"the output is {point_name(space, int(outputs[output]))}"
        loss = float(differences[output])
    else:
        inside = differences > worst.bound
        event = f"the output is one of {int(inside.sum()):,} words that exceed the bound"
        gained = float(np.exp(first[inside]).sum()) - delta
        lost = float(np.exp(second[inside]).sum())
        loss = _log(gained) - _log(lost) if gained > 0 else -math.inf
    return Witness(
        first=point_name(space, int(points[worst.first])),
        second=point_name(space, int(points[worst.second])),
        event=event,
        likelier=float(np.exp(first[inside]).sum()),
        unlikelier=float(np.exp(second[inside]).sum()),
        loss=loss,
        bound=worst.bound,
        exact=True,
    )


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
