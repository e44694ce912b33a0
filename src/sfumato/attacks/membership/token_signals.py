"""Signals from the target's token probabilities alone; higher means member.

- ``loss``: how probable the text is, per token.
- ``zlib``: the same against how well the text can be compressed anyhow: Σ −ln p over the *length*
  of the compressed bytes, so that text which is easy for everybody does not pass for known.
- ``min-k``: the mean of the smallest ln p: a text that was not seen holds a few surprises.
- ``min-k++``: the same after each ln p was set against the mean and the deviation of ln p at its
  place, so that a place where everything is improbable surprises nobody.

Of a short text at least one token is taken. A place where all tokens are equally probable has
deviation 0, and the token there stands at the mean.

Reference
    Yeom et al. 2018, "Privacy risk in machine learning"; Carlini et al. 2021, "Extracting training
    data from large language models"; Shi et al. 2024, "Detecting pretraining data from large
    language models"; Zhang et al. 2025, "Min-K%++".
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np

from sfumato.attacks.membership.evidence import Evidence, Table, Values, losses, possible
from sfumato.attacks.token_scores import TokenScores

# Below it a deviation is rounding.
FLAT = 1e-4


def likelihood(evidence: Evidence) -> Values:
    """The negative loss."""
    return -evidence.losses


def compressed(evidence: Evidence) -> Values:
    """The negative information of a text against that of its compressed bytes."""
    return _compressed(evidence.target, evidence.texts)


def smallest(evidence: Evidence, share: float) -> Values:
    """The mean of the smallest ln p."""
    return _each(evidence.target, possible, share)


def smallest_standardized(evidence: Evidence, share: float) -> Values:
    """The mean of the smallest ln p, each against what is usual at its place."""
    return _each(evidence.target, standardized, share)


def standardized(scores: TokenScores) -> Values:
    """How far ln p of each token is from the mean at its place, in deviations."""
    deviation = scores.deviation.astype(np.float64)
    distance = possible(scores) - scores.mean
    flat = deviation < FLAT
    return np.where(flat, 0.0, distance / np.where(flat, 1.0, deviation))


def features(table: Table, texts: Sequence[str], share: float) -> Values:
    """All of these signals side by side, one row for each text."""
    columns = (
        -losses(table),
        _compressed(table, texts),
        _each(table, possible, share),
        _each(table, standardized, share),
    )
    return np.column_stack(columns)


def _compressed(table: Table, texts: Sequence[str]) -> Values:
    information = np.array([possible(one).sum() if len(one) else np.nan for one in table])
    lengths = np.array([len(zlib.compress(text.encode())) for text in texts], np.float64)
    return np.asarray(information / lengths, np.float64)


def _each(table: Table, values: Callable[[TokenScores], Values], share: float) -> Values:
    return np.array([_lowest(values(one), share) for one in table], np.float64)


def _lowest(values: Values, share: float) -> float:
    if not len(values):
        return float("nan")
    count = max(1, int(share * len(values)))
    return float(np.partition(values, count - 1)[:count].mean())
