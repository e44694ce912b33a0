"""Reading on from what was read before, for each kind of network.

What many candidates begin with is read once; each of them goes on from the state behind it. A
recurrent network has such a state of its own. A transformer keeps the keys and values of the
tokens it has read, and they are copied to every continuation. A network with neither is made to
read everything again: slower, and right.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor

# ln p of the same token, read on from a state and read as a whole, differ by rounding only.
ROUNDING = 1e-3
ROWS_READ_WHOLE = 64


class Reader(Protocol):
    """A network that can go on reading; states are its own affair."""

    def start(self, prefix: Sequence[int]) -> tuple[Tensor, Any]:
        """Logits (1 × vocabulary) behind the prefix, and the state there."""
        ...

    def go_on(self, state: Any, parents: Tensor, tokens: Tensor) -> tuple[Tensor, Any]:
        """Row i reads ``tokens[i]`` behind row ``parents[i]`` of the state: logits, and states."""
        ...


def reader_of(network: Any, prefix: Sequence[int]) -> Reader:
    """The quickest reader that gives what the whole network gives."""
    import torch

    from sfumato.models.lstm_network import LstmForCausalLM

    if isinstance(network, LstmForCausalLM):
        return Recurrent(network)
    whole, cached = Whole(network), Cached(network)
    if not cached.possible(prefix):
        return whole
    # Tried, not looked up: what a cache means differs between architectures.
    parents, tokens = torch.tensor([0, 0]), torch.tensor([prefix[-1], prefix[0]])
    expected, got = (
        one.go_on(one.start(prefix)[1], parents, tokens)[0].log_softmax(1)
        for one in (whole, cached)
    )
    return cached if torch.allclose(expected, got, atol=ROUNDING) else whole


@dataclass(frozen=True, eq=False)
class Recurrent:
    """Our own LSTM: the state is that of its layer."""

    network: Any

    def start(self, prefix: Sequence[int]) -> tuple[Tensor, Any]:
        """See ``Reader``."""
        import torch

        logits, state = self.network.step(torch.tensor([list(prefix)]))
        return logits[:, -1], state

    def go_on(self, state: Any, parents: Tensor, tokens: Tensor) -> tuple[Tensor, Any]:
        """See ``Reader``."""
        hidden, cell = state
        logits, after = self.network.step(tokens[:, None], (hidden[:, parents], cell[:, parents]))
        return logits[:, -1], after


@dataclass(frozen=True, eq=False)
class Cached:
    """A transformer: the state is its keys and values, one row for each continuation."""

    network: Any

    def possible(self, prefix: Sequence[int]) -> bool:
        """Whether the network keeps plain keys and values, which may be copied row by row."""
        from transformers.cache_utils import DynamicCache, DynamicLayer

        try:
            _, cache = self.start(prefix)
        except (AttributeError, TypeError):
            return False
        return type(cache) is DynamicCache and all(
            type(layer) is DynamicLayer for layer in cache.layers
        )

    def start(self, prefix: Sequence[int]) -> tuple[Tensor, Any]:
        """See ``Reader``."""
        import torch

        read = self.network(input_ids=torch.tensor([list(prefix)]), use_cache=True)
        return read.logits[:, -1], read.past_key_values

    def go_on(self, state: Any, parents: Tensor, tokens: Tensor) -> tuple[Tensor, Any]:
        """See ``Reader``."""
        # The rows are copied, and only those; the state itself stays as it is for other blocks.
        copied = copy(state)
        copied.layers = [copy(layer) for layer in state.layers]
        copied.batch_select_indices(parents)
        read = self.network(input_ids=tokens[:, None], past_key_values=copied, use_cache=True)
        return read.logits[:, -1], read.past_key_values


@dataclass(frozen=True, eq=False)
class Whole:
    """Any causal network: the state is the tokens, which are read again from the beginning."""

    network: Any

    def start(self, prefix: Sequence[int]) -> tuple[Tensor, Any]:
        """See ``Reader``."""
        import torch

        read = torch.tensor([list(prefix)])
        return self._last(read), read

    def go_on(self, state: Any, parents: Tensor, tokens: Tensor) -> tuple[Tensor, Any]:
        """See ``Reader``."""
        import torch

        read = torch.cat([state[parents], tokens[:, None]], dim=1)
        return self._last(read), read

    def _last(self, read: Tensor) -> Tensor:
        import torch

        # Few rows at a time: this way there are logits at every place of a row.
        return torch.cat(
            [
                self.network(input_ids=some).logits[:, -1]
                for some in torch.split(read, ROWS_READ_WHOLE)
            ]
        )
