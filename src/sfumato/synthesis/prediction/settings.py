"""What is chosen of a private prediction: the model, its prompt, and the numbers of the plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.core.settings import FileToRead
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.models.public_tokens import public_tokens
from sfumato.models.row_independence import refuse_coupled_rows
from sfumato.models.writing import Writer, load_writer
from sfumato.synthesis.prediction.ensemble import Ensemble, Frame
from sfumato.synthesis.prediction.law import AverageLaw
from sfumato.synthesis.prediction.plan import MOST_TOKENS, PredictionPlan

PROMPT = "Text: {text}\nAnother text like it:"
LABELED_PROMPT = "Text ({label}): {text}\nAnother text like it ({label}):"


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Let prompts with a private record each agree on every token, with a model in a folder.

    ``prompt`` is what the causal model in the folder ``model`` reads, {text} being the record and
    {label} its label. A text has at most ``tokens`` tokens. Scores are cut to [−``clip``,
    ``clip``]; ``prompts`` of them are averaged, and a token is drawn at ``temperature``: unless
    given, the temperature is 1 and the prompts are as many as the level needs; if only ``prompts``
    is given, the temperature follows. A prompt holds ``shots`` records, each cut at
    ``record_tokens`` tokens. ``vocabulary`` is a file of public text: its ``vocabulary_size`` most
    frequent tokens are those that may be written. ``batch`` prompts are read at a time.
    """

    model: FileToRead = field(default="", repr=False)
    prompt: str = field(default="", repr=False)
    tokens: int = 24
    clip: float = 10.0
    temperature: float | None = None
    prompts: int | None = None
    shots: int = 1
    record_tokens: int = 48
    vocabulary: FileToRead = field(default="", repr=False)
    vocabulary_size: int | None = None
    vocabulary_field: str = "text"
    batch: int = 32

    name: ClassVar[str] = "prediction"

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidArgument(
                "a language model writes the texts: name its folder, `settings={'model': FOLDER}`"
            )
        if self.prompt and self.prompt.count("{text}") != 1:
            raise InvalidArgument("prompt must hold {text} once, where the record stands")
        at_least("record_tokens", self.record_tokens, 1, MOST_TOKENS)
        at_least("batch", self.batch, 1)
        if self.vocabulary_size is not None:
            at_least("vocabulary_size", self.vocabulary_size, 2)
            if not self.vocabulary:
                raise InvalidArgument("vocabulary_size is that of a public file: name `vocabulary`")

    @cached_property
    def writer(self) -> Writer:
        """The model, loaded at the first use."""
        found = load_writer(Path(self.model))
        if found.reads_apart:
            raise InvalidArgument(
                f"{found.name} reads with an encoder and writes with a decoder; private "
                "prediction needs a causal model"
            )
        return found

    def public_sources(self) -> dict[str, Source]:
        """The public text that decides which tokens may be written."""
        return {"vocabulary": self._public_text()} if self.vocabulary else {}

    def ensemble(self, plan: PredictionPlan, labels: tuple[str, ...]) -> Ensemble:
        """The prompts of a plan; ``labels`` are public, and one empty one where there are none.

        A model that reads one prompt differently because of another is refused.
        """
        public = self._public_text().documents() if self.vocabulary else None
        tokenizer = self.writer.tokenizer
        ensemble = Ensemble(
            writer=self.writer,
            law=AverageLaw(
                tokens=public_tokens(
                    self.writer, self.writer.tokenizer.end, public, self.vocabulary_size
                ),
                clip=plan.clip,
                prompts=plan.speakers,
                temperature=plan.heat,
            ),
            frame=Frame.of(
                tokenizer,
                self.prompt or (LABELED_PROMPT if labels[0] else PROMPT),
                labels,
                record_tokens=self.record_tokens,
                shots=plan.shots,
            ),
            tokens=plan.tokens,
            batch=self.batch,
        )
        rows = min(self.batch, plan.speakers)
        refuse_coupled_rows(self.writer, rows=rows, width=ensemble.frame.width)
        return ensemble

    def public_facts(self, ensemble: Ensemble) -> dict[str, Any]:
        """What may be told: all of it is public."""
        return {
            "model": self.writer.name,
            "model_digest": self.writer.digest,
            "prompt": "another one" if self.prompt else "default",
            "record_tokens": self.record_tokens,
            "output_tokens": len(ensemble.law.tokens),
            "batch": self.batch,
        }

    def _public_text(self) -> Source:
        return Source.of(self.vocabulary, Layout(field=self.vocabulary_field))
