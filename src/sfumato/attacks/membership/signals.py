"""The signals by name: what each needs, and how it is computed from the evidence.

For all of them higher means member.

From the target's token probabilities alone

- ``loss``: the mean ln p per token.
- ``zlib``: Σ ln p divided by the length of the compressed text in bytes, so that text which is easy
  for every model does not count as known.
- ``min-k``: the mean of the smallest ln p: a text that was not seen contains a few surprises.
- ``min-k++``: the same after each ln p was standardized by the mean and the standard deviation of
  ln p at its position, so that a position where every token is improbable is no surprise.
- ``neighborhood``: the mean loss of the text's neighbors minus the loss of the text.

Min-K takes at least one token of a short text. A position where all tokens are equally probable has
standard deviation 0; its standardized value is 0.

From the labels alone that a classifier gives (``label_only.py``)

- ``gap``: whether the label is right.
- ``label-robustness``: the share of the text and of altered copies that get the right label.

Against models that were not trained on the text

- ``reference``: the mean loss of the references minus the loss of the target.
- ``reference-rank``: the share of references whose loss is larger, a tie counting one half. The
  rule of MIA-R calls a text a member if the target's loss is below a percentile of the references'.
- ``rmia``: the target's likelihood ratio p(x|target) / p(x) against that of every other candidate
  z: the share of z that x beats by the factor γ. p(x) is the mean of p_in and p_out, the mean
  likelihoods under models that were and were not trained on x. Without shadows p_in is
  approximated by a·p_out + 1 − a.
- ``lira-offline``: by how many standard deviations φ of the target exceeds its mean over models
  that were not trained on the text, where φ = ln(p / (1 − p)).

A likelihood is that of a token (the exponential of the mean ln p), so that texts of different
lengths can be compared. φ is close to normal over models that differ in their training texts. All
candidates serve as z, members or not: their membership is not used.

Against shadows, which were trained on random halves of the candidates

- ``lira-online``: the log-ratio of two normal densities of φ, for models with and without the text.
- ``shadow``: a classifier learns to tell texts inside from texts outside, from the token signals
  over all shadows together, and is then applied to the target. The halves of the shadows are
  independent of the target's members, so learning on the same texts gives nothing away.

Care
    Many models are needed to estimate a standard deviation. With fewer than 64 it is shared: the
    variances of all texts are averaged, each around the mean of its own text. A single model has no
    variance; then the standard deviation is 1, which changes no order.

Reference
    Yeom et al. 2018, "Privacy risk in machine learning"; Carlini et al. 2021, "Extracting training
    data from large language models"; Shi et al. 2024, "Detecting pretraining data from large
    language models"; Zhang et al. 2025, "Min-K%++"; Mattern et al. 2023 (neighborhood);
    Mireshghallah et al. 2022, "Quantifying privacy risks of masked language models using membership
    inference attacks" (MIA-R); Zarifzadeh et al. 2024, "Low-cost high-power membership inference
    attacks" (RMIA); Carlini et al. 2022, "Membership inference attacks from first principles"
    (LiRA); Shokri et al. 2017, "Membership inference attacks against machine learning models";
    Choquette-Choo et al. 2021, "Label-only membership inference attacks".
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.membership.classifier import fit_logistic
from sfumato.attacks.membership.evidence import (
    Evidence,
    OtherModels,
    ScoreTable,
    losses,
    neutral,
    possible,
)
from sfumato.attacks.token_scores import TokenScores
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument

TOKENS, TEXTS, AROUND, OUTSIDE, SHADOWS = "tokens", "texts", "around", "outside", "shadows"
LABELS, COPIES = "labels", "copies"
# A standard deviation below this is rounding error.
FLAT = 1e-4
# With at least this many models each text gets its own standard deviation.
MANY_MODELS = 64
# The smallest loss and the smallest standard deviation that are told apart from 0.
SMALLEST_LOSS = 1e-6
LEAST_DEVIATION = 1e-6
NEEDS = {
    TOKENS: "need members and others (`members=FILE, others=FILE`)",
    TEXTS: "need the probabilities of tokens, which a classifier does not give",
    AROUND: "need the probabilities of tokens, which a classifier does not give",
    LABELS: "need a classifier, which gives labels",
    COPIES: "need a classifier, which gives labels",
    OUTSIDE: "need models trained without the members: `reference=[RUN]`, as many as there are "
    "(`sfumato.train(TEXT, RUN, epsilon=inf)` makes one), or `settings={'shadows': 8}`",
    SHADOWS: "need models trained on random halves of the texts: `settings={'shadows': 8}`, on the "
    "folder of a run (4 at least for lira-online)",
}


def difference(evidence: Evidence) -> Floats:
    """Mean loss of the models without the text, minus the target's."""
    return mean_known(evidence.outsiders.outside) - evidence.losses


