"""How well a model predicts text it has not seen: all of it, and what a policy finds in it.

Figures
    ``perplexity`` and ``accuracy``: the exponential of the mean −ln p of a token, and the share of
    tokens that the model found likeliest. With a ``policy``, both are also given for the tokens in
    which it finds something, and for the others. Of a model that fills in spans, masks or the rest
    of a text, they are those of the tokens that it has to predict.

With ``by_document`` the details have the loss of each document and its tokens, so that two models
can be compared document by document: that tells them apart where their intervals meet, because
documents differ more from each other than models do.

Care
    Whoever has the model and the loss of a document can test guesses of what the document says. So
    losses by document are as private as the text, and are kept only if that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.text_target import policy_of
from sfumato.core.randomness import Randomness
from sfumato.core.settings import NAMES_POLICY
from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import Policy
from sfumato.results.measured import Measured, Predicted
from sfumato.results.row import HIGHER, LOWER, UTILITY
from sfumato.statistics.prediction import accuracy, perplexity
from sfumato.studies.measures.measure import MODEL, MeasureReading, Specimen

Mask = NDArray[np.bool_]
MeasurePredicted = Callable[[Sequence[Predicted], Randomness], Measured]
DIGITS = 2  # of the loss of a document, behind the point
_FIGURES: tuple[MeasurePredicted, ...] = (perplexity, accuracy)


@dataclass(frozen=True, kw_only=True)
class PerplexityMeasure:
    """Let a model predict documents; ``policy`` tells private tokens from others.

    With ``by_document`` the loss of every document is kept, which is as private as its text.
    """

    # It may be a private pattern, so it is not shown.
    policy: Annotated[str | tuple[str, ...] | Policy, NAMES_POLICY] = field(default=(), repr=False)
    by_document: bool = False

    name: ClassVar[str] = "perplexity"
    of: ClassVar[str] = MODEL
    role: ClassVar[str] = UTILITY
    better: ClassVar[Mapping[str, str]] = {"perplexity": LOWER, "accuracy": HIGHER}

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """Perplexity and top-1 accuracy."""
        predicted = specimen.each(self._predict)
        found = _measure([one for one, _ in predicted], randomness)
        masks = [mask for _, mask in predicted if mask is not None]
        if masks and specimen.group is None:
            both = [(one, mask) for one, mask in predicted if mask is not None]
            chosen = [one.only(mask) for one, mask in both]
            others = [one.only(~mask) for one, mask in both]
            # Each starts from the same randomness, so that none depends on the others.
            found += _measure(chosen, replace(randomness), ", private tokens")
            found += _measure(others, replace(randomness), ", other tokens")
        kept = [one for one, _ in predicted] if self.by_document else []
        return MeasureReading(figures=found, details=_by_document(kept))

    def _predict(self, specimen: Specimen) -> list[tuple[Predicted, Mask | None]]:
        from sfumato.training.evaluation import predict_tokens, refuse_selecting, select_tokens

        model = specimen.loaded(None)
        policy = self._policy()
        if policy is not None:
            refuse_selecting(model)
        scores = predict_tokens(model, specimen.documents)
        if policy is None:
            return [(one, None) for one in scores]
        masks = select_tokens(model, specimen.documents, policy)
        return list(zip(scores, masks, strict=True))

    def _policy(self) -> Policy | None:
        if isinstance(self.policy, str):
            return policy_of(self.policy) if self.policy else None
        if isinstance(self.policy, tuple):
            return combine_policies(list(self.policy), [], {}) if self.policy else None
        return self.policy


def _by_document(scores: Sequence[Predicted]) -> dict[str, list[float] | list[int]]:
    losses = [float(one.losses.sum()) for one in scores]
    if not losses or not all(map(math.isfinite, losses)):
        return {}
    return {
        "losses": [round(one, DIGITS) for one in losses],
        "tokens": [len(one.losses) for one in scores],
    }


def _measure(
    scores: Sequence[Predicted], randomness: Randomness, suffix: str = ""
) -> list[Measured]:
    if not any(len(one.losses) for one in scores):
        return []
    figures = [measure(scores, randomness) for measure in _FIGURES]
    return [replace(one, metric=one.metric + suffix) for one in figures]
