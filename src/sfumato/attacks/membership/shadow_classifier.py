"""Shadow models: learn on models whose members are known what a member looks like.

Every shadow was trained on a random half of the candidates, so it is known which of them it has
seen. A classifier learns to tell the two halves apart from the signals of the tokens, over all
shadows together, and is then asked about the target. Which half a candidate was in says nothing
about the target, so learning on the very texts that are judged afterwards gives nothing away.

Reference
    Shokri et al. 2017, "Membership inference attacks against machine learning models".
"""

from __future__ import annotations

import numpy as np

from sfumato.attacks.membership.evidence import Evidence, Values, neutral
from sfumato.attacks.membership.logistic import fitted
from sfumato.attacks.membership.token_signals import features


def learnt(evidence: Evidence, share: float) -> Values:
    """The logarithm of the odds that a candidate is a member."""
    shadows = evidence.insiders
    rows = np.concatenate([_filled(features(t, evidence.texts, share)) for t in shadows.tables])
    asked = features(evidence.target, evidence.texts, share)
    mean, deviation = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-9)
    classifier = fitted((rows - mean) / deviation, shadows.inside.ravel())
    found = classifier.score((_filled(asked) - mean) / deviation)
    return np.where(np.isnan(asked[:, 0]), np.nan, found)


def _filled(rows: Values) -> Values:
    return np.column_stack([neutral(column) for column in rows.T])