def rank(evidence: Evidence) -> Floats:
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


def relative(evidence: Evidence, gamma: float, offset: float) -> Floats:
    """RMIA: the share of candidates that a text beats by the factor ``gamma``."""
    others = evidence.outsiders
    usual = _usual(others, offset)
    ratios = -evidence.losses - np.log(usual)
    known = ~np.isnan(ratios)
    ordered = np.sort(ratios[known])
    # A text beats itself if γ <= 1, but it is no other candidate.
    itself = 1 if gamma <= 1 else 0
    beaten = np.searchsorted(ordered, ratios - math.log(gamma), side="right") - itself
    return np.where(known, beaten / max(1, len(ordered) - 1), np.nan)


def _usual(others: OtherModels, offset: float) -> Floats:
    likelihoods = np.exp(-others.losses)
    without = mean_known(np.where(others.inside, np.nan, likelihoods))
    if others.inside.any(axis=0).all():
        with_it = mean_known(np.where(others.inside, likelihoods, np.nan))
        return (with_it + without) / 2
    return ((1 + offset) * without + (1 - offset)) / 2


def mean_known(values: Floats) -> Floats:
    """The mean of each column without NaN; NaN for a column of NaN only."""
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    sums = np.where(known, values, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(1, counts), np.nan)


def neighborhood(evidence: Evidence) -> Floats:
    """The mean loss of a text's neighbors minus the loss of the text."""
    if evidence.around is None:
        raise InvalidArgument("this signal needs the losses of neighbors")
    return evidence.around - evidence.losses


def right(evidence: Evidence) -> Floats:
    """Whether a classifier gives a text its label."""
    if evidence.answers is None:
        raise InvalidArgument("this signal needs the labels that a classifier gives")
    return evidence.answers.right


def robustness(evidence: Evidence) -> Floats:
    """The share of a text and its altered copies that a classifier gives the text's label."""
    if evidence.answers is None or evidence.answers.kept is None:
        raise InvalidArgument("this signal needs the labels that a classifier gives to copies")
    return evidence.answers.kept


def likelihood(evidence: Evidence) -> Floats:
    """The negative loss."""
    return -evidence.losses


def compress_likelihood(evidence: Evidence) -> Floats:
    """The sum of ln p divided by the length of the compressed text."""
    return _compress(evidence.target, evidence.texts)


def smallest(evidence: Evidence, share: float) -> Floats:
    """The mean of the smallest ln p."""
    return _each(evidence.target, possible, share)


def smallest_standardized(evidence: Evidence, share: float) -> Floats:
    """The mean of the smallest ln p, each standardized at its position."""
    return _each(evidence.target, standardize_tokens, share)


def standardize_tokens(scores: TokenScores) -> Floats:
    """The ln p of each token, standardized by mean and standard deviation at its position."""
    deviation = scores.deviation.astype(np.float64)
    distance = possible(scores) - scores.mean
    flat = deviation < FLAT
    return np.where(flat, 0.0, distance / np.where(flat, 1.0, deviation))


def features(table: ScoreTable, texts: Sequence[str], share: float) -> Floats:
    """The token signals side by side, one row for each text."""
    columns = (
        -losses(table),
        _compress(table, texts),
        _each(table, possible, share),
        _each(table, standardize_tokens, share),
    )
    return np.column_stack(columns)


def _compress(table: ScoreTable, texts: Sequence[str]) -> Floats:
    information = np.array([possible(one).sum() if len(one) else np.nan for one in table])
    lengths = np.array([len(zlib.compress(text.encode())) for text in texts], np.float64)
    return np.asarray(information / lengths, np.float64)


def _each(table: ScoreTable, values: Callable[[TokenScores], Floats], share: float) -> Floats:
    return np.array([_lowest(values(one), share) for one in table], np.float64)


def _lowest(values: Floats, share: float) -> float:
    if not len(values):
        return float("nan")
    count = max(1, int(share * len(values)))
    return float(np.partition(values, count - 1)[:count].mean())


def offline(evidence: Evidence) -> Floats:
    """Standard deviations of φ of the target above the mean of models without the text."""
    mean, deviation = moments(statistic(evidence.outsiders.outside))
    return (statistic(evidence.losses) - mean) / deviation


