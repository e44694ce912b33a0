"""A false claim about synthetic text: private evolution that copies the labels' true shares."""

from __future__ import annotations

import numpy as np

from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.subject import VectorSubject
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.synthesis.plan import VotingPlan
from sfumato.synthesis.shares import divide

CORPORA = (
    "a corpus with 40 records of one label and 21 of the other",
    "the corpus without one record of the rarer label",
)
EVOLUTION_EPSILON, EVOLUTION_DELTA = 1.0, 0.01
# The votes of the records before noise, by label and candidate; the first corpus has one more.
VOTES = np.array([[25, 15], [12, 8]])
TEXTS = 61


def evolved_corpus(*, true_counts: bool) -> VectorSubject:
    """The noisy votes of one round, and how many synthetic texts there are of each label.

    What is claimed
        Each record votes once and the votes get Gaussian noise for ``EVOLUTION_EPSILON`` and
        ``EVOLUTION_DELTA``; the synthetic corpus is made of what the noisy votes chose, so it has
        the same level.

    Why it is false
        In the published code the number of synthetic texts of each label follows the true number
        of records, which nothing was added to: one record more is one text more. (Besides, the
        votes before noise are written to disk. Whoever has that file needs no synthetic corpus.)

    Repair
        Equally many texts of each label, or as many as the sums of the noisy votes say
        (``synthesis/evolution.py``): that costs nothing more.

    Reference
        Xie et al. 2024, "Differentially private synthetic data via foundation model APIs 2: text":
        the published code of AUG-PE.
    """
    plan = VotingPlan(units=TEXTS, epsilon=EVOLUTION_EPSILON, delta=EVOLUTION_DELTA, rounds=1)

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        votes = VOTES.copy()
        votes[1, 0] += 1 - number
        drawn = np.rint(plan.noise * randomness.normal(count, votes.size))
        noisy = votes.ravel() + drawn
        if true_counts:
            texts = np.tile(divide(TEXTS, votes.sum(axis=1).tolist()), (count, 1))
        else:
            by_label = noisy.reshape(count, *votes.shape).sum(axis=2)
            texts = np.array([divide(TEXTS, one) for one in by_label.tolist()])
        shown: Floats = np.hstack([noisy, texts]).astype(np.float64)
        return shown

    return VectorSubject(
        claim=f"The corpus with a record and the one without are told apart by a factor of at most "
        f"exp({EVOLUTION_EPSILON:g}), but for a share of {EVOLUTION_DELTA:g}.",
        epsilon=EVOLUTION_EPSILON,
        inputs=CORPORA,
        source=source,
        delta=EVOLUTION_DELTA,
    )


AUG_PE_LABELS = Exhibit(
    name="aug-pe-labels",
    source="AUG-PE (Xie et al. 2024), the published code",
    claim="a synthetic corpus that noisy votes chose has the level of the votes",
    reason="how many texts a label gets follows the true number of records",
    repair="equally many, or as many as the noisy votes say (evolution)",
    broken=lambda: evolved_corpus(true_counts=True),
    repaired=lambda: evolved_corpus(true_counts=False),
)
