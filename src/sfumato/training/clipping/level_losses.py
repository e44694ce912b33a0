"""Losses of classes in a tree: the mean of the cross-entropies of all levels.

The network has one score for each class. The probability of a node is the sum over the classes in
it, and a row's loss is the mean over levels of −ln of the probability of its node. So a guess in
the right branch costs less than one outside of it, levels never contradict each other, and the head
is that of any classifier. With a head for each level there would be more weights, and with them
more noise in all, and what they say would have to be made consistent afterwards.

Guarantee
    The loss of a row is a function of the row, of its own class, and of the tree, which is public.

Why it holds
    The classes are given by the user, and the tree is in their names; nothing is counted in the
    data. Rows share no normalization, and the number of levels is that of the tree.

Reference
    Wunderlich, Bernau, Aldà, Parra-Arnau and Strufe 2021, "On the privacy-utility trade-off in
    differentially private hierarchical text classification".
"""

from __future__ import annotations

import torch
from torch import Tensor

from sfumato.training.clipping.losses import record_losses


def level_losses(logits: Tensor, labels: Tensor, levels: Tensor) -> Tensor:
    """The loss of each row: (rows, classes) against (rows); ``levels`` is (levels, classes).

    >>> levels = torch.tensor([[0, 0, 1], [0, 1, 2]])
    >>> level_losses(torch.zeros(2, 3), torch.tensor([0, 2]), levels)  # (ln 3/2 + ln 3)/2, ln 3
    tensor([0.7520, 1.0986])
    """
    total = logits.new_zeros(len(logits))
    for nodes in levels:
        total = total + record_losses(_scores_of_nodes(logits, nodes), nodes[labels], divisor=1.0)
    return total / len(levels)


def _scores_of_nodes(logits: Tensor, nodes: Tensor) -> Tensor:
    """The logarithm of the sum of exp over the classes of each node."""
    places = nodes.expand_as(logits)
    empty = logits.new_full((len(logits), int(nodes.max()) + 1), -torch.inf)
    # The largest of each node is taken out, so that nothing is too small for its logarithm.
    largest = empty.scatter_reduce(1, places, logits.detach(), "amax")
    shares = (logits - largest.gather(1, places)).exp()
    sums = torch.zeros_like(empty).scatter_add(1, places, shares)
    return sums.log() + largest
