"""Greedy continuations equal those of reading everything again for each token."""

from __future__ import annotations

import pytest
import torch

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.generate import greedy_tokens
from sfumato.models.load import LoadedModel, load_model

TINY = {
    "lstm": {"embedding": 8, "hidden": 8, "context": 32},
    "gpt-small": {"layers": 2, "width": 16, "heads": 2, "context": 32},
}


def tiny(name: str) -> LoadedModel:
    """A model with random weights."""
    return load_model(name, randomness=Randomness.reproducible(3), settings=TINY[name])


@pytest.mark.parametrize("name", TINY)
def test_equals_reading_all_again(name: str) -> None:
    """The kept state changes nothing."""
    model = tiny(name)
    prompts = torch.randint(
        model.tokenizer.size, (5, 7), generator=torch.Generator().manual_seed(1)
    )
    rows = prompts
    with torch.no_grad():
        for _ in range(6):
            scores = model.network(input_ids=rows).logits[:, -1, : model.tokenizer.size]
            rows = torch.cat([rows, scores.argmax(1)[:, None]], 1)
    assert torch.equal(greedy_tokens(model, prompts, 6), rows[:, 7:])


def test_more_than_the_context_is_refused() -> None:
    """Positions beyond it mean nothing."""
    with pytest.raises(InvalidArgument, match="context of 32"):
        greedy_tokens(tiny("lstm"), torch.zeros(1, 30, dtype=torch.int64), 3)
