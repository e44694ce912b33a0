"""The loss of a row is cross-entropy, and depends on nothing but the row."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from sfumato.core.errors import InvalidArgument
from sfumato.models.tokenizer import IGNORED
from sfumato.training.clipping import losses
from sfumato.training.clipping.losses import next_tokens, record_losses

Loss = Callable[[Tensor, Tensor], Tensor]


def case(rows: int, places: int, classes: int, seed: int) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(rows, places, classes, generator=draw)
    labels = torch.randint(0, classes, (rows, places), generator=draw)
    labels[torch.rand(rows, places, generator=draw) < 0.3] = IGNORED
    return logits, labels


def naive(logits: Tensor, labels: Tensor, divisor: float | None) -> Tensor:
    each = [
        functional.cross_entropy(one, two, reduction="sum", ignore_index=IGNORED)
        / (divisor or max(1, int((two != IGNORED).sum())))
        for one, two in zip(logits, labels, strict=True)
    ]
    return torch.stack(each)


@settings(max_examples=30)
@given(
    rows=st.integers(1, 4), places=st.integers(1, 6), classes=st.integers(2, 9),
    seed=st.integers(0, 1000), divisor=st.sampled_from([None, 1.0, 7.0]), chunk=st.integers(1, 40),
)  # fmt: skip
def test_losses_and_their_gradients_are_those_of_torch(
    rows: int, places: int, classes: int, seed: int, divisor: float | None, chunk: int
) -> None:
    logits, labels = case(rows, places, classes, seed)
    weights = torch.linspace(0.5, 2, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "_NUMBERS_AT_A_TIME", chunk)
        mine = logits.clone().requires_grad_()
        found = record_losses(mine, labels, divisor=divisor)
        (found * weights).sum().backward()  # type: ignore[no-untyped-call]
    theirs = logits.clone().requires_grad_()
    expected = naive(theirs, labels, divisor)
    (expected * weights).sum().backward()  # type: ignore[no-untyped-call]
    assert torch.allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert mine.grad is not None
    assert theirs.grad is not None
    assert torch.allclose(mine.grad, theirs.grad, rtol=1e-5, atol=1e-5)


def test_a_classifier_has_one_place_per_row() -> None:
    logits, labels = torch.randn(3, 5), torch.tensor([0, 4, IGNORED])
    expected = functional.cross_entropy(logits, labels, reduction="none")
    assert torch.allclose(record_losses(logits, labels), expected)


def test_places_outside_the_mask_do_not_count() -> None:
    logits, labels = case(2, 4, 3, 1)
    labels = labels.clamp(min=0)
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]])
    expected = record_losses(logits, labels.masked_fill(mask == 0, IGNORED))
    assert torch.equal(record_losses(logits, labels, mask), expected)


def worst_influence(loss: Loss) -> float:
    """How much a row's gradient changes, at most, when the other rows are replaced."""
    logits, labels = case(4, 6, 5, 3)
    labels[1, 1:] = IGNORED
    worst = 0.0
    for row in range(4):
        with_others = logits.clone().requires_grad_()
        together = torch.autograd.grad(loss(with_others, labels)[row], with_others)[0][row]
        single = logits[row : row + 1].clone().requires_grad_()
        alone = torch.autograd.grad(loss(single, labels[row : row + 1])[0], single)[0][0]
        worst = max(worst, float((together - alone).abs().max()))
    return worst


def mean_over_the_tokens_of_the_batch(logits: Tensor, labels: Tensor) -> Tensor:
    """What every library does by default."""
    return record_losses(logits, labels, divisor=1) / (labels != IGNORED).sum()


def test_a_row_is_not_influenced_by_others() -> None:
    assert worst_influence(record_losses) <= 1e-7
    assert worst_influence(lambda *given: record_losses(*given, divisor=6)) <= 1e-7


def test_a_mean_over_the_tokens_of_the_batch_is_caught() -> None:
    assert worst_influence(mean_over_the_tokens_of_the_batch) > 1e-3


def test_labels_are_the_tokens_that_follow() -> None:
    tokens = torch.tensor([[3, 4, 5, 0], [6, 7, 8, 9]])
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]])
    expected = [[4, 5, IGNORED, IGNORED], [7, 8, 9, IGNORED]]
    assert next_tokens(tokens, mask).tolist() == expected


def test_labels_of_another_shape_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="one label for each position"):
        record_losses(torch.zeros(2, 3, 4), torch.zeros(2, 4, dtype=torch.long))


@pytest.mark.parametrize("divisor", [0, -1.0, float("nan")])
def test_a_divisor_that_is_no_positive_number_is_refused(divisor: float) -> None:
    with pytest.raises(InvalidArgument, match="divisor"):
        record_losses(torch.zeros(1, 2), torch.zeros(1, dtype=torch.long), divisor=divisor)
