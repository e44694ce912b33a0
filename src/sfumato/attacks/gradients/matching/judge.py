"""How near made-up texts come to a release; and, for LAMP, how likely they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sfumato.attacks.gradients.matching.distances import Distance
from sfumato.attacks.gradients.matching.dummies import DummyGradients, Rows
from sfumato.attacks.gradients.matching.prior import LanguagePrior

# How much a nat of the prior counts. Gradients of texts with one word in another place are a few
# hundredths apart, so a text must be likelier by some nats to make up for that.
PRIOR_WEIGHT = 0.02

Tokens = list[int]


@dataclass(frozen=True, eq=False)
class Judge:
    """Compares the gradients of rows, or of tokens, with what was released."""

    dummies: DummyGradients
    released: Sequence[Tensor] = field(repr=False)
    distance: Distance
    prior: LanguagePrior | None = None

    def slope(self, rows: Rows, labels: Sequence[int]) -> Tensor:
        """The distance of rows, which can be differentiated with respect to them."""
        made = self.dummies.gradient(rows, labels, differentiable=True)
        return self.distance(made, self.released)

    def of_rows(self, rows: Rows, labels: Sequence[int]) -> float:
        """The distance of rows."""
        with torch.enable_grad():
            made = self.dummies.gradient([row.detach() for row in rows], labels)
        return float(self.distance(made, self.released))

    def of_tokens(self, texts: Sequence[Tokens], labels: Sequence[int]) -> float:
        """The distance of texts."""
        return self.of_rows([self.dummies.embed(text) for text in texts], labels)

    def unlikeliness(self, texts: Sequence[Tokens]) -> list[float]:
        """What the prior adds to the distance of each text."""
        if self.prior is None:
            return [0.0] * len(texts)
        losses = self.prior.losses(texts, self.dummies.model.tokenizer)
        return [PRIOR_WEIGHT * one for one in losses]
