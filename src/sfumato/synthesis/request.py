"""What every way of synthesizing is asked for: a level, a unit, labels; and how it is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.checks import one_of, positive
from sfumato.core.randomness import Randomness
from sfumato.synthesis.corpus import SyntheticCorpus
from sfumato.synthesis.plan import LABELS, UNITS
from sfumato.text.document import Document

EVOLUTION, PREDICTION = "evolution", "prediction"
METHODS = (EVOLUTION, PREDICTION)


@dataclass(frozen=True, kw_only=True)
class SynthesisRequest:
    """All that decides a synthetic corpus besides the private one; every part of it is public.

    ``classes`` are the labels; none where records have none.
    """

    epsilon: float
    delta: float | str = "auto"
    unit: str = "record"
    labels: str = "equal"
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        one_of("unit", self.unit, UNITS)
        one_of("labels", self.labels, LABELS)

    @property
    def reads(self) -> object:
        """What reads public text, perhaps."""
        raise NotImplementedError

    def run(
        self,
        documents: Sequence[Document],
        output: Path,
        *,
        randomness: Randomness,
        control: Path | None = None,
        overwrite: bool = False,
    ) -> SyntheticCorpus:
        """Write the corpus and its guarantee; with ``control``, one that no record has touched."""
        raise NotImplementedError
