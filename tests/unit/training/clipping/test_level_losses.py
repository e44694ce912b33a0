"""Losses over the levels of a tree, against a loop over levels and classes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from naive_gradients import TOLERANCE, worst_difference
from sfumato.core.randomness import Randomness
from sfumato.models.load import load_model
from sfumato.statistics.class_tree import ClassTree
from sfumato.training.clipping import level_losses as module
from sfumato.training.clipping.level_losses import level_losses
from sfumato.training.clipping.losses import record_losses
from sfumato.training.row_losses import row_losses
from unit.training.runs import tokenizer

# Branches of different sizes and depths; "c" has classes below it and is one itself.
TREE = ClassTree(("a/x", "b/y/q", "a/z", "c", "b/y/r", "c/w"), "/")
LEVELS = torch.from_numpy(TREE.levels)
ROWS = 5


def by_hand(scores: list[float], number: int) -> float:
    """Every class belongs to the nodes of its path; below its end it is a node by itself."""
    shares = np.exp(np.array(scores, dtype=np.float64) - max(scores))
    shares /= shares.sum()
    total = 0.0
    for level in range(TREE.depth):
        own = TREE.path(number)
        inside = [
            place
            for place in range(len(TREE.classes))
            if (TREE.path(place)[: level + 1] == own[: level + 1] and level < len(own))
            or (level >= len(own) and place == number)
        ]
        if level < len(own):
            ended = [place for place in inside if len(TREE.path(place)) <= level]
            inside = [place for place in inside if place not in ended]
        total -= np.log(shares[inside].sum())
    return total / TREE.depth


def test_a_loss_is_the_mean_over_levels_of_what_a_loop_finds() -> None:
    torch.manual_seed(0)
    logits = 3 * torch.randn(len(TREE.classes), len(TREE.classes))
    found = level_losses(logits, torch.arange(len(TREE.classes)), LEVELS)
    wanted = [by_hand(row.tolist(), number) for number, row in enumerate(logits)]
    assert found.tolist() == pytest.approx(wanted, rel=1e-5)


def test_scores_that_are_far_apart_have_finite_gradients() -> None:
    logits = torch.tensor([[900.0, -900.0, -900.0, 0.0, -900.0, 0.0]], requires_grad=True)
    losses = level_losses(logits, torch.tensor([1]), LEVELS)
    (pulled,) = torch.autograd.grad(losses.sum(), logits)
    assert losses.isfinite().all()
    assert pulled.isfinite().all()
    # A branch is pulled up as a whole, and its classes share what is pulled.
    assert float(pulled.sum()) == pytest.approx(0, abs=1e-6)


def network() -> nn.Module:
    model = load_model(
        "gpt-small", randomness=Randomness.reproducible(1), kind="classifier",
        classes=TREE.classes, tokenizer=tokenizer(),
        settings={"layers": 1, "width": 8, "heads": 2, "context": 8},
    ).network  # fmt: skip
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    loaded: nn.Module = model
    return loaded


def compared() -> float:
    draw = torch.Generator().manual_seed(2)
    tokens = torch.randint(1, 200, (ROWS, 6), generator=draw)
    mask = torch.ones_like(tokens)
    labels, weights = torch.tensor([0, 1, 3, 5, 4]), torch.tensor([1.0, 0.5, 2.0, 1.0, 1.0])

    def losses(model: nn.Module, rows: Tensor) -> Tensor:
        inputs = {"input_ids": tokens[rows], "attention_mask": mask[rows]}
        return row_losses(model, inputs, labels[rows], weights[rows], LEVELS)

    return max(worst_difference(network(), losses, ROWS, torch.tensor([0, 1, 1, 2, 3])))


def test_norms_and_clipped_sums_are_those_of_a_loop() -> None:
    assert compared() <= TOLERANCE


def test_twin_whose_levels_are_weighed_by_the_labels_of_a_batch_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A level counts by how many nodes of it occur: that couples the rows."""
    honest: Callable[[Tensor, Tensor], Tensor] = module._scores_of_nodes
    there: list[Tensor] = []

    def coupled(logits: Tensor, labels: Tensor, levels: Tensor) -> Tensor:
        there.append(labels)
        counts = [len(nodes[labels].unique()) for nodes in levels]
        each = [
            record_losses(honest(logits, nodes), nodes[labels], divisor=1.0) * count
            for nodes, count in zip(levels, counts, strict=True)
        ]
        return torch.stack(each).sum(0) / sum(counts)

    monkeypatch.setattr("sfumato.training.row_losses.level_losses", coupled)
    assert compared() > 100 * TOLERANCE
    assert there
