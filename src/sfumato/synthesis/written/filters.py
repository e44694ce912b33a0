"""Which texts of a trained model are kept: by length, once each, and as a public classifier says.

All of this looks at what the model wrote and at nothing private, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel, load_model
from sfumato.text.document import Document
from sfumato.training.evaluation import classify


@dataclass(frozen=True, kw_only=True)
class TextFilter:
    """Texts of ``shortest`` to ``longest`` words, each once unless ``duplicates``.

    ``classifier`` is the folder of a public classifier: a text stays if its label is the one that
    this finds likeliest.
    """

    shortest: int = 1
    longest: int | None = None
    duplicates: bool = False
    classifier: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        at_least("shortest", self.shortest, 1)
        if self.longest is not None:
            at_least("longest", self.longest, self.shortest)

    def check(self, labels: Sequence[str]) -> None:
        """Refuse a classifier that knows other labels, before anything is written."""
        if not self.classifier:
            return
        missing = sorted(set(labels) - set(self._judge.classes))
        if missing or not labels[0]:
            raise InvalidArgument(
                f"the classifier tells {', '.join(self._judge.classes)} apart, and the texts have "
                f"{'the label ' + repr(missing[0]) if missing and missing[0] else 'no labels'}"
            )

    def keep(self, texts: Sequence[str], label: str, known: set[str]) -> list[str]:
        """What stays of some texts for a label; ``known`` are those that are there already."""
        lines = (" ".join(_printable(one).split()) for one in texts)
        found = [one for one in lines if one and self._fits(one)]
        if not self.duplicates:
            found = [one for one in dict.fromkeys(found) if one not in known]
        if not self.classifier or not found:
            return found
        judged = classify(self._judge, [Document(one, labels=(label,)) for one in found]).documents
        return [
            one
            for one, said in zip(found, judged, strict=True)
            if said is not None and said.said == said.truth
        ]

    def _fits(self, text: str) -> bool:
        words = len(text.split())
        return self.shortest <= words and (self.longest is None or words <= self.longest)

    @cached_property
    def _judge(self) -> LoadedModel:
        # Loading a finished model draws no weights, so nothing depends on this stream.
        return load_model(self.classifier, randomness=Randomness.secure(), kind="classifier")


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)
