"""What a model recalls of each window: its greedy suffix, and how probable the true one is.

The greedy continuation is the true suffix exactly if each of its tokens is the likeliest after the
true ones before it; so one reading of the whole window answers that, and gives the probability p of
the suffix, too. Whoever samples n continuations meets the suffix with probability 1 − (1 − p)^n: no
sampling is needed to know it (Hayes et al. 2024, "Measuring memorization through probabilistic
discoverable extraction"). Only near misses need the greedy continuation itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done
from sfumato.attacks.memorization.windows import Windows
from sfumato.core.errors import BadInput
from sfumato.metrics.reconstruction import longest_common

if TYPE_CHECKING:
    import torch

    from sfumato.models.loading import LoadedModel

TOKENS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Recalled:
    """For each window: whether the suffix came, the share of it that came, ln p of all of it."""

    exact: NDArray[np.bool_]
    alike: NDArray[np.float64]
    log_probability: NDArray[np.float64]

    def within(self, tries: int) -> NDArray[np.float64]:
        """The chance to meet each suffix in so many sampled continuations."""
        # 1 − (1 − p)^n without losing the digits of a small p; p = 1 gives 1.
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.exp(np.minimum(self.log_probability, 0.0)))
            chances: NDArray[np.float64] = -np.expm1(tries * missed)
        return chances


def recalled(model: LoadedModel, windows: Windows, done: Done | None = None) -> Recalled:
    """Ask a model for the suffix of every window."""
    import torch

    start = [] if model.tokenizer.begin is None else [model.tokenizer.begin]
    width = len(start) + windows.tokens.shape[1]
    at_once = max(1, TOKENS_AT_ONCE // width)
    parts: list[tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]] = []
    model.network.eval()
    for first in range(0, len(windows), at_once):
        some = torch.from_numpy(windows.tokens[first : first + at_once])
        begun = torch.cat([torch.tensor([start], dtype=torch.int64).repeat(len(some), 1), some], 1)
        parts.append(_of_some(model, begun, windows.tokens.shape[1] - windows.prefix))
        if done:
            done(min(first + at_once, len(windows)), len(windows))
    exact, alike, logs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Recalled(exact, alike, logs)


def _of_some(
    model: LoadedModel, rows: torch.Tensor, suffix: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    import torch

    from sfumato.models.greedy import greedy_tokens

    wanted = rows[:, -suffix:]
    with torch.no_grad():
        logits = model.network(input_ids=rows[:, :-1]).logits[:, -suffix:, : model.tokenizer.size]
    logs = logits.double().log_softmax(2).gather(2, wanted[:, :, None])[:, :, 0].sum(1)
    if logs.isnan().any():
        raise BadInput("the model gives no finite numbers; its training may have diverged")
    exact = (logits.argmax(2) == wanted).all(1)
    alike = np.ones(len(rows))
    missed = (~exact).nonzero()[:, 0]
    if len(missed):
        said = greedy_tokens(model, rows[missed, :-suffix], suffix)
        alike[missed.numpy()] = [
            longest_common(one.tolist(), other.tolist()) / suffix
            for one, other in zip(said, wanted[missed], strict=True)
        ]
    return exact.numpy(), alike, logs.numpy()
