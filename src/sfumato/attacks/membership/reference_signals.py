"""Signals that compare the target with models that have not seen the text; higher means member.

- ``reference``: how much smaller the target's loss is than the mean of the references'.
- ``reference-rank``: the share of references whose loss is larger, a tie counting one half. The
  rule of MIA-R calls a text a member if the target's loss is below a percentile of the references'.
- ``rmia``: the target's likelihood ratio p(x|target) / p(x) against that of every other candidate
  z: the share of z that x beats by the factor γ. p(x) is the mean over references that have not
  seen x, moved towards what models that have seen it would say by p_in ≈ a·p_out + 1 − a; or with
  shadows the mean over those that have and have not, half and half.

A likelihood is that of a token (the exponential of the mean ln p), so that texts of different
lengths can be compared. The candidates z are taken whatever they are: their membership is not used.

Reference
    Mireshghallah et al. 2022, "Quantifying privacy risks of masked language models using membership
    inference attacks" (MIA-R); Zarifzadeh et al. 2024, "Low-cost high-power membership inference
    attacks" (RMIA).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.membership.evidence import Evidence, OtherModels, Values


def difference(evidence: Evidence) -> Values:
    """Mean loss of those that have not seen the text, less the target's."""
    return mean_known(evidence.outsiders.outside) - evidence.losses


def rank(evidence: Evidence) -> Values:
    """The share of models without the text whose loss is larger."""
    outside, own = evidence.outsiders.outside, evidence.losses
    larger = (outside > own) + 0.5 * (outside == own)
    known = ~np.isnan(outside)
    return np.where(np.isnan(own), np.nan, larger.sum(axis=0) / np.maximum(1, known.sum(axis=0)))


def below_percentile(evidence: Evidence, alpha: float) -> NDArray[np.bool_]:
    """MIA-R's rule: whether the target's loss is below that percentile of the references'."""
    outside = evidence.outsiders.outside
    comparable = ~np.isnan(evidence.losses) & ~np.isnan(outside).all(axis=0)
    found = np.zeros(len(comparable), dtype=np.bool_)
    bounds = np.nanquantile(outside[:, comparable], alpha, axis=0)
    found[comparable] = evidence.losses[comparable] < bounds
    return found


def relative(evidence: Evidence, gamma: float, offset: float) -> Values:
    """RMIA: the share of candidates that a text beats by the factor ``gamma``."""
    others = evidence.outsiders
    usual = _usual(others, offset)
    ratios = -evidence.losses - np.log(usual)
    known = ~np.isnan(ratios)
    ordered = np.sort(ratios[known])
    # Against itself a text has the ratio 1: it is no other candidate.
    itself = 1 if gamma <= 1 else 0
    beaten = np.searchsorted(ordered, ratios - math.log(gamma), side="right") - itself
    return np.where(known, beaten / max(1, len(ordered) - 1), np.nan)


def _usual(others: OtherModels, offset: float) -> Values:
    likelihoods = np.exp(-others.losses)
    without = mean_known(np.where(others.inside, np.nan, likelihoods))
    if others.inside.any(axis=0).all():
        with_it = mean_known(np.where(others.inside, likelihoods, np.nan))
        return (with_it + without) / 2
    return ((1 + offset) * without + (1 - offset)) / 2


def mean_known(values: Values) -> Values:
    """The mean of each column's numbers; no number where there is none."""
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    sums = np.where(known, values, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(1, counts), np.nan)
