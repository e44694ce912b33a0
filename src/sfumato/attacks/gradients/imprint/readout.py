"""What the gradients of planted units say about the text.

A unit's gradient is the sum of the states above its threshold, times a factor and a known sign. So
it jumps by one state where a threshold passes a place of the text.

=============  =====================================================================================
``windows``    for each token at each place: the mean of some units below the place where it would
               make the gradient jump, minus the mean of as many above, projected on its state
``neighbors``  the published one: differences of neighboring units, divided by those of their
               biases; if more of them are not zero than the text has tokens, those with the
               smallest differences of biases are kept; then places and tokens by assignment
=============  =====================================================================================

Why the first stands more noise
    A mean of n units has noise smaller by √n, and a projection on a known vector has noise in one
    coordinate only. The published choice, made for gradients without noise, keeps the bins in
    which nothing is but noise, and divides by it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.attacks.gradients.frames import text_places
from sfumato.attacks.gradients.imprint.planting import Banks, Planted
from sfumato.attacks.gradients.release import Seen, special_tokens
from sfumato.core.errors import InvalidArgument
from sfumato.metrics.reconstruction import assign_rows

# Differences of biases below this share of the largest are rounding.
_ROUNDING = 1e-2


@dataclass(frozen=True, eq=False)
class Probes:
    """The gradients of all units by threshold, with the signs of units taken out.

    ``words`` are the tokens that a text may have.
    """

    model: Planted
    banks: Banks
    weights: Tensor
    biases: Tensor
    words: Tensor

    @classmethod
    def of(cls, seen: Seen, model: Planted) -> Probes:
        """From what was released."""
        banks = model.banks
        if banks is None:
            raise InvalidArgument("nobody remembers what was planted in this model")
        weights = torch.cat([seen.gradient[f"{name}.weight"].T for name in banks.names])
        biases = torch.cat([seen.gradient[f"{name}.bias"] for name in banks.names])
        weights, biases = weights * banks.signs[:, None], biases * banks.signs
        # One sign is common to all units, that of the loss; the sum over all of them tells it.
        sign = -1.0 if float(biases.sum()) < 0 else 1.0
        special = special_tokens(model)
        words = [one for one in range(model.tokenizer.size) if one not in special]
        return cls(model, banks, sign * weights, sign * biases, torch.tensor(words))


def read_tokens(seen: Seen, model: Planted, window: int | None) -> list[int]:
    """The likeliest token at each place, by windows of so many units, or by neighbors if None.

    Where nothing was released, there is no likeliest token, and the text is empty.
    """
    (length,) = seen.lengths
    places = text_places(model, length)
    probes = Probes.of(seen, model)
    if not bool(probes.weights.any()):
        return []
    if window is None:
        scores = read_neighbors(probes, places, length)
    else:
        scores = read_windows(probes, places, window)
    found = [row.argmax() for row in scores if bool(row.max() > -torch.inf)]
    return [int(probes.words[one]) for one in found]


def read_windows(probes: Probes, places: range, window: int) -> Tensor:
    """How much of each token (columns) is in each place (rows), by means of units."""
    jumps = mean_jumps(probes.weights, window)
    found = []
    for place in places:
        states = probes.model.states(probes.words, place)
        bins = torch.searchsorted(probes.banks.thresholds, states @ probes.banks.probe)
        found.append((jumps[bins] * functional.normalize(states, dim=1)).sum(1))
    return torch.stack(found)


def read_neighbors(probes: Probes, places: range, length: int) -> Tensor:
    """The same from differences of neighboring units, as published; -inf where nothing fits."""
    none = torch.zeros(1, probes.weights.shape[1])
    steps = probes.weights - torch.cat([probes.weights[1:], none])
    counts = probes.biases - torch.cat([probes.biases[1:], none[0, :1]])
    sizes = counts.abs()
    kept = torch.nonzero(sizes > _ROUNDING * sizes.max())[:, 0]
    if len(kept) > length:
        kept = kept[sizes[kept].topk(length, largest=False).indices]
    states = functional.normalize(steps[kept] / counts[kept, None], dim=1)
    fits = torch.stack(
        [
            states @ functional.normalize(probes.model.states(probes.words, place), dim=1).T
            for place in places
        ],
        dim=1,
    )
    found = torch.full((len(places), len(probes.words)), -torch.inf)
    for place, row in enumerate(assign_rows(fits.max(2).values.numpy())):
        if row is not None:
            found[place] = fits[row, place]
    return found


def mean_jumps(weights: Tensor, window: int) -> Tensor:
    """For every bin, the mean of the units below it minus the mean of those above.

    >>> mean_jumps(torch.tensor([[1.0], [1.0], [0.0], [0.0]]), 2)[:, 0]
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    count = len(weights)
    sums = torch.cat([torch.zeros(1, weights.shape[1]), weights.cumsum(0)])
    places = torch.arange(count + 1)
    low, high = (places - window).clamp(min=0), (places + window).clamp(max=count)
    below = (sums[places] - sums[low]) / (places - low).clamp(min=1)[:, None]
    above = (sums[high] - sums[places]) / (high - places).clamp(min=1)[:, None]
    # Of a state below all thresholds no unit sees anything; above all of them there is none.
    below[0] = above[0]
    return below - above
