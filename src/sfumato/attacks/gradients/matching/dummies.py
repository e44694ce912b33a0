"""Rows that nobody wrote, as embeddings, and the gradients that a step on them would have.

A row is given by the embeddings of its tokens, which can be moved continuously. What the model adds
around a text, such as [CLS] and [SEP], is known and stays. The gradient is that of the loss of a
class, or for a language model of the tokens whose embeddings are nearest at that time.

Care
    The gradient of the embedding table is left out: rows that are embeddings do not look anything
    up in it. (Its rows show the words by themselves, which is another attack.) Second derivatives
    are needed, so attention is computed step by step and not by a fused kernel. The model is a
    copy; the one that was attacked stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.attacks.gradients.frames import frame_of
from sfumato.attacks.gradients.release import Seen, special_tokens, trained_parameters
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel
from sfumato.models.tokenizer import IGNORED

# A random text of so many tokens shows which gradients are rounding, smaller than others by far.
_TRIED, _ROUNDING = 6, 1e-9

Rows = list[Tensor]
"""The embeddings of each text, a line for each token."""


@dataclass(eq=False)
class DummyGradients:
    """The gradients of made-up rows, tensor by tensor in the order of the model."""

    model: LoadedModel
    network: Any = field(repr=False)
    names: tuple[str, ...]
    table: Tensor = field(repr=False)
    words: Tensor = field(repr=False)

    @classmethod
    def of(cls, seen: Seen, randomness: Randomness) -> DummyGradients:
        """For a model, and for what was released of it."""
        network: Any = deepcopy(seen.model.network).eval()
        network.set_attn_implementation("eager")
        embedding = network.get_input_embeddings().weight
        names = tuple(
            name
            for name, one in trained_parameters(network).items()
            if name in seen.gradient and one is not embedding
        )
        if not names:
            raise InvalidArgument(
                "nothing but the embedding table was released, so there is nothing to compare"
            )
        special = special_tokens(seen.model)
        words = [one for one in range(seen.model.tokenizer.size) if one not in special]
        made = cls(seen.model, network, names, embedding.detach(), torch.tensor(words))
        return made._without_rounding(randomness)

    def released(self, seen: Seen) -> list[Tensor]:
        """What was released, as far as it can be compared."""
        return [seen.gradient[name] for name in self.names]

    def gradient(
        self, rows: Rows, labels: Sequence[int], *, differentiable: bool = False
    ) -> list[Tensor]:
        """The sum over all rows, each at length 1 if there are several."""
        total: list[Tensor] = []
        for place, row in enumerate(rows):
            label = labels[place] if labels else None
            one = self._of_row(row, label, differentiable)
            if len(rows) > 1:
                length = torch.stack([part.square().sum() for part in one]).sum().sqrt()
                one = [part / length.clamp(min=1e-30) for part in one]
            total = [a + b for a, b in zip(total, one, strict=True)] if total else one
        return total

    def _without_rounding(self, randomness: Randomness) -> DummyGradients:
        """Without tensors whose gradient is nothing but rounding, such as the biases of keys.

        Softmax does not change if all keys are moved by the same vector, so these biases have no
        influence. The direction of their gradient is noise, with slopes that drown all others.
        """
        tokens = self.words[torch.from_numpy(randomness.integers(len(self.words), _TRIED))]
        label = [0] if self.model.classes else []
        gradient = self.gradient([self.embed(tokens.tolist())], label)
        sizes = torch.stack([one.square().mean().sqrt() for one in gradient])
        kept = (sizes > _ROUNDING * sizes.max()).tolist()
        names = tuple(name for name, keep in zip(self.names, kept, strict=True) if keep)
        return replace(self, names=names)

    def nearest(self, row: Tensor, count: int) -> list[list[int]]:
        """For each line of a row, the tokens whose embeddings have the largest cosines with it."""
        table = functional.normalize(self.table[self.words], dim=1)
        cosines = functional.normalize(row.detach(), dim=1) @ table.T
        found: list[list[int]] = self.words[cosines.topk(count, dim=1).indices].tolist()
        return found

    def embed(self, tokens: Sequence[int]) -> Tensor:
        """The embeddings of tokens."""
        return self.table[list(tokens)].clone()

    def _of_row(self, row: Tensor, label: int | None, differentiable: bool) -> list[Tensor]:
        before, after = frame_of(self.model)
        inputs = torch.cat([self.embed(before), row, self.embed(after)])[None]
        logits = self.network(
            inputs_embeds=inputs, attention_mask=torch.ones(inputs.shape[:2], dtype=torch.long)
        ).logits
        if label is None:
            loss = functional.cross_entropy(logits[0], self._following(row))
        else:
            loss = functional.cross_entropy(logits, torch.tensor([label]))
        parameters = dict(self.network.named_parameters())
        found = torch.autograd.grad(
            loss,
            [parameters[name] for name in self.names],
            create_graph=differentiable,
            allow_unused=True,
        )
        return [
            torch.zeros_like(parameters[name]) if one is None else one
            for name, one in zip(self.names, found, strict=True)
        ]

    def _following(self, row: Tensor) -> Tensor:
        """What a language model should predict at each place of a row."""
        before, _ = frame_of(self.model)
        end = self.model.tokenizer.end
        tokens = [one[0] for one in self.nearest(row, 1)]
        wanted = [*before, *tokens, IGNORED if end is None else end]
        return torch.tensor(wanted[1:])
