"""The parts of the search: distances, edits, sweeps' changes, the prior."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from sfumato.attacks.gradients.matching.distances import DISTANCES
from sfumato.attacks.gradients.matching.edits import draw_edits, move, swap
from sfumato.attacks.gradients.matching.prior import LanguagePrior
from sfumato.core.randomness import Randomness
from unit.attacks.gradients.models import decoder, framed_tokenizer


def tensors(seed: int) -> list[torch.Tensor]:
    drawn = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=drawn) for shape in ((4, 3), (5,), (2, 2))]


@pytest.mark.parametrize("variant", DISTANCES)
def test_a_distance_is_zero_for_the_same_and_does_not_know_lengths(variant: str) -> None:
    distance = DISTANCES[variant]
    one, other = tensors(1), tensors(2)
    assert float(distance(one, one)) == pytest.approx(0.0, abs=1e-5)
    longer = [7 * part for part in one]
    assert float(distance(longer, one)) == pytest.approx(0.0, abs=1e-5)
    assert float(distance(one, other)) > 0.1


def test_squared_differences_are_those_of_vectors_of_length_one() -> None:
    flat = [torch.cat([part.flatten() for part in tensors(seed)]) for seed in (1, 2)]
    units = [one / one.norm() for one in flat]
    expected = float((units[0] - units[1]).square().sum())
    assert float(DISTANCES["dlg"](tensors(1), tensors(2))) == pytest.approx(expected, rel=1e-4)
    assert float(DISTANCES["tag"](tensors(1), tensors(2))) > expected


@pytest.mark.parametrize("variant", DISTANCES)
def test_gradients_of_zero_are_no_division_by_zero(variant: str) -> None:
    nothing = [torch.zeros_like(part) for part in tensors(1)]
    for made, released in ((tensors(1), nothing), (nothing, tensors(1)), (nothing, nothing)):
        moved = [part.clone().requires_grad_() for part in made]
        apart = DISTANCES[variant](moved, released)
        slopes = torch.autograd.grad(apart, moved)
        assert bool(torch.isfinite(apart))
        assert all(bool(torch.isfinite(slope).all()) for slope in slopes)
    # The twin: a cosine that is divided by lengths alone.
    flat = nothing[0].flatten()
    assert bool(torch.isnan(flat @ flat / (flat.norm() * flat.norm())))


def test_edits_are_other_orders_of_all_tokens() -> None:
    orders = draw_edits(7, 60, Randomness.reproducible(1))
    assert len(orders) == len({tuple(order) for order in orders}) > 20
    for order in orders:
        assert sorted(order) == list(range(7))
        assert order != list(range(7))
    assert draw_edits(1, 10, Randomness.reproducible(1)) == []
    kinds = Counter(sum(a != b for a, b in enumerate(order)) for order in orders)
    assert len(kinds) > 2


def test_swaps_and_moves_keep_the_rest() -> None:
    assert swap([0, 1, 2, 3], 3, 1) == [0, 3, 2, 1]
    assert move([0, 1, 2, 3], 0, 2, 2) == [2, 3, 0, 1]


def test_the_prior_reads_text_and_each_text_by_itself() -> None:
    model = decoder(n_embd=16, n_head=2, n_layer=1).model
    prior = LanguagePrior(model)
    tokenizer = framed_tokenizer()
    texts = [tokenizer.encode(one).tolist() for one in ("the dog", "we went home in the water")]
    together = prior.losses(texts, tokenizer)
    alone = [prior.losses([text], tokenizer)[0] for text in texts]
    assert together == pytest.approx(alone, rel=1e-4)
    row = torch.tensor([[model.tokenizer.begin, *model.tokenizer.encode("the dog").tolist()]])
    with torch.inference_mode():
        logs = model.network(input_ids=row).logits[0].log_softmax(-1)
    expected = -np.mean([float(logs[place, token]) for place, token in enumerate(row[0, 1:])])
    assert together[0] == pytest.approx(float(expected), rel=1e-4)
