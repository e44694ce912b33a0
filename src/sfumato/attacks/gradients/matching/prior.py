"""How likely a text is to a public language model: what an attacker knows of the language.

The prior may have another tokenizer than the attacked model, so texts are handed over as text. The
score is the mean of −ln p over the prior's own tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from sfumato.attacks.model_target import open_model
from sfumato.models.load import LoadedModel
from sfumato.models.tokenizer import Tokenizer
from sfumato.training.clipping.losses import next_tokens
from sfumato.training.row_losses import row_losses


@dataclass(frozen=True, eq=False)
class LanguagePrior:
    """A causal language model."""

    model: LoadedModel = field(repr=False)

    @classmethod
    def read(cls, folder: Path) -> LanguagePrior:
        """From the folder of a run or of a model."""
        return cls(open_model(folder, kind="causal").model)

    def losses(self, texts: Sequence[Sequence[int]], tokenizer: Tokenizer) -> list[float]:
        """The mean of −ln p of each text, which is given by tokens of another model."""
        network: Any = self.model.network
        own = self.model.tokenizer
        begin = [own.padding if own.begin is None else own.begin]
        rows = [
            [*begin, *own.encode(tokenizer.decode(text)).tolist()][: self.model.context]
            for text in texts
        ]
        inputs = torch.full((len(rows), max(2, *(len(row) for row in rows))), own.padding)
        mask = torch.zeros_like(inputs)
        for place, row in enumerate(rows):
            inputs[place, : len(row)] = torch.tensor(row)
            mask[place, : len(row)] = 1
        weights = 1 / (mask.sum(1) - 1).clamp(min=1)
        with torch.inference_mode():
            means = row_losses(
                network.eval(),
                {"input_ids": inputs, "attention_mask": mask},
                next_tokens(inputs, mask),
                weights,
            )
        found: list[float] = means.tolist()
        return found
