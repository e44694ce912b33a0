"""Scores of all candidates, reading each of their common prefixes once.

The candidates form a tree of tokens. One forward pass over one token at an inner node gives the
probability of every token that may follow, so the leaves cost nothing: 10^6 numbers of six
single-digit tokens take 111,111 such passes instead of 10^6 over whole texts. Nodes are read in
blocks, depth first, so that only the states of a few blocks are in memory, however large the space.

A continuation starts from the state behind its prefix. A recurrent network has such a state. A
transformer keeps the keys and values of the tokens it has read; they are copied for every
continuation. A network with neither reads everything again, which is slower and still correct.

Several cores work on one branch each, with one torch thread each. Splitting every small matrix
product among all cores would be slower, and much slower while other programs use one of the cores,
because each product waits for its slowest part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.exposure.candidates import NOTHING, TokenizedSecrets
from sfumato.core.arrays import Floats, Integers
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.progress import Advance

if TYPE_CHECKING:
    from torch import Tensor

    from sfumato.models.load import LoadedModel


# The ln p of a token from a saved state and from the whole text differ by rounding only.
ROUNDING = 1e-3
ROWS_READ_WHOLE = 64
MOST_NODES_AT_ONCE = 2048
# Of all workers together: 128 MB of single precision.
LOGITS_AT_ONCE = 2**25
MOST_WORKERS = 8
# Work is shared from the depth where there are this many branches, in pieces of equal size.
BRANCHES = 64
PIECES_PER_WORKER = 4


class Reader(Protocol):
    """A network that can continue from a state; only the reader knows what a state is."""

    def start(self, prefix: Sequence[int]) -> tuple[Tensor, Any]:
        """Logits (1 × vocabulary) behind the prefix, and the state there."""
        ...

    def go_on(self, state: Any, parents: Tensor, tokens: Tensor) -> tuple[Tensor, Any]:
        """Row i reads ``tokens[i]`` behind row ``parents[i]`` of the state: logits, and states."""
        ...


def reader_of(network: Any, prefix: Sequence[int]) -> Reader:
    """The fastest reader whose results equal those of reading whole texts."""
    import torch

    from sfumato.models.lstm_network import LstmForCausalLM

    if isinstance(network, LstmForCausalLM):
        return Recurrent(network)
    whole, cached = Whole(network), Cached(network)
    if not cached.possible(prefix):
        return whole
    # This is tested, because the meaning of a cache differs between architectures.
    parents, tokens = torch.tensor([0, 0]), torch.tensor([prefix[-1], prefix[0]])
    expected, got = (
        one.go_on(one.start(prefix)[1], parents, tokens)[0].log_softmax(1)
        for one in (whole, cached)
    )
    return cached if torch.allclose(expected, got, atol=ROUNDING) else whole


@dataclass(frozen=True, eq=False)
class Recurrent:
    """For our own LSTM: the state is that of its layer."""

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
    """For a transformer: the state is its keys and values, one row for each continuation."""

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
        # Only the chosen rows are copied; the state itself stays unchanged for other blocks.
        copied = copy(state)
        copied.layers = [copy(layer) for layer in state.layers]
        copied.batch_select_indices(parents)
        read = self.network(input_ids=tokens[:, None], past_key_values=copied, use_cache=True)
        return read.logits[:, -1], read.past_key_values


@dataclass(frozen=True, eq=False)
class Whole:
    """For any causal network: the state is the tokens, which are read again from the start."""

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

        # Few rows at a time, because the network returns logits at every position of a row.
        return torch.cat(
            [
                self.network(input_ids=some).logits[:, -1]
                for some in torch.split(read, ROWS_READ_WHOLE)
            ]
        )


def surprises(
    model: LoadedModel, candidates: TokenizedSecrets, advance: Advance | None = None
) -> Floats:
    """−log2 p of each candidate, summed over its scored tokens; smaller for likelier ones."""
    import torch

    longest = len(candidates.prefix) + candidates.tokens.shape[1]
    # The last token is predicted but never read.
    if longest - 1 > model.context:
        raise InvalidArgument(
            f"a candidate has {longest} tokens, but the model reads {model.context} at a time; "
            "take a shorter text before the secret"
        )
    model.network.eval()
    with _workers() as (count, pool), torch.inference_mode():
        reader = reader_of(model.network, candidates.prefix)
        walk = _Walk(reader, candidates.tokens, advance, count, pool)
        return walk.scores(candidates.prefix)


@contextmanager
def _workers() -> Iterator[tuple[int, ThreadPoolExecutor | None]]:
    """As many workers as torch has threads, each with one thread; restores torch's number."""
    import torch

    threads = torch.get_num_threads()
    count = min(threads, MOST_WORKERS)
    if count == 1:
        yield 1, None
        return
    torch.set_num_threads(1)
    pool = ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield count, pool
    finally:
        # After an error or an interrupt, waiting tasks are not started.
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


