"""A small recurrent autoencoder: a text to one vector of length 1, and such a vector to a text."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

# The first numbers of words; spelled words come after them.
PADDING, BEGIN, END, UNKNOWN = range(4)
SPECIAL = 4


class AutoencoderNetwork(nn.Module):
    """One recurrent layer reads, another writes; the output layer is the table of words."""

    def __init__(self, *, words: int, embedding: int, hidden: int, size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words + SPECIAL, embedding, padding_idx=PADDING)
        self.reader = nn.GRU(embedding, hidden, batch_first=True)
        self.code = nn.Linear(hidden, size)
        self.start = nn.Linear(size, hidden)
        self.writer = nn.GRU(embedding + size, hidden, batch_first=True)
        self.narrow = nn.Linear(hidden, embedding)
        self.bias = nn.Parameter(torch.zeros(words + SPECIAL))

    def encode(self, rows: Tensor) -> Tensor:
        """One unit vector for each row of numbers; rows are padded on the right."""
        states, _ = self.reader(self.embedding(rows))
        last = (rows != PADDING).sum(1).clamp(min=1) - 1
        found: Tensor = normalize(self.code(states[torch.arange(len(rows)), last]), dim=1)
        return found

    def begin(self, codes: Tensor) -> Tensor:
        """The state of the writer before its first word."""
        found: Tensor = torch.tanh(self.start(codes))[None]
        return found

    def step(self, codes: Tensor, before: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the word after each of ``before``, for all places of a row at once."""
        repeated = codes[:, None].expand(-1, before.shape[1], -1)
        states, state = self.writer(torch.cat([self.embedding(before), repeated], 2), state)
        scores = self.narrow(states) @ self.embedding.weight.T + self.bias
        return scores, state
