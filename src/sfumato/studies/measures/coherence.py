"""Whether a privatized text still reads like text to a public language model.

Figures
    ``perplexity before`` and ``perplexity after``: the model's perplexity on the originals and on
    the privatized texts. ``perplexity ratio``: the factor by which it grew; 1 is no change.

Care
    The model must be public: a model that was trained on the originals would know them. Fluent text
    may still be wrong: a model may find a wrong word natural.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from sfumato.core.checks import extra
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.metrics.readability import measure_coherence
from sfumato.results.measured import Predicted
from sfumato.results.row import LOWER, UTILITY
from sfumato.studies.measures.measure import TEXT, MeasureReading, Specimen
from sfumato.text.document import Document


@dataclass(frozen=True, kw_only=True)
class CoherenceMeasure:
    """Let the public language model in the folder ``model`` read both texts."""

    model: FileToRead = ""

    name: ClassVar[str] = "coherence"
    of: ClassVar[str] = TEXT
    role: ClassVar[str] = UTILITY
    better: ClassVar[Mapping[str, str]] = {
        "perplexity ratio": LOWER,
        "perplexity after": LOWER,
        "perplexity before": LOWER,
    }

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidArgument(
                "coherence needs the folder of a public language model: its setting is 'model'"
            )

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """Perplexity before and after, and the factor by which it grew."""
        predicted = specimen.each(self._predict)
        found = measure_coherence(
            [one for one, _ in predicted], [one for _, one in predicted], randomness
        )
        return MeasureReading(
            figures=[
                found.ratio,
                replace(found.after, metric="perplexity after"),
                replace(found.before, metric="perplexity before"),
            ]
        )

    def _predict(self, specimen: Specimen) -> list[tuple[Predicted, Predicted]]:
        pairs = specimen.pairs()
        extra("torch", needed_for="asking a language model", extra="train")
        from sfumato.models.load import load_model
        from sfumato.training.evaluation import predict_tokens

        model = load_model(self.model, randomness=Randomness.secure(), kind="causal")
        sides = ([Document(before) for before, _ in pairs], [Document(after) for _, after in pairs])
        before, after = (predict_tokens(model, side) for side in sides)
        return list(zip(before, after, strict=True))