def online(evidence: Evidence) -> Floats:
    """The log-ratio of the densities of φ for models with and without the text."""
    shadows, own = evidence.insiders, statistic(evidence.losses)
    found = statistic(shadows.losses)
    with_it = moments(np.where(shadows.inside, found, np.nan))
    without = moments(np.where(shadows.inside, np.nan, found))
    return _log_density(own, *with_it) - _log_density(own, *without)


def statistic(losses: Floats) -> Floats:
    """ln(p / (1 − p)) for p = exp(−loss).

    >>> np.round(statistic(np.array([np.log(2.0), 20.0])), 6).tolist()
    [0.0, -20.0]
    """
    floored = np.maximum(losses, SMALLEST_LOSS)
    # ln p − ln(1 − p), without overflow and without loss of digits.
    return -floored - np.log(-np.expm1(-floored))


def moments(values: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column; with few rows the latter is shared by all."""
    mean = mean_known(values)
    counts = (~np.isnan(values)).sum(axis=0)
    squares = np.where(np.isnan(values), 0.0, np.square(values - mean)).sum(axis=0)
    if len(values) >= MANY_MODELS and counts[counts > 0].min(initial=len(values)) > 1:
        variance = squares / np.maximum(1, counts - 1)
    else:
        freedom = np.maximum(counts - 1, 0).sum()
        variance = np.full(len(mean), squares.sum() / freedom if freedom else 1.0)
    return mean, np.maximum(np.sqrt(variance), LEAST_DEVIATION)


def _log_density(value: Floats, mean: Floats, deviation: Floats) -> Floats:
    return -np.log(deviation) - np.square((value - mean) / deviation) / 2


def learn_from_shadows(evidence: Evidence, share: float) -> Floats:
    """The log-odds that a candidate is a member."""
    shadows = evidence.insiders
    rows = np.concatenate([_fill(features(t, evidence.texts, share)) for t in shadows.tables])
    asked = features(evidence.target, evidence.texts, share)
    mean, deviation = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-9)
    classifier = fit_logistic((rows - mean) / deviation, shadows.inside.ravel())
    found = classifier.score((_fill(asked) - mean) / deviation)
    return np.where(np.isnan(asked[:, 0]), np.nan, found)


def _fill(rows: Floats) -> Floats:
    return np.column_stack([neutral(column) for column in rows.T])


@dataclass(frozen=True, kw_only=True)
class Knobs:
    """Settings of the signals.

    ``share`` is the share of least probable tokens in Min-K; ``gamma`` and ``offset`` are RMIA's γ
    and a.
    """

    share: float
    gamma: float
    offset: float


@dataclass(frozen=True)
class Signal:
    """What a signal needs and how it scores the candidates."""

    needs: str
    score: Callable[[Evidence, Knobs], Floats]


SIGNALS: dict[str, Signal] = {
    "loss": Signal(TOKENS, lambda evidence, _: likelihood(evidence)),
    "zlib": Signal(TEXTS, lambda evidence, _: compress_likelihood(evidence)),
    "min-k": Signal(TEXTS, lambda evidence, knobs: smallest(evidence, knobs.share)),
    "min-k++": Signal(TEXTS, lambda evidence, knobs: smallest_standardized(evidence, knobs.share)),
    "neighborhood": Signal(AROUND, lambda evidence, _: neighborhood(evidence)),
    "gap": Signal(LABELS, lambda evidence, _: right(evidence)),
    "label-robustness": Signal(COPIES, lambda evidence, _: robustness(evidence)),
    "reference": Signal(OUTSIDE, lambda evidence, _: difference(evidence)),
    "reference-rank": Signal(OUTSIDE, lambda evidence, _: rank(evidence)),
    "lira-offline": Signal(OUTSIDE, lambda evidence, _: offline(evidence)),
    "rmia": Signal(
        OUTSIDE,
        lambda evidence, knobs: relative(evidence, knobs.gamma, knobs.offset),
    ),
    "lira-online": Signal(SHADOWS, lambda evidence, _: online(evidence)),
    "shadow": Signal(SHADOWS, lambda evidence, knobs: learn_from_shadows(evidence, knobs.share)),
}


def score_signal(name: str, evidence: Evidence, knobs: Knobs) -> Floats:
    """The score of each candidate; neutral for a text that gives no evidence."""
    return neutral(SIGNALS[name].score(evidence, knobs))
