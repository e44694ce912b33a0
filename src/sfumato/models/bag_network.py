"""A bag of words: the mean, or the sum, of learned vectors, and a linear map.

The order of words is not read. ``mean`` divides by the number of the row's own tokens, so long and
short texts move the weights alike; ``sum`` does not, and its scores grow with the length.

Reference
    Joulin et al. 2017, "Bag of tricks for efficient text classification".
"""

from __future__ import annotations

from torch import Tensor

from sfumato.core.checks import one_of
from sfumato.models.small_classifier import SmallClassifier, SmallClassifierConfig

COMBINE = ("mean", "sum")


class BagConfig(SmallClassifierConfig):
    """Sizes of the network; ``combine`` is ``mean`` or ``sum``."""

    model_type = "sfumato-bag-of-words"

    combine: str = "mean"


class BagForSequenceClassification(SmallClassifier):
    """Embeddings, their mean or sum, linear."""

    config_class = BagConfig

    def __init__(self, config: BagConfig) -> None:
        one_of("combine", config.combine, COMBINE)
        super().__init__(config, config.embedding_size)
        self.post_init()  # type: ignore[no-untyped-call]

    def read(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """The sum of a row's own vectors, divided by their number for a mean."""
        total = embedded.sum(1)
        return total / lengths[:, None] if self.config.combine == "mean" else total
