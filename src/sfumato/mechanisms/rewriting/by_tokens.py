"""What mechanisms have in common that draw token after token by a model's scores from a window.

Settings, the public tokens, the window that a level allows, and the guarantee of ``tokens`` draws:
a ``BoundedRange`` release (``accounting/bounded_range.py``). Which scores a model gives for which
document is each mechanism's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

from sfumato.accounting.bounded_range import ProvenLevel, least_level, widest_range
from sfumato.accounting.events import LARGEST_RANGE, BoundedRange
from sfumato.core.arrays import Floats, Points
from sfumato.core.checks import at_least, between, positive
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.settings import FileToRead
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.rewriting.token_law import TokenLaw
from sfumato.models.public_tokens import ScoringModel, public_tokens

VOCABULARY_GAP = "which tokens the vocabulary has, which must be public"
MOST_TOKENS = 10_000
_HALVINGS = 60


@dataclass(frozen=True, kw_only=True)
class ByTokens(ABC):
    """Draw public tokens by the scores of the model in the folder ``model``.

    ``window`` is the width to which scores are cut, ``temperature`` what they are divided by, and
    ``tokens`` how many draws a document has at most, all public. Give ``epsilon`` in the place of
    ``window``, and the window is as wide as the level allows. ``vocabulary`` is a file of public
    text: its ``vocabulary_size`` most frequent tokens, all of them if that is not given, are the
    tokens that may be written.
    """

    model: FileToRead = field(default="", repr=False)
    epsilon: float | None = None
    window: float | None = None
    temperature: float = 0.5
    tokens: int = 24
    delta: float = 0.0
    vocabulary: FileToRead = field(default="", repr=False)
    vocabulary_size: int | None = None
    vocabulary_field: str = "text"

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidArgument(
                f"{self._needs()}: name its folder, `settings={{'model': FOLDER}}`"
            )
        if (self.epsilon is None) == (self.window is None):
            raise InvalidArgument(
                "give the level, `epsilon=...`, or the width of the window of scores, "
                "`settings={'window': 8}`; not both"
            )
        positive("temperature", self.temperature)
        at_least("tokens", self.tokens, 1, MOST_TOKENS)
        if between("delta", self.delta, 0.0, 1.0) >= 1.0:
            raise InvalidArgument(f"delta={self.delta:g} must be smaller than 1")
        self._check_vocabulary()
        if self.epsilon is not None:
            check_level(self.epsilon)
        elif self.window is not None:
            width = positive("window", self.window)
            BoundedRange(range=width / self.temperature, outcomes=2)  # or an error that says why

    def _check_vocabulary(self) -> None:
        if self.vocabulary_size is None:
            return
        at_least("vocabulary_size", self.vocabulary_size, 2)
        if not self.vocabulary:
            raise InvalidArgument("vocabulary_size is that of a public file: name `vocabulary`")

    @abstractmethod
    def _needs(self) -> str:
        """Which model is needed, in words."""

    @property
    @abstractmethod
    def scoring(self) -> ScoringModel:
        """The model, loaded at the first use."""

    @abstractmethod
    def _also(self) -> int | None:
        """A special token that may be drawn, too, such as the end of a text."""

    @abstractmethod
    def _refuse_unfit(self, allowed: Points) -> None:
        """Refuse a model that does not fit the settings, before any text."""

    @abstractmethod
    def _scope(self) -> str:
        """What the guarantee is about."""

    @abstractmethod
    def log_chances(self, document: str, texts: Sequence[str]) -> Floats:
        """The log-probability of each text as what this document becomes, up to spelling."""

    @cached_property
    def law(self) -> TokenLaw:
        """What one token becomes; what does not fit the model is refused here, before any text."""
        allowed = self._allowed()
        self._refuse_unfit(allowed)
        width = self.window
        if width is None:
            width = self._range(len(allowed)) * self.temperature * (1 - 1e-15)
        return TokenLaw(tokens=allowed, window=float(width), temperature=self.temperature)

    def guarantee(self) -> Guarantee:
        """The level of one document."""
        law = self.law
        proven = self._proven(law.score_range, len(law.tokens))
        stated = Guarantee(
            notion=Notion.APPROXIMATE_DP if proven.delta else Notion.PURE_DP,
            unit="document",
            neighbors="any two documents",
            epsilon=proven.epsilon,
            delta=proven.delta,
            scope=self._scope(),
        )
        return stated.not_covering(VOCABULARY_GAP) if self.vocabulary else stated

    def public_sources(self) -> dict[str, Source]:
        """The public text that decides which tokens may be written."""
        return {"vocabulary": self._public_text()} if self.vocabulary else {}

    def public_facts(self) -> dict[str, Any]:
        """What may be told of the model and its tokens: they are public."""
        return {
            "model": self.scoring.name,
            "model_digest": self.scoring.digest,
            "output_tokens": len(self.law.tokens),
            "tokens_digest": self.tokens_digest,
            "window": self.law.window,
        }

    @property
    def tokens_digest(self) -> str:
        """A hash of the tokens that may be written."""
        return sha256(self.law.tokens.astype("<i8").tobytes()).hexdigest()

    def refuse_told(self, told: Mapping[str, Any]) -> None:
        """Refuse another model, or other tokens, than those that a side file tells of."""
        self._refuse_model(told)
        self._refuse_tokens(told)

    def _refuse_model(self, told: Mapping[str, Any]) -> None:
        if self.scoring.digest != told.get("model_digest"):
            raise BadInput(
                "this is not the model that the file was made with; name that one: "
                "`settings={'model': FOLDER}`"
            )

    def _refuse_tokens(self, told: Mapping[str, Any]) -> None:
        if self.tokens_digest != told.get("tokens_digest"):
            raise BadInput(
                f"the file was written with {told.get('output_tokens')} tokens, and these are "
                f"{len(self.law.tokens)}, or others; name the public text that they are from, "
                "`settings={'vocabulary': FILE}`, or leave it out if there was none"
            )

    def _allowed(self) -> Points:
        """The public tokens that may be written; of special ones only what is named."""
        public = self._public_text().documents() if self.vocabulary else None
        return public_tokens(self.scoring, self._also(), public, self.vocabulary_size)

    def _public_text(self) -> Source:
        return Source.of(self.vocabulary, Layout(field=self.vocabulary_field))

    def _proven(self, score_range: float, outcomes: int) -> ProvenLevel:
        event = BoundedRange(range=score_range, outcomes=outcomes, count=self.tokens)
        return least_level([event], self.delta)

    def _range(self, outcomes: int) -> float:
        """R for the level that was asked for, rounded down."""
        level = float(self.epsilon or 0.0)
        if not self.delta:
            return widest_range(level / self.tokens, outcomes)
        low, high = 0.0, LARGEST_RANGE
        if self._proven(high, outcomes).epsilon <= level:
            raise InvalidArgument(
                f"epsilon={level:g} is more than {self.tokens} tokens can cost here "
                f"({self._proven(high, outcomes).epsilon:.4g}); give that or less"
            )
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fits = self._proven(middle, outcomes).epsilon <= level
            low, high = (middle, high) if fits else (low, middle)
        return low


def readable(text: str) -> str:
    """One line that can be printed; what a model writes beside that is left out."""
    spaced = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(spaced.split())