class _Nodes(NamedTuple):
    """Candidates that are not read to the end, and the node of a block where each one is."""

    rows: Integers
    nodes: Integers


@dataclass(eq=False)
class _Walk:
    """A walk over the tree; rows are candidates sorted by their tokens."""

    reader: Reader
    tokens: NDArray[np.int32]
    advance: Advance | None
    workers: int
    pool: ThreadPoolExecutor | None
    _sums: Floats = field(init=False)
    _at_once: int = field(init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def scores(self, prefix: tuple[int, ...]) -> Floats:
        order = np.lexsort(self.tokens.T[::-1])
        self.tokens = self.tokens[order]
        self._sums = np.zeros(len(order))
        logits, state = self.reader.start(prefix)
        fitting = LOGITS_AT_ONCE // (logits.shape[1] * self.workers)
        self._at_once = max(16, min(MOST_NODES_AT_ONCE, fitting))
        every = _Nodes(np.arange(len(order)), np.zeros(len(order), dtype=np.int64))
        self._add(logits, every, 0)
        self._descend(state, every, 0, self.pool)
        found = np.empty_like(self._sums)
        found[order] = self._sums
        return found

    def _add(self, logits: Tensor, at: _Nodes, depth: int) -> None:
        """Add −log2 p of the token at this depth, each row at its node; overwrites the logits."""
        chosen = logits.numpy()[at.nodes, self.tokens[at.rows, depth]].astype(np.float64)
        # In place: the logits of a block are large, and are not needed after this.
        top = logits.amax(1, keepdim=True)
        totals = (top[:, 0] + logits.sub_(top).exp_().sum(1).log()).numpy().astype(np.float64)
        if not np.isfinite(totals).all():
            raise BadInput("the model gives no finite numbers; its training may have diverged")
        self._sums[at.rows] += (totals[at.nodes] - chosen) / math.log(2)

    def _descend(self, state: Any, at: _Nodes, depth: int, pool: ThreadPoolExecutor | None) -> None:
        """Read the token at this depth, and add the scores of the tokens behind it."""
        rows, nodes = self._going_on(at, depth)
        if not len(rows):
            return
        read = self.tokens[rows, depth].astype(np.int64)
        # Rows are sorted, so those of a child are adjacent.
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (nodes[1:] != nodes[:-1]) | (read[1:] != read[:-1])
        first, child = np.flatnonzero(new), np.cumsum(new) - 1
        ends = np.append(first[1:], len(rows))
        size, share = self._at_once, pool is not None and len(first) >= BRANCHES
        if share:
            size = min(size, -(-len(first) // (PIECES_PER_WORKER * self.workers)))
        waiting = []
        for start in range(0, len(first), size):
            some = first[start : start + size]
            here = slice(int(some[0]), int(ends[start + len(some) - 1]))
            below = _Nodes(rows[here], child[here] - start)
            if pool is not None and share:
                waiting.append(
                    pool.submit(self._read, state, nodes[some], read[some], below, depth + 1)
                )
            else:
                self._read(state, nodes[some], read[some], below, depth + 1, pool)
        for one in waiting:
            one.result()

    def _read(
        self,
        state: Any,
        parents: Integers,
        tokens: Integers,
        below: _Nodes,
        depth: int,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        """Read a block of children, and all below them."""
        import torch

        with torch.inference_mode():  # the mode is set per thread
            logits, after = self.reader.go_on(
                state, torch.from_numpy(parents), torch.from_numpy(tokens)
            )
            self._add(logits, below, depth)
            del logits  # large, and not needed below
            self._descend(after, below, depth, pool)

    def _going_on(self, at: _Nodes, depth: int) -> _Nodes:
        """The rows with a token behind the one at this depth; the others are done."""
        if depth + 1 < self.tokens.shape[1]:
            on = self.tokens[at.rows, depth + 1] != NOTHING
        else:
            on = np.zeros(len(at.rows), dtype=bool)
        done = len(on) - int(on.sum())
        if self.advance and done:
            with self._lock:
                self.advance(done)
        return _Nodes(at.rows[on], at.nodes[on])
